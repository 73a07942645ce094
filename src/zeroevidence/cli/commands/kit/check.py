"""List the problems of the anonymised speech of a kit, with file and line."""

from __future__ import annotations

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import derived_option
from zeroevidence.cli.printing import echo, exit_if_problems, print_problems, terminal_progress
from zeroevidence.data.formats.speech_pairs import check_kit


@click.command("check")
@click.argument("folder")
@click.option("--suffix", required=True, metavar="SUFFIX", help="Suffix of the anonymised data sets, such as _x.")
@derived_option(
    check_kit,
    "tolerance",
    type=click.FloatRange(0.0),
    help="Share of its length by which an utterance may differ from the original.",
)
@shared.limit()
def command(folder: str, suffix: str, tolerance: float, limit: int) -> None:
    """List every problem of the data of a VoicePrivacy kit as `file:line: reason`, before hours of evaluation.

    FOLDER is the kit, or its data folder. Every data set of original speech must have an anonymised one with the same
    utterances, of about the same length and the same sample rate, none of them silent. The people of the keys must be
    enrolled, and attackers must be trained on other people. Exits with 3 if there is a problem, with 0 if there is
    none.

    \b
    zeroevidence kit check Voice-Privacy-Challenge-2024 --suffix _mcadams
    """  # noqa: D301 (\b is a control character here)
    report = check_kit(folder, suffix, tolerance=tolerance, progress=terminal_progress(folder, "files"))
    exit_if_problems(print_problems(report.problems, limit))
    echo(f"{folder}: ok, {report}")

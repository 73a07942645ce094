"""``zeroevidence kit check``: is the anonymised speech of a kit complete?"""

from __future__ import annotations

import sys

import click

from zeroevidence.cli.options.declare import setting
from zeroevidence.cli.options.output import terminal_progress
from zeroevidence.data.formats.voiceprivacy.data_folders import check_kit
from zeroevidence.errors import InputError


@click.command("check")
@click.argument("folder")
@click.option("--suffix", required=True, metavar="SUFFIX", help="Suffix of the anonymised sets, such as _x.")
@setting(
    check_kit,
    "tolerance",
    type=click.FloatRange(0.0),
    help="By how much of its length an utterance may differ from its original.",
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Problems shown.")
def command(folder: str, suffix: str, tolerance: float, limit: int) -> None:
    """Check the data of a VoicePrivacy kit before hours are spent on it.

    FOLDER is the kit, or its data folder. Every set of original speech must have its anonymised twin, with the same
    utterances, of about the same length and the same rate, and none silent. Keys must name people that are enrolled,
    and attackers must learn from others. Problems are told as `file:line: reason`, and the exit code is 3; otherwise
    the last line is ok and says how much was looked at.

    \b
    zeroevidence kit check Voice-Privacy-Challenge-2024 --suffix _mcadams
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)
    report = check_kit(folder, suffix, tolerance=tolerance, progress=terminal_progress(folder, "files"))
    for problem in report.problems[:limit]:
        click.echo(str(problem))
    if len(report.problems) > limit:
        click.echo(f"... and {len(report.problems) - limit} more (--limit)")
    if report.problems:
        sys.exit(InputError.exit_code)
    click.echo(f"ok: {report}")

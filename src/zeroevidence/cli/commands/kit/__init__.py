"""Check the speech of a VoicePrivacy kit."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

import click

from zeroevidence.cli.declare import options_of, run_options, shared
from zeroevidence.cli.printing import echo, exit_if_problems, print_problems
from zeroevidence.data.formats.speech_pairs import TOLERANCE, check_kit
from zeroevidence.run import Run, setting


@click.group("kit")
def command() -> None:
    """Work with the evaluation kits of the VoicePrivacy Challenges.

    `zeroevidence evaluate` reads their score folders and the files `result_for_rank` and `results.csv`.

    \b
    zeroevidence kit check Voice-Privacy-Challenge-2024 --suffix _mcadams
    """  # noqa: D301 (\b is a control character here)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    """What is checked, and how many problems are printed."""

    suffix: str = setting(MISSING, "Suffix of the anonymised data sets, such as _x.", metavar="SUFFIX")
    tolerance: float = setting(
        TOLERANCE, "Share of its length by which an utterance may differ from the original.", least=0.0
    )
    limit: int = shared("--limit")


@command.command("check", short_help="List the problems of the anonymised speech of a kit, with file and line.")
@click.argument("folder")
@options_of(_Check, "asked")
@run_options()
def check(folder: str, asked: _Check, run: Run) -> None:
    """List every problem of the data of a VoicePrivacy kit as `file:line: reason`, before hours of evaluation.

    FOLDER is the kit, or its data folder. Every data set of original speech must have an anonymised one, <set>SUFFIX,
    with the same utterances, of one channel, about the same length and the same sample rate, none of them silent. The
    labels of the keys must be valid, their people enrolled, and attackers trained on other people. Exits with 3 if
    there is a problem, with 0 if there is none.

    \b
    zeroevidence kit check Voice-Privacy-Challenge-2024 --suffix _mcadams
    """  # noqa: D301 (\b is a control character here)
    report = check_kit(folder, asked.suffix, asked.tolerance, run)
    exit_if_problems(print_problems(report.problems, asked.limit))
    echo(f"{folder}: ok, {report}")

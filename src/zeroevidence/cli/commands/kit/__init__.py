"""``zeroevidence kit``: folders and tables of the VoicePrivacy Challenges."""

from __future__ import annotations

import click

from zeroevidence.cli.lazy import LazyGroup

_COMMANDS = {
    "check": "Say what is wrong with the anonymised speech of a kit, before anybody evaluates it.",
    "write": "Write results as a kit does: result_for_rank and CSV.",
}


@click.group(
    "kit",
    cls=LazyGroup,
    home="zeroevidence.cli.commands.kit",
    summaries=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """Work with the kits of the VoicePrivacy Challenges.

    `zeroevidence evaluate` reads their score folders, `result_for_rank` and `results.csv` files.

    \b
    zeroevidence kit check Voice-Privacy-Challenge-2024 --suffix _mcadams
    zeroevidence kit write results.json --suffix _x -o exp/results_summary
    """  # noqa: D301 (the mark that keeps lines apart is a control character, not two letters)

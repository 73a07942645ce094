"""Check the speech of a VoicePrivacy kit."""

from __future__ import annotations

import click

from zeroevidence.cli.lazy import LazyGroup


@click.group("kit", cls=LazyGroup, package=__name__)
def command() -> None:
    """Work with the evaluation kits of the VoicePrivacy Challenges.

    `zeroevidence evaluate` reads their score folders and the files `result_for_rank` and `results.csv`.

    \b
    zeroevidence kit check Voice-Privacy-Challenge-2024 --suffix _mcadams
    """  # noqa: D301 (\b is a control character here)

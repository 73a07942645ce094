"""Evaluate a speaker verifier behind a spoofing countermeasure: t-DCF, t-EER, a-DCF."""

from __future__ import annotations

import click

from zeroevidence.cli.lazy import LazyGroup


@click.group("tandem", cls=LazyGroup, package=__name__, order=("evaluate", "check"))
def command() -> None:
    """Evaluate a speaker verifier behind a spoofing countermeasure, from the files of ASVspoof 2019, 2021 and 5.

    \b
    zeroevidence tandem check --cm scores.txt --key cm_trial_metadata.txt
    zeroevidence tandem evaluate --cm scores.txt --key cm_trial_metadata.txt
    """  # noqa: D301 (\b is a control character here)

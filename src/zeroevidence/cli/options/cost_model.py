"""Priors, costs and thresholds of a tandem on the command line, as one checked `CostModel`."""

from __future__ import annotations

from dataclasses import replace

import click

from zeroevidence.cli.options.declare import grouped, setting
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.tandem.evaluate import evaluate_tandem
from zeroevidence.measure.tandem.cost import PRESETS, CostModel

_HELP = {
    "pi_tar": "Prior of a target; the three priors sum to 1.",
    "pi_non": "Prior of another speaker.",
    "pi_spoof": "Prior of a spoof.",
    "c_miss": "Cost of rejecting a target.",
    "c_fa": "Cost of accepting another speaker.",
    "c_fa_spoof": "Cost of accepting a spoof.",
    "asv_threshold": "Threshold of the verifier; its equal-error point unless given.",
    "cm_threshold": "Threshold of the countermeasure, for the actual t-DCF.",
}


def _policy(preset: str, **given: float | None) -> CostModel | str:
    """The preset, with what was given in the place of its numbers."""
    changed = {name: value for name, value in given.items() if value is not None}
    if not changed:
        return preset
    try:
        return replace(CostModel.preset(preset), **changed)  # type: ignore[arg-type]
    except InputError as error:
        raise UsageError(str(error)) from None


policy_options = grouped(
    "policy",
    _policy,
    setting(evaluate_tandem, "model", "--preset", "preset", choices=list(PRESETS), help="Costs, priors, conventions."),
    *(
        click.option(f"--{name.replace('_', '-')}", name, type=float, metavar="VALUE", help=words)
        for name, words in _HELP.items()
    ),
)

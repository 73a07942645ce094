"""Options of a tandem's priors, costs and thresholds, as one checked `CostModel`."""

from __future__ import annotations

from dataclasses import replace

import click

from zeroevidence.cli.options.declare import derived_option, option_group
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.tandem import evaluate_tandem
from zeroevidence.measure.tandem.cost import PRESETS, CostModel

_HELP = {
    "pi_tar": "Prior of a target; the three priors sum to 1.",
    "pi_non": "Prior of another speaker.",
    "pi_spoof": "Prior of a spoof.",
    "c_miss": "Cost of a miss.",
    "c_fa": "Cost of a false alarm.",
    "c_fa_spoof": "Cost of accepting a spoof.",
    "asv_threshold": "Threshold of the verifier [default: at its equal error rate].",
    "cm_threshold": "Threshold of the countermeasure, for the actual t-DCF.",
}


def _cost_model(preset: str, **values: float | None) -> CostModel | str:
    """Return the preset, with some of its numbers replaced."""
    changes = {name: value for name, value in values.items() if value is not None}
    if not changes:
        return preset
    try:
        return replace(CostModel.preset(preset), **changes)  # type: ignore[arg-type]
    except InputError as error:
        raise UsageError(str(error)) from None


cost_options = option_group(
    "cost_model",
    _cost_model,
    derived_option(
        evaluate_tandem, "model", "--preset", "preset", choices=list(PRESETS), help="Costs, priors and conventions."
    ),
    *(
        click.option(f"--{name.replace('_', '-')}", name, type=float, metavar="VALUE", help=text)
        for name, text in _HELP.items()
    ),
)

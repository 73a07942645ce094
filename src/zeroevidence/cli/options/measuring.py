"""How to measure, as one value: each option is a field of `Options`, which knows its default and checks its value."""

from __future__ import annotations

from typing import Any

import click

from zeroevidence.cli.options.declare import Decorator, grouped, setting
from zeroevidence.evaluation import Options, evaluate

_HELP = {
    "calibration": "Calibration of the search.",
    "ddof": "Row deviation: 0 population, 1 sample.",
    "l2": "Penalty of the logistic fit.",
    "balanced": "Weigh mated and other pairs alike in the logistic fit.",
    "linkability": "Estimator of linkability.",
    "omega": "Ratio of the priors of mated and non-mated pairs that linkability supposes.",
    "dcf_prior": "Prior of a target for the detection costs.",
    "intervals": "Groups of people that are left out in turn for the intervals, at most; 0 for no intervals.",
    "null": "Permutations of the null; 0 for none.",
    "seed": "Seed of all random choices.",
}
ALL_OPTIONS = tuple(_HELP)
RESAMPLING = ("intervals", "null", "seed")


def measuring_options(*names: str, **fixed: Any) -> Decorator:
    """Options for these fields of `Options`, handed over as `options`, in which other fields may be fixed."""
    declared = (setting(Options, name, help=_HELP[name]) for name in names)
    return grouped("options", lambda **given: Options(**given, **fixed), *declared)


workers_option = setting(
    evaluate,
    "workers",
    type=click.IntRange(1),
    help="Processes for the resampling; the result does not depend on it.",
)

"""Options that say how to measure: each sets a field of `Options`, which has its default and checks its value."""

from __future__ import annotations

from typing import Any

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import Decorator, derived_option, option_group
from zeroevidence.cli.output import find_measures
from zeroevidence.evaluation import Options

HELP = {
    "calibration": "Calibration of the scores of a search.",
    "ddof": "Standard deviation of a row of scores: 0 population, 1 sample.",
    "l2": "L2 penalty of the logistic regression.",
    "balanced": "Give mated and non-mated pairs the same total weight in the logistic regression.",
    "row_scaling": "Scale of each row of a search before calibration; auto: the best on other people.",
    "linkability": "Estimator of linkability.",
    "omega": "Ratio of the priors of mated and non-mated pairs that linkability assumes.",
    "dcf_prior": "Prior of a target in the detection cost.",
    "intervals": "Groups of people that are left out in turn for the intervals, at most; 0 for no intervals.",
    "level": f"{shared.level.meaning}.",
    "null": "Permutations of the null distribution, to test against chance; 0 for no test.",
    "seed": f"{shared.seed.meaning}.",
}
ALL_OPTIONS = tuple(HELP)
RESAMPLING = ("intervals", "level", "null", "seed")


def measuring_options(*names: str, **fixed: Any) -> Decorator:
    """Return the options of these fields of `Options`, passed on as `options` with other fields fixed."""
    declared = (derived_option(Options, name, help=HELP[name]) for name in names)
    return option_group("options", lambda **values: Options(**values, **fixed), *declared)


def measure_option(detail: str = "JSON holds all [default: the usual ones]") -> Decorator:
    """Return the option --measure, passed on as `measures`."""
    return shared.measure(detail, name="measures", callback=lambda _, __, names: find_measures(names))

"""Bias of measures on few people, estimated from their values on halves of the people.

Measures after oracle calibration (D_ECE, min Cllr, linkability, ...) flatter the attacker, because they fit the scores
they are judged on. With PAV the bias falls with the number n of people faster than the n^(-2/3) of isotonic regression,
because scores of one person are alike, and slower than 1 / n; n^(-3/4) fits simulations best. With the kernel of
linkability, whose width is chosen, it is n^(-1/2). A histogram of ranks has the bias of an entropy, 1 / n. Either way
the bias at n follows from the value at n / 2. Halves come with their complements, in which what single people add
cancels.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.measure.measures import IntervalRule

_RATES = {"oracle": 3.0 / 4.0, "kernel": 1.0 / 2.0, "entropy": 1.0}


def is_biased(rule: IntervalRule) -> bool:
    """Whether values of measures with this rule are corrected."""
    return rule in _RATES


def estimate_bias(value: float, halves: FloatArray, rule: IntervalRule) -> float:
    """Return by how much a value is too large, from its values on halves of the people; 0 for rules without a bias.

    Examples
    --------
    >>> round(estimate_bias(1.0, np.array([1.2, 1.4]), "entropy"), 6)
    0.3
    """
    finite = halves[np.isfinite(halves)]
    if rule not in _RATES or len(finite) == 0 or not np.isfinite(value):
        return 0.0
    growth: float = 2.0 ** _RATES[rule] - 1.0
    return float(finite.mean() - value) / growth

"""Number of people that a target needs, extrapolated from fits on fewer people.

The evidence that a protector leaves is taken to fall as a + b n^-c with the number n of people that it was fitted on:
to a floor that people do not lower, and as fast as the estimates of means and covariances improve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.level import LEVEL, alpha

_POWERS = np.linspace(0.25, 2.0, 8)
_FURTHEST = 10.0  # times the people at hand: further out, the result depends on the form of the curve alone
_LEAST_SIZES = 3


@dataclass(frozen=True, slots=True)
class PeopleEstimate:
    """Number of people that a target evidence would take, with an interval from `low` to `high`.

    All are None where the data do not allow an estimate, for the reason `why`; `reached` where people at hand suffice.
    """

    people: float | None = None
    low: float | None = None
    high: float | None = None
    reached: bool = False
    why: str = ""


def people_needed(
    people: FloatArray, evidence: FloatArray, replicates: FloatArray, target: float, level: float = LEVEL
) -> PeopleEstimate:
    """Extrapolate evidence over numbers of people (ascending) to a target evidence.

    Parameters
    ----------
    people
        Numbers of people.
    evidence
        Evidence left after a fit on each number of people.
    replicates
        The same evidence in bootstrap samples, one line for each.
    target
        The evidence that may be left.
    level
        Confidence level of the interval.

    Examples
    --------
    >>> people = np.array([10.0, 20.0, 40.0, 80.0])
    >>> evidence = 0.02 + 16.0 / people
    >>> noise = np.random.default_rng(0).normal(0.0, 0.002, (200, 4))
    >>> estimate = people_needed(people, evidence, evidence + noise, 0.1)
    >>> round(estimate.people), estimate.low < 200.0 < estimate.high
    (200, True)
    """
    if len(people) < _LEAST_SIZES:
        return PeopleEstimate(why="there are too few people to leave some out")
    tails = [0.5 * alpha(level), 1.0 - 0.5 * alpha(level)]
    if np.quantile(replicates[:, -1], tails[1]) <= target:
        return PeopleEstimate(reached=True)
    if np.quantile(replicates[:, -1] - replicates[:, 0], tails[1]) >= 0.0:
        return PeopleEstimate(why="with more people the evidence does not fall by more than chance")
    about = _crossing(people, evidence, target)
    low, high = np.quantile([_crossing(people, replicate, target) for replicate in replicates], tails, method="nearest")
    if not np.isfinite(about) or not np.isfinite(high):
        return PeopleEstimate(why="the curve may level off above it")
    if high > _FURTHEST * people[-1]:
        return PeopleEstimate(why=f"it may be more than {_FURTHEST:.0f} times the people at hand")
    return PeopleEstimate(about, float(low), float(high))


def _crossing(people: FloatArray, evidence: FloatArray, target: float) -> float:
    """Return where the best curve meets the target evidence; infinity where its floor is above that."""
    from scipy.optimize import nnls

    best, crossing = np.inf, np.inf
    scale = people / people[-1]
    for power in _POWERS:
        (floor, slope), miss = nnls(np.stack([np.ones_like(scale), scale**-power], axis=1), evidence)
        if miss < best:
            best = miss
            falls = slope > 0.0 and target > floor
            crossing = float(people[-1] * (slope / (target - floor)) ** (1.0 / power)) if falls else np.inf
    return crossing

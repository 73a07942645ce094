"""Differences between systems, paired by leaving the same people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.level import LEVEL, alpha
from zeroevidence.uncertainty.spread import Spread, estimate_spread

POWER = 0.8  # with which a detectable difference is seen


@dataclass(frozen=True, slots=True)
class Difference:
    """First system minus second.

    Parameters
    ----------
    value
        The difference.
    low
        Lower end of its interval.
    high
        Upper end of its interval.
    p_value
        Two-sided p-value of the hypothesis that there is none.
    level
        Confidence level of the interval.
    detectable
        The smallest true difference whose interval at this level would exclude 0 with probability `POWER`; None where
        the spread is unknown.
    spread
        Spread of the difference; None where it is unknown.

    Examples
    --------
    >>> spread = Spread(error=0.1, people=30.0, freedom=29.0, below=0.0, above=0.0)
    >>> single = Difference.from_spread(0.25, spread)
    >>> among_ten = single.at_level(0.995)
    >>> single.low > 0.0 > among_ten.low, round(single.detectable, 2), round(among_ten.detectable, 2)
    (True, 0.29, 0.39)
    """

    value: float
    low: float
    high: float
    p_value: float
    level: float = LEVEL
    detectable: float | None = None
    spread: Spread | None = None

    @classmethod
    def from_spread(
        cls, value: float, spread: Spread | None, level: float = LEVEL, *, alike: bool = False
    ) -> Difference:
        """Return a difference with what its spread tells; `alike` says that it is no more than rounding."""
        if spread is None:
            return cls(value, float("nan"), float("nan"), 1.0, level)
        p_value = 1.0 if alike else spread.p_value(value)
        return cls(value, float("nan"), float("nan"), p_value, level, None, spread).at_level(level)

    def at_level(self, level: float) -> Difference:
        """Return the same difference with an interval of another confidence level."""
        if self.spread is None:
            return replace(self, level=level)
        low, high = self.spread.limits(self.value, level)
        return replace(self, low=low, high=high, level=level, detectable=_detectable(self.spread, level))


def _detectable(spread: Spread, level: float) -> float:
    """Return the difference whose interval excludes 0 with probability `POWER`."""
    low, high = spread.limits(0.0, level)
    return max(-low, high) + float(stdtrit(spread.freedom, POWER)) * spread.error


def difference(
    first: float,
    second: float,
    left_out: tuple[FloatArray, FloatArray],
    shares: FloatArray,
    people: float,
    level: float = LEVEL,
) -> Difference:
    """Difference of a measure between two systems on the same trials.

    Both were measured without the same people, so what trials have in common cancels. People on whom the systems differ
    in a way that was not seen are allowed for, as in the interval of one system.

    Parameters
    ----------
    first
        Value of the first system.
    second
        Value of the second system.
    left_out
        The values of both systems without each group of people.
    shares
        The share of the data that each group contributes.
    people
        The effective number of people.
    level
        Confidence level of the interval.
    """
    value = first - second
    with np.errstate(invalid="ignore"):
        differences = left_out[0] - left_out[1]
    spread = estimate_spread(value, differences, shares, people)
    return Difference.from_spread(value, spread, level, alike=is_rounding(value, first, second))


def is_rounding(value: float, first: float, second: float) -> bool:
    """Whether a difference of two values is no more than rounding, which must not make equal systems differ."""
    return abs(value) <= 1e-12 * max(1.0, abs(first), abs(second))


def unpaired_difference(
    first: float, second: float, first_spread: Spread, second_spread: Spread, level: float = LEVEL
) -> Difference:
    """Difference of a measure between two systems of which only the spreads are known.

    What their trials have in common does not cancel, so the interval is wider than that of a paired difference.

    Examples
    --------
    >>> spread = Spread(error=0.1, people=30.0, freedom=29.0, below=0.0, above=0.0)
    >>> difference = unpaired_difference(1.0, 0.5, spread, spread)
    >>> difference.value, round(difference.low, 2), round(difference.high, 2), round(difference.p_value, 4)
    (0.5, 0.22, 0.78, 0.0008)
    """
    opposite = replace(second_spread, below=second_spread.above, above=second_spread.below)
    return Difference.from_spread(first - second, first_spread.combine(opposite), level)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, so that one level holds for all conclusions together [Holm 1979]."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    highest = 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - position) * p_values[index]))
        adjusted[index] = highest
    return adjusted.tolist()


def holm_levels(p_values: Sequence[float], level: float = LEVEL) -> list[float]:
    """Return the confidence level at which Holm's procedure tests each hypothesis.

    The smallest p-value is tested with an error divided by the number of hypotheses, the next by one less, and so on;
    from the first that is not rejected on, none is, and all of these have its level. An interval of that level excludes
    0 exactly where the corrected p-value is below the error of `level`.

    Examples
    --------
    >>> [round(level, 4) for level in holm_levels([0.001, 0.3, 0.02], 0.95)]
    [0.9833, 0.95, 0.975]
    >>> [round(level, 4) for level in holm_levels([0.3, 0.4], 0.95)]
    [0.975, 0.975]
    """
    number, error, rejected = len(p_values), alpha(level), 0
    order = np.argsort(p_values, kind="stable")
    for position, index in enumerate(order):
        if (number - position) * p_values[index] >= error:
            break
        rejected = position + 1
    divisors = np.empty(number)
    divisors[order] = np.maximum(number - np.arange(number), number - rejected)
    levels: list[float] = (1.0 - error / np.maximum(divisors, 1.0)).tolist()
    return levels


def tie_groups(order: Sequence[int], significant: set[frozenset[int]]) -> list[int]:
    """Group number of each system in a ranking, from 1: a group ends where a system differs from the group's first."""
    groups: list[int] = []
    first = 0
    number = 0
    for position, system in enumerate(order):
        if position == 0 or frozenset((order[first], system)) in significant:
            first = position
            number += 1
        groups.append(number)
    return groups

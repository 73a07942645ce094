"""Differences between systems, paired by leaving the same people out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.level import LEVEL
from zeroevidence.uncertainty.spread import Spread, estimate_spread


@dataclass(frozen=True, slots=True)
class Difference:
    """First system minus second, with an interval and a two-sided p-value."""

    value: float
    low: float
    high: float
    p_value: float


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
    if spread is None:
        return Difference(value, float("nan"), float("nan"), 1.0)
    low, high = spread.limits(value, level)
    # rounding must not make two equal systems differ
    alike = abs(value) <= 1e-12 * max(1.0, abs(first), abs(second))
    return Difference(value, low, high, 1.0 if alike else spread.p_value(value))


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
    value = first - second
    opposite = replace(second_spread, below=second_spread.above, above=second_spread.below)
    both = first_spread.combine(opposite)
    low, high = both.limits(value, level)
    return Difference(value, low, high, both.p_value(value))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, so that one level holds for all conclusions together [Holm 1979]."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    highest = 0.0
    for position, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - position) * p_values[index]))
        adjusted[index] = highest
    return adjusted.tolist()


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

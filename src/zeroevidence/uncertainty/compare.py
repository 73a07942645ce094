"""Paired comparison of systems from replicates that were drawn alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray


@dataclass(frozen=True, slots=True)
class Difference:
    """First system minus second, with a 95 % interval and a two-sided p-value."""

    value: float
    low: float
    high: float
    p_value: float


def difference(first: float, second: float, replicates: tuple[FloatArray, FloatArray]) -> Difference:
    """Difference of a measure between two systems on the same trials.

    Both were resampled with the same speakers, so what trials have in common cancels. The spread of the resampled
    differences is put around the observed one: the bias of replicates is not a difference between systems.
    """
    value = first - second
    with np.errstate(invalid="ignore"):
        drawn = replicates[0] - replicates[1]
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) == 0:
        return Difference(value, float("nan"), float("nan"), 1.0)
    spread = drawn - drawn.mean()
    low, high = value + np.quantile(spread, [0.025, 0.975])
    # rounding must not make two equal systems differ
    as_far = np.count_nonzero(np.abs(spread) >= abs(value) - 1e-12 * max(1.0, abs(first), abs(second)))
    return Difference(value, float(low), float(high), (1.0 + as_far) / (1.0 + len(drawn)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number, so that one level holds for all conclusions together [Holm 1979]."""
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

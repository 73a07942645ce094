"""Intervals and bounds of results, from a spread and a confidence level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import MEASURES, Direction
from zeroevidence.uncertainty.exposure import upper_share_limit
from zeroevidence.uncertainty.spread import Spread


def measure_range(name: str, most_bits: float = np.inf) -> tuple[float, float]:
    """Return the lowest and the highest value of a measure; that of a search is at most `most_bits`."""
    entry = MEASURES[name]
    return entry.low, min(entry.high, most_bits) if entry.unit == "bit" else entry.high


def with_limits(
    result: MeasureResult,
    name: str,
    spread: Spread | None,
    level: float,
    *,
    centre: float | None = None,
    most_bits: float = np.inf,
    bound: bool = True,
    method: str | None = None,
) -> MeasureResult:
    """Return the result of a measure with interval, bound and level.

    Interval and bound are for people like these: they lie around the value corrected for few people, are widened to
    reach the value, and are cut at the ends of the measure's range.

    Parameters
    ----------
    result
        The value of the measure.
    name
        The measure.
    spread
        Standard error and degrees of freedom; without it the result has no limits.
    level
        Confidence level.
    centre
        The value corrected for few people, where the measure is biased; reported where the measure has an estimate.
    most_bits
        What a search through these identities can tell at most.
    bound
        Whether the one-sided bound is given.
    method
        What to say about how the interval was made, in place of the method of the result.
    """
    if spread is None:
        return result
    scale = measure_range(name, most_bits)
    value = float(result)
    middle = value if centre is None else centre
    low, high = np.clip(spread.limits(middle, level), *scale)
    limit = one_sided_limit(spread, middle, level, MEASURES[name].discloses, scale) if bound else None
    if limit is not None:
        limit = max(limit, value) if MEASURES[name].discloses == "up" else min(limit, value)
    return replace(
        result,
        method=method or result.method,
        estimate=centre if MEASURES[name].estimated else None,
        low=min(float(low), value),
        high=max(float(high), value),
        bound=limit,
        level=level,
        spread=spread,
    )


def with_share_limits(result: MeasureResult, people: int, level: float) -> MeasureResult:
    """Return a share of people with the limits of Clopper and Pearson.

    Examples
    --------
    >>> result = with_share_limits(MeasureResult(0.0, "rate"), 30, 0.95)
    >>> [round(x, 3) for x in (result.low, result.high, result.bound)]
    [0.0, 0.116, 0.095]
    """
    count, side = float(result) * people, (1.0 + level) / 2.0
    return replace(
        result,
        low=1.0 - float(upper_share_limit(round(people - count), people, side)),
        high=float(upper_share_limit(round(count), people, side)),
        bound=float(upper_share_limit(round(count), people, level)),
        level=level,
    )


def one_sided_limit(
    spread: Spread, value: float, level: float, discloses: Direction, scale: tuple[float, float]
) -> float | None:
    """Return the one-sided limit on the side of the attacker, within the scale; None without a direction."""
    if discloses == "none":
        return None
    limit = spread.at_most(value, level) if discloses == "up" else spread.at_least(value, level)
    return float(np.clip(limit, *scale))

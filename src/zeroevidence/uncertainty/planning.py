"""Number of people for which an upper limit lies below a bound.

Everything here is about a measure that rises with what attackers learn, and about its one-sided upper limit; of a
measure that falls, callers pass the negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.level import LEAST_PEOPLE, LEVEL
from zeroevidence.uncertainty.spread import Spread

MOST_PEOPLE = 10_000  # beyond, the answer would rest on the form of the curve alone
_SIZES = np.unique(np.geomspace(LEAST_PEOPLE, MOST_PEOPLE, 700).round())
_REDRAWN = 400
_PURPOSE = 8  # keeps what is drawn here apart from other draws of a seed

# never: the truth itself is not below the bound; beyond: more than MOST_PEOPLE
Unreachable: TypeAlias = Literal["never", "beyond"]


@dataclass(frozen=True, slots=True)
class PeopleNeeded:
    """How many people bring a limit below a bound: about so many, from `low` to `high`.

    Parameters
    ----------
    people
        The number; None where no number up to `MOST_PEOPLE` does.
    low
        The low end of its range.
    high
        The high end of its range.
    unreachable
        Why there is no number; None where there is one.
    """

    people: int | None
    low: int | None
    high: int | None
    unreachable: Unreachable | None = None


def needed_from_spread(
    value: float, spread: Spread, people: int, bound: float, power: float, level: float = LEVEL
) -> PeopleNeeded:
    """People for whom the upper limit lies below a bound with probability `power`, if a pilot's estimate is the truth.

    The range is that of a truth one standard error lower or higher, with the standard error itself as uncertain as so
    many degrees of freedom make it.

    Parameters
    ----------
    value
        Value of the pilot.
    spread
        Spread of the pilot.
    people
        Number of people of the pilot.
    bound
        The upper limit to reach.
    power
        Probability of reaching it.
    level
        Confidence level of the limit.
    """
    relative_error = 1.0 / np.sqrt(2.0 * spread.freedom)

    def first(truth: float, error: float) -> int | None:
        assumed = replace(spread, error=error)
        for n in _SIZES:
            more = assumed.of_people(assumed.people * float(n) / people)
            if more.people >= 2.0 and more.at_most(truth, level) + float(ndtri(power)) * more.error <= bound:
                return int(n)
        return None

    expected = first(value, spread.error)
    low = first(value - spread.error, spread.error * (1.0 - relative_error))
    high = first(value + spread.error, spread.error * (1.0 + relative_error))
    return PeopleNeeded(expected, low, high, None if expected is not None else "never" if value >= bound else "beyond")


def needed_from_limits(
    limits: Mapping[int, FloatArray],
    truth: Callable[[FloatArray], FloatArray],
    bound: float,
    power: float,
    seed: int,
    level: float = LEVEL,
) -> PeopleNeeded:
    """People for whom the upper limit lies below a bound with probability `power`, from simulated upper limits.

    How far limits lie above the truth is taken to fall as a / sqrt(n) + b / n, and how much they scatter as a power of
    n between these. The range is where that share of the answers lies if the simulations are drawn again.

    Parameters
    ----------
    limits
        For several numbers of people, the upper limits of simulated recordings.
    truth
        The truth for numbers of people: that of a search depends on how many are searched.
    """
    sizes = np.array(sorted(limits), dtype=np.float64)
    excess = [limits[int(n)] - true for n, true in zip(sizes, truth(sizes), strict=True)]
    true = truth(_SIZES)

    def first(drawn: list[FloatArray]) -> float:
        below = true + _reach(sizes, drawn, power) <= bound
        return float(_SIZES[below.argmax()]) if below.any() else np.inf

    expected = first(excess)
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(_PURPOSE,)))
    again = [first([rng.choice(sample, len(sample)) for sample in excess]) for _ in range(_REDRAWN)]
    low, high = np.quantile(again, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], method="nearest")
    above = (true >= bound) | np.isclose(true, bound, rtol=1e-4)  # a truth that was solved for is never quite exact
    why: Unreachable | None = None if np.isfinite(expected) else "never" if above.all() else "beyond"
    return PeopleNeeded(_whole(expected), _whole(min(low, expected)), _whole(max(high, expected)), why)


def _reach(sizes: FloatArray, excess: list[FloatArray], power: float) -> FloatArray:
    """How far above the truth a share `power` of the limits stays, at all numbers of people."""
    n = np.repeat(sizes, [len(sample) for sample in excess])
    away = np.concatenate(excess)
    (slow, fast), _ = nnls(np.stack((np.ones_like(n), n**-0.5), axis=1), np.sqrt(n) * away)
    residuals = [sample - slow / np.sqrt(size) - fast / size for size, sample in zip(sizes, excess, strict=True)]
    scatter = np.array([np.sqrt((residual**2).mean()) for residual in residuals])
    positive = scatter > 0.0
    exponent, log_scale = 0.5, -np.inf
    if positive.any():
        x, y = np.log(sizes[positive]), np.log(scatter[positive])
        if positive.sum() > 1:
            exponent = float(np.clip(-np.polyfit(x, y, 1)[0], 0.5, 1.0))
        log_scale = float((y + exponent * x).mean())
    reach: FloatArray = (
        slow / np.sqrt(_SIZES) + fast / _SIZES + float(ndtri(power)) * np.exp(log_scale) * _SIZES**-exponent
    )
    return reach


def _whole(number: float) -> int | None:
    return int(number) if np.isfinite(number) else None

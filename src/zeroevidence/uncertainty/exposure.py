"""How many people like these may be exposed, from how many of the measured ones are.

Nothing is assumed about how exposure is distributed: each person is above a level or not, so the limit is that of
Clopper and Pearson for a rate, over people and not over recordings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.uncertainty.level import LEVEL

_MANY = 300  # people of whom limits are left to scipy
_HALVINGS, _STEPS = 20, 4


@dataclass(frozen=True, slots=True, eq=False)
class ExposureShares:
    """Shares of people above each level.

    Parameters
    ----------
    level
        The exposures of the people that were measured, each once, in ascending order.
    share
        Share of these people above the level.
    bound
        Share of people like these that is above it at most, with 95 % confidence at any one level.
    """

    level: FloatArray
    share: FloatArray
    bound: FloatArray


def upper_share_limit(seen: FloatArray | int, people: int, level: float = LEVEL) -> FloatArray:
    """Upper limit of the share of people of a kind, if so many of those who were looked at are.

    Examples
    --------
    >>> round(float(upper_share_limit(0, 30)), 3)
    0.095
    >>> float(upper_share_limit(30, 30))
    1.0
    """
    count = np.asarray(seen, dtype=np.float64)
    if people > _MANY or (count % 1.0).any():
        from scipy.special import betaincinv  # slow to import

        others = np.maximum(people - count, 1.0)
        return np.asarray(np.where(count >= people, 1.0, betaincinv(count + 1.0, others, level)))
    return np.asarray(_limits(people, 1.0 - level)[np.minimum(count, people).astype(np.int64)])


@lru_cache(maxsize=4)
def _limits(people: int, tail: float) -> FloatArray:
    """The share of which no more than 0, 1, ... `people` are seen in a share `tail` of all samples of that many."""
    number = np.arange(people + 1)
    ways = np.array([math.lgamma(i + 1.0) for i in number])
    ways = ways[-1] - ways - ways[::-1]
    # Halving finds the first digits, and Newton's method on the logarithm of the tail doubles them.
    low, high = np.zeros(people), np.ones(people)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        beyond = _tails(middle, ways)[0] > tail
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    share = 0.5 * (low + high)
    for _ in range(_STEPS):
        value, slope = _tails(share, ways)
        share = np.clip(share + value * np.log(value / tail) / slope, low, high)
    return np.append(share, 1.0)


def _tails(share: FloatArray, ways: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How often no more than 0, 1, ... of a kind are seen, each at its own share of that kind, and how that falls."""
    people = len(ways) - 1
    number = np.arange(people + 1)
    with np.errstate(divide="ignore", under="ignore"):
        odds, none = np.log(share)[:, None], np.log1p(-share)[:, None]
        chance = np.exp(ways + number * odds + number[::-1] * none)
        seen = np.arange(people)
        slope = np.exp(ways[:-1] + np.log(people - seen) + seen * odds[:, 0] + (people - 1 - seen) * none[:, 0])
    return np.where(number <= seen[:, None], chance, 0.0).sum(axis=1), slope


def exposure_shares(
    exposure: FloatArray, choose: Callable[[int], IntArray] | None = None, *, confidence: float = LEVEL
) -> ExposureShares:
    """Shares of people above each level, seen and at most, from the exposure of each person.

    `choose` says which of so many levels are wanted; all are unless it is given.

    Examples
    --------
    >>> found = exposure_shares(np.array([0.1, 0.2, 0.2, 3.0]))
    >>> found.level.tolist(), found.share.tolist(), found.bound.round(2).tolist()
    ([0.1, 0.2, 3.0], [0.75, 0.25, 0.0], [0.99, 0.75, 0.53])
    """
    level, counts = np.unique(exposure, return_counts=True)
    above = len(exposure) - np.cumsum(counts)
    if choose is not None:
        wanted = choose(len(level))
        level, above = level[wanted], above[wanted]
    bound = upper_share_limit(above.astype(np.float64), len(exposure), confidence)
    return ExposureShares(level, above / len(exposure), bound)

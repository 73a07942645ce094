"""Shares of people whose exposure exceeds a level, with upper limits for people like these.

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

_MANY = 300  # people; limits of more are computed by SciPy
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
        Upper limit of the share of people like these above it, at the confidence level, for any one exposure.
    """

    level: FloatArray
    share: FloatArray
    bound: FloatArray


def upper_share_limit(observed: FloatArray | int, people: int, level: float = LEVEL) -> FloatArray:
    """Return the upper limit of the share of people of a kind, given how many of a sample are.

    Examples
    --------
    >>> round(float(upper_share_limit(0, 30)), 3)
    0.095
    >>> float(upper_share_limit(30, 30))
    1.0
    """
    count = np.asarray(observed, dtype=np.float64)
    if people > _MANY or (count % 1.0).any():
        from scipy.special import betaincinv  # slow to import

        rest = np.maximum(people - count, 1.0)
        return np.asarray(np.where(count >= people, 1.0, betaincinv(count + 1.0, rest, level)))
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
        most = np.arange(people)
        slope = np.exp(ways[:-1] + np.log(people - most) + most * odds[:, 0] + (people - 1 - most) * none[:, 0])
    return np.where(number <= most[:, None], chance, 0.0).sum(axis=1), slope


def exposure_shares(
    exposure: FloatArray, choose: Callable[[int], IntArray] | None = None, *, confidence: float = LEVEL
) -> ExposureShares:
    """Return the shares of people above each level, and their upper limits, from the exposure of each person.

    `choose` selects among so many levels; all are kept without it.

    Examples
    --------
    >>> shares = exposure_shares(np.array([0.1, 0.2, 0.2, 3.0]))
    >>> shares.level.tolist(), shares.share.tolist(), shares.bound.round(2).tolist()
    ([0.1, 0.2, 3.0], [0.75, 0.25, 0.0], [0.99, 0.75, 0.53])
    """
    level, counts = np.unique(exposure, return_counts=True)
    above = len(exposure) - np.cumsum(counts)
    if choose is not None:
        selected = choose(len(level))
        level, above = level[selected], above[selected]
    bound = upper_share_limit(above.astype(np.float64), len(exposure), confidence)
    return ExposureShares(level, above / len(exposure), bound)

"""Shares of people whose exposure exceeds a level, with upper limits for people like these.

Nothing is assumed about how exposure is distributed: each person is above a level or not, so the limit is that of
Clopper and Pearson for a rate, over people and not over recordings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.uncertainty.level import LEVEL


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
    rest = np.maximum(people - count, 1.0)
    return np.asarray(np.where(count >= people, 1.0, betaincinv(count + 1.0, rest, level)))


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

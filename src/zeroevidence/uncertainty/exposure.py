"""How many people like these may be exposed, from how many of the measured ones are.

Nothing is assumed about how exposure is distributed: each person is above a level or not, so the limit is that of
Clopper and Pearson for a rate, over people and not over recordings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.spread import LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Exposed:
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


def share_at_most(seen: FloatArray | int, people: int, level: float = LEVEL) -> FloatArray:
    """Upper limit of the share of people of a kind, if so many of those who were looked at are.

    Examples
    --------
    >>> round(float(share_at_most(0, 30)), 3)
    0.095
    >>> float(share_at_most(30, 30))
    1.0
    """
    from scipy.special import betaincinv  # slow to import, and needed by searches alone

    count = np.asarray(seen, dtype=np.float64)
    others = np.maximum(people - count, 1.0)
    return np.asarray(np.where(count >= people, 1.0, betaincinv(count + 1.0, others, level)))


def exposed_people(exposure: FloatArray) -> Exposed:
    """Shares of people above each level, seen and at most, from the exposure of each person.

    Examples
    --------
    >>> found = exposed_people(np.array([0.1, 0.2, 0.2, 3.0]))
    >>> found.level.tolist(), found.share.tolist(), found.bound.round(2).tolist()
    ([0.1, 0.2, 3.0], [0.75, 0.25, 0.0], [0.99, 0.75, 0.53])
    """
    level, counts = np.unique(exposure, return_counts=True)
    above = len(exposure) - np.cumsum(counts)
    return Exposed(level, above / len(exposure), share_at_most(above.astype(np.float64), len(exposure)))

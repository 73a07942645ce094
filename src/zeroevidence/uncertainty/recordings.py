"""How often people were recorded: people who speak more than others, and may be recognised better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._scipy import stdtrit
from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.run import LEVEL

_HEAVIEST = 1.0 / 1.2  # weight of a tail
_FARTHEST = 2.0  # how far beyond the largest number of recordings a line is drawn, as a logarithm
_LEAST_SQUARES = 1e-3
_EVEN = 0.9
_PERMUTATIONS = 1999
_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class RecordingNumbers:
    """How often people were recorded, and how heavy the tail of these numbers is.

    Parameters
    ----------
    logs
        The mean logarithm of the number of recordings, over the recordings of each group; NaN where it has none.
    shares
        The share of the recordings that each group contributes.
    largest
        The logarithm of the largest number.
    people
        Number of people who were recorded.
    weight
        Weight of the tail: the mean logarithm of numbers in the upper half of the people, less that of the median
        (Hill), one standard error higher; 0 where all are equal, at most 1 / 1.2.
    upper
        The share of the recordings that the upper half of the people have.
    uneven
        Whether people count as fewer than nine tenths of their number [Kish 1965].

    Examples
    --------
    >>> alike, uneven = (RecordingNumbers.of(np.array(n)) for n in ([5.0] * 4, [1.0, 2.0, 4.0, 40.0]))
    >>> alike.weight, round(uneven.weight, 2), round(uneven.upper, 2)
    (0.0, 0.83, 0.94)
    """

    logs: FloatArray
    shares: FloatArray
    largest: float
    people: int
    weight: float
    upper: float
    uneven: bool

    @classmethod
    def of(cls, numbers: FloatArray, group: IntArray | None = None, groups: int = 0) -> RecordingNumbers:
        """The numbers of recordings of each person, who may be in so many groups."""
        group = np.arange(len(numbers)) if group is None else group
        recordings = np.bincount(group, numbers, groups)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.bincount(group, np.where(numbers > 0.0, numbers * np.log(numbers), 0.0), groups) / recordings
        descending = np.sort(numbers[numbers > 0.0])[::-1]
        half = len(descending) // 2
        hill = float(np.log(descending[:half]).mean() - np.log(descending[half])) if half else 0.0
        return cls(
            logs,
            recordings / recordings.sum(),
            float(np.log(descending[0])),
            len(descending),
            min(hill * (1.0 + half**-0.5), _HEAVIEST) if half else 0.0,
            float(descending[:half].sum() / descending.sum()),
            bool(descending.sum() ** 2 < _EVEN * len(descending) * (descending**2).sum()),
        )

    def change(self, away: FloatArray, most: float) -> float:
        """Return how much higher a value may be per share of people, raised to a power, who speak more than anybody.

        The exposure of such people is predicted by a line over the logarithm of the number of recordings, with the
        upper limit of its slope, and is at most `most`.

        Parameters
        ----------
        away
            What each group adds to the value.
        most
            What people who are recognised in every recording would add.
        """
        counted = np.isfinite(away) & (self.shares > 0.0)
        if self.weight <= 0.0 or np.count_nonzero(counted) < 3:
            return 0.0
        x, y = self.logs[counted], away[counted] / self.shares[counted]
        x, y = x - x.mean(), y - y.mean()
        squares = float((x**2).sum())
        if squares <= _LEAST_SQUARES:
            return 0.0
        slope = float((x * y).sum()) / squares
        freedom = len(x) - 2.0
        error = np.sqrt(len(x) / freedom * float(((x * (y - slope * x)) ** 2).sum())) / squares
        slope += float(stdtrit(freedom, LEVEL)) * error
        distance = self.largest + min(self.weight / (1.0 - self.weight), _FARTHEST) - np.nansum(self.shares * self.logs)
        share = float(self.upper * (self.people / (self.people // 2)) ** self.tail)
        return float(np.clip(slope * distance, 0.0, most)) * share

    @property
    def tail(self) -> float:
        """The power of the share of people above a number at which the share of their recordings grows."""
        return 1.0 - self.weight

    def correlation(self, away: FloatArray) -> tuple[float, float] | None:
        """Return the rank correlation of exposure and number of recordings, and its two-sided p-value by permutation.

        None where fewer than three groups have a value, or all numbers or values are equal.

        Parameters
        ----------
        away
            What each group adds to the value.
        """
        counted = np.isfinite(away) & (self.shares > 0.0)
        if np.count_nonzero(counted) < 3:
            return None
        x, y = map(_centred_ranks, (self.logs[counted], away[counted] / self.shares[counted]))
        scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
        if scale == 0.0:
            return None
        permuted = np.random.default_rng(_SEED).permuted(np.tile(y, (_PERMUTATIONS, 1)), axis=1) @ x
        extreme = np.count_nonzero(np.abs(permuted) >= abs(float(x @ y)) - 1e-9 * scale)
        return float(x @ y) / scale, (1.0 + extreme) / (1.0 + _PERMUTATIONS)


def _centred_ranks(values: FloatArray) -> FloatArray:
    """Return ranks, equal values sharing theirs, less their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts + 1.0) / 2.0)[place]
    return np.asarray(ranks - ranks.mean())

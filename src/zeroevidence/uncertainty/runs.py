"""Several trainings of one system: how far people, and how far trainings, may move its mean.

Other people would give another value, and so would another training. The first is seen in values without the same
people, averaged over the trainings; the second in how trainings differ on the same people, over their number. Both
variances are added. What a training does to some people more than to others is in both, so limits are rather wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.spread import Spread, spread_of


@dataclass(frozen=True, slots=True)
class TrainingRuns:
    """One measure of several trainings: its value and its values without each group of people, a row per training."""

    values: FloatArray
    left_out: FloatArray

    @property
    def mean(self) -> float:
        """Of all trainings."""
        return float(self.values.mean())


@dataclass(frozen=True, slots=True)
class SpreadSources:
    """What people and what trainings add to the spread of a mean, or of a difference of two."""

    people: Spread
    trainings: Spread

    @property
    def both(self) -> Spread:
        """Together, by Welch and Satterthwaite."""
        return self.people.beside(self.trainings)


def training_spread(
    systems: Sequence[TrainingRuns], shares: FloatArray, people: float, unknown_kind: float | None = None
) -> SpreadSources | None:
    """The spread of the mean of one system, or of the difference between the means of two; None where nothing tells.

    Parameters
    ----------
    systems
        One or two systems on the same trials, each with at least two trainings.
    shares, people, unknown_kind
        As in `spread_of`.

    Examples
    --------
    >>> people = np.array([0.1, 0.2, 0.3, 0.4])
    >>> values = np.stack([people, people + 0.1])  # a person's value in two trainings
    >>> without = (values.sum(axis=1, keepdims=True) - values) / 3
    >>> found = training_spread([TrainingRuns(values.mean(axis=1), without)], np.full(4, 0.25), 4.0)
    >>> round(found.people.error, 4), round(found.trainings.error, 4)
    (0.0645, 0.05)
    """
    first, *others = systems
    mean = first.mean - sum(one.mean for one in others)
    with np.errstate(invalid="ignore"):
        left_out = first.left_out.mean(axis=0) - sum(one.left_out.mean(axis=0) for one in others)
    found = spread_of(mean, np.asarray(left_out), shares, people, unknown_kind)
    if found is None:
        return None
    each = [Spread(float(one.values.std(ddof=1) / np.sqrt(len(one.values))), people, len(one.values) - 1.0, 0.0, 0.0)
            for one in systems]  # fmt: skip
    trained = each[0] if len(each) == 1 else each[0].beside(each[1])
    return SpreadSources(found, trained) if np.isfinite(trained.error) else None

"""Spread of the mean of several trainings of one system, over people and over trainings.

The value depends on the people and on the training. The spread over people comes from values without the same people,
averaged over the trainings; that over trainings from how these differ on the same people. Both variances are added.
What a training does to some people more than to others is in both, so limits are rather wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.uncertainty.spread import Spread, estimate_spread


@dataclass(frozen=True, slots=True)
class TrainingRuns:
    """A measure of several trainings: its value, and its values without each group of people, a row per training."""

    values: FloatArray
    left_out: FloatArray

    @property
    def mean(self) -> float:
        """Mean of all trainings."""
        return float(self.values.mean())


@dataclass(frozen=True, slots=True)
class SpreadSources:
    """Spread of a mean, or of a difference of two, over people and over trainings."""

    people: Spread
    trainings: Spread

    @property
    def both(self) -> Spread:
        """Both together, by Welch and Satterthwaite."""
        return self.people.combine(self.trainings)


def training_spread(
    systems: Sequence[TrainingRuns], shares: FloatArray, people: float, unseen: Sequence[float] = ()
) -> SpreadSources | None:
    """Return the spread of the mean of one system, or of the difference of two means; None where it is unknown.

    Parameters
    ----------
    systems
        One or two systems on the same trials, each with at least two trainings.
    shares
        As in `estimate_spread`.
    people
        As in `estimate_spread`.
    unseen
        As in `estimate_spread`.

    Examples
    --------
    >>> people = np.array([0.1, 0.2, 0.3, 0.4])
    >>> values = np.stack([people, people + 0.1])  # a person's value in two trainings
    >>> without = (values.sum(axis=1, keepdims=True) - values) / 3
    >>> spread = training_spread([TrainingRuns(values.mean(axis=1), without)], np.full(4, 0.25), 4.0)
    >>> round(spread.people.error, 4), round(spread.trainings.error, 4)
    (0.0645, 0.05)
    """
    first, *second = systems
    mean = first.mean - sum(runs.mean for runs in second)
    with np.errstate(invalid="ignore"):
        left_out = first.left_out.mean(axis=0) - sum(runs.left_out.mean(axis=0) for runs in second)
    over_people = estimate_spread(mean, np.asarray(left_out), shares, people, unseen)
    if over_people is None:
        return None
    errors = ((float(runs.values.std(ddof=1) / np.sqrt(len(runs.values))), len(runs.values)) for runs in systems)
    each = [Spread(error, people, number - 1.0, 0.0, 0.0) for error, number in errors]
    over_trainings = each[0] if len(each) == 1 else each[0].combine(each[1])
    return SpreadSources(over_people, over_trainings) if np.isfinite(over_trainings.error) else None

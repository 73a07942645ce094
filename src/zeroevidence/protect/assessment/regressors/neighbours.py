"""Nearest-people attacker: numbers of the most similar people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import Standardiser, unit_rows
from zeroevidence.protect.assessment.regressors.regressor import LEAST_VARIANCE, Regressor, register_regressor

_LOCAL_SHARE = 0.5  # of the variance: that of the nearest people; the rest is that of everybody


class NearestPeopleRegressor:
    """Mean and spread of the numbers of the `count` most similar people, each by the mean of their vectors."""

    def __init__(self, count: int) -> None:
        self.count = count

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Store a mean vector and the number of each person."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        _, first, person = np.unique(people, return_index=True, return_inverse=True)
        sums = np.zeros((len(first), z.shape[1]))
        np.add.at(sums, person, z)
        self.people_means, self.numbers = unit_rows(sums), y[first]

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance for each row."""
        count = min(self.count, len(self.numbers))
        similarity = unit_rows(self.standardised.of(x)) @ self.people_means.T
        nearest = self.numbers[np.argpartition(-similarity, count - 1, axis=1)[:, :count]]
        variance = _LOCAL_SHARE * nearest.var(axis=1) + (1.0 - _LOCAL_SHARE) * self.numbers.var()
        return nearest.mean(axis=1), np.maximum(variance, LEAST_VARIANCE)


@register_regressor("neighbours", "mean number of the nearest people")
def candidates(seed: int) -> Sequence[Regressor]:  # noqa: ARG001 (it draws nothing)
    """Return new regressors."""
    return [NearestPeopleRegressor(count) for count in (5, 2, 15)]

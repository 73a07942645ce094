"""Nearest people: the numbers of those whose vectors are most alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers.classifier import Standardiser
from zeroevidence.protect.assessment.regressors.regressor import LEAST_VARIANCE, Regressor, register_regressor

_OWN_SHARE = 0.5  # of the variance: how much that of the nearest people counts beside that of everybody


class NearestPeople:
    """Mean and spread of the numbers of the `count` most similar people, each by the mean of their vectors."""

    def __init__(self, count: int) -> None:
        self.count = count

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Remember a mean vector and the number of each person."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        _, first, who = np.unique(people, return_index=True, return_inverse=True)
        sums = np.zeros((len(first), z.shape[1]))
        np.add.at(sums, who, z)
        self.known, self.numbers = _unit(sums), y[first]

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance for each row."""
        count = min(self.count, len(self.numbers))
        alike = _unit(self.standardised.of(x)) @ self.known.T
        nearest = self.numbers[np.argpartition(-alike, count - 1, axis=1)[:, :count]]
        variance = _OWN_SHARE * nearest.var(axis=1) + (1.0 - _OWN_SHARE) * self.numbers.var()
        return nearest.mean(axis=1), np.maximum(variance, LEAST_VARIANCE)


def _unit(z: FloatArray) -> FloatArray:
    unit: FloatArray = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    return unit


@register_regressor("neighbours", "nearest people: their numbers")
def candidates(seed: int) -> Sequence[Regressor]:  # noqa: ARG001 (it draws nothing)
    """New regressors."""
    return [NearestPeople(count) for count in (5, 2, 15)]

"""Nearest people: the class of those whose vectors are most alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers.classifier import (
    Classifier,
    Standardiser,
    log_normalise,
    register_classifier,
)

_SHARPNESS = 10.0  # log-odds for a difference in cosine of one; the calibration of scores corrects it


class NearestPeople:
    """Mean cosine with the `count` most similar people of each class, each by the mean of their vectors."""

    def __init__(self, count: int) -> None:
        self.count = count

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Remember a mean vector for each person."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.known = [
            _unit(np.stack([z[people == one].mean(axis=0) for one in np.unique(people[y == k])]))
            for k in range(int(y.max()) + 1)
        ]

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class."""
        z = _unit(self.standardised.of(x))
        nearest = [np.sort(z @ known.T, axis=1)[:, -self.count :].mean(axis=1) for known in self.known]
        return log_normalise(_SHARPNESS * np.stack(nearest, axis=1))


def _unit(z: FloatArray) -> FloatArray:
    unit: FloatArray = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    return unit


@register_classifier("neighbours", "nearest people of each class")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """New classifiers."""
    return [NearestPeople(count) for count in (3, 1, 10)]

"""Nearest-people attacker: cosine similarity with the most similar people of each class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import Standardiser, unit_rows
from zeroevidence.protect.assessment.classifiers.classifier import Classifier, log_normalise, register_classifier

_SHARPNESS = 10.0  # log-odds for a difference in cosine of one; calibration corrects it


class NearestPeopleClassifier:
    """Mean cosine with the `count` most similar people of each class, each by the mean of their vectors."""

    def __init__(self, count: int) -> None:
        self.count = count

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Store a mean vector for each person."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.people_means = [
            unit_rows(np.stack([z[people == person].mean(axis=0) for person in np.unique(people[y == k])]))
            for k in range(int(y.max()) + 1)
        ]

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class."""
        z = unit_rows(self.standardised.of(x))
        nearest = [np.sort(z @ means.T, axis=1)[:, -self.count :].mean(axis=1) for means in self.people_means]
        return log_normalise(_SHARPNESS * np.stack(nearest, axis=1))


@register_classifier("neighbours", "cosine similarity with the nearest people of each class")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [NearestPeopleClassifier(count) for count in (3, 1, 10)]

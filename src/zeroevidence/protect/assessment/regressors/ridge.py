"""Ridge regression: what a straight line through all entries tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers.classifier import Standardiser
from zeroevidence.protect.assessment.regressors.regressor import Regressor, register_regressor, ridge_weights, steady

_PENALTIES = (1.0, 0.01, 0.1, 10.0)


class Ridge:
    """Least squares with a penalty, in closed form; the same variance everywhere."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Learn a slope for each entry."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.slopes = ridge_weights(z, y, weights, self.penalty)
        self.variance = float(np.average((y - self._line(z)) ** 2, weights=weights))

    def _line(self, z: FloatArray) -> FloatArray:
        line: FloatArray = z @ self.slopes[:-1] + self.slopes[-1]
        return line

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance for each row."""
        return self._line(self.standardised.of(x)), steady(self.variance, len(x))


@register_regressor("ridge", "ridge regression: one straight line through all entries")
def candidates(seed: int) -> Sequence[Regressor]:  # noqa: ARG001 (it draws nothing)
    """New regressors."""
    return [Ridge(penalty) for penalty in _PENALTIES]

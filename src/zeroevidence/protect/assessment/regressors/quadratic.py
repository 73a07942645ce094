"""Ridge regression on products of leading components: what spreads and correlations tell, and how surely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers.classifier import Standardiser
from zeroevidence.protect.assessment.regressors.regressor import (
    LEAST_VARIANCE,
    Regressor,
    register_regressor,
    ridge_weights,
    steady,
)

_RANK = 1e-6  # of the largest spread
_SMALL = 0.1  # product of components of spread one
# components, penalty, whether large products count by their logarithm, whether the variance depends on the row too
_SETTINGS = (
    (16, 1.0, False, False),
    (16, 0.03, False, False),
    (16, 0.03, True, False),
    (16, 0.03, True, True),
    (32, 3.0, False, False),
)


class Quadratic:
    """All products of sphered components beside the components; the logarithm of the variance may be such a sum too."""

    def __init__(self, components: int, penalty: float, logarithms: bool, varying: bool) -> None:
        self.components, self.penalty, self.logarithms, self.varying = components, penalty, logarithms, varying

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Learn a slope for each product and, where asked to, for the size of what is left."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        _, spread, directions = np.linalg.svd(z / np.sqrt(len(z)), full_matrices=False)
        kept = min(self.components, max(1, int(np.count_nonzero(spread > _RANK * spread.max()))))
        self.map = directions[:kept].T / np.maximum(spread[:kept], 1e-12)
        self.scale = Standardiser()
        features = self.scale.learn(self._products(x))
        self.slopes = ridge_weights(features, y, weights, self.penalty)
        left = (y - self._line(features, self.slopes)) ** 2
        self.variance = float(np.average(left, weights=weights))
        if self.varying:
            logs = np.log(np.maximum(left, 1e-3 * self.variance))
            self.spread_slopes = ridge_weights(features, logs, weights, 10.0 * self.penalty)

    def _products(self, x: FloatArray) -> FloatArray:
        z = self.standardised.of(x) @ self.map
        rows, columns = np.triu_indices(z.shape[1])
        products = z[:, rows] * z[:, columns]
        if self.logarithms:  # of a sum of squares of all sizes the logarithm tells more
            products = np.sign(products) * np.log1p(np.abs(products) / _SMALL)
        return np.hstack([z, products])

    @staticmethod
    def _line(features: FloatArray, slopes: FloatArray) -> FloatArray:
        line: FloatArray = features @ slopes[:-1] + slopes[-1]
        return line

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance for each row."""
        features = self.scale.of(self._products(x))
        mean = self._line(features, self.slopes)
        if not self.varying:
            return mean, steady(self.variance, len(x))
        logs = np.clip(self._line(features, self.spread_slopes), -5.0, 5.0)
        return mean, np.maximum(np.exp(logs), LEAST_VARIANCE)


@register_regressor("quadratic", "products of leading components: spreads and correlations")
def candidates(seed: int) -> Sequence[Regressor]:  # noqa: ARG001 (it draws nothing)
    """New regressors."""
    return [Quadratic(*setting) for setting in _SETTINGS]

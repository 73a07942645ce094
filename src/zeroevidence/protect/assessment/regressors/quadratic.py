"""Quadratic attacker: ridge regression on products of leading components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import Standardiser, sphering
from zeroevidence.protect.assessment.regressors.regressor import (
    LEAST_VARIANCE,
    Regressor,
    constant_variance,
    linear_sum,
    register_regressor,
    ridge_weights,
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


class QuadraticRidge:
    """All products of sphered components beside the components; the logarithm of the variance may be such a sum too."""

    def __init__(self, components: int, penalty: float, logarithms: bool, varying: bool) -> None:
        self.components, self.penalty, self.logarithms, self.varying = components, penalty, logarithms, varying

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Fit a slope for each product and, if the variance varies, for the squared residual."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.map = sphering(z, self.components, _RANK)
        self.scale = Standardiser()
        features = self.scale.learn(self._products(x))
        self.slopes = ridge_weights(features, y, weights, self.penalty)
        residual = (y - linear_sum(features, self.slopes)) ** 2
        self.variance = float(np.average(residual, weights=weights))
        if self.varying:
            logs = np.log(np.maximum(residual, 1e-3 * self.variance))
            self.spread_slopes = ridge_weights(features, logs, weights, 10.0 * self.penalty)

    def _products(self, x: FloatArray) -> FloatArray:
        z = self.standardised.of(x) @ self.map
        rows, columns = np.triu_indices(z.shape[1])
        products = z[:, rows] * z[:, columns]
        if self.logarithms:  # the logarithm of a sum of squares of all sizes is more informative
            products = np.sign(products) * np.log1p(np.abs(products) / _SMALL)
        return np.hstack([z, products])

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance for each row."""
        features = self.scale.of(self._products(x))
        mean = linear_sum(features, self.slopes)
        if not self.varying:
            return mean, constant_variance(self.variance, len(x))
        logs = np.clip(linear_sum(features, self.spread_slopes), -5.0, 5.0)
        return mean, np.maximum(np.exp(logs), LEAST_VARIANCE)


@register_regressor("quadratic", "ridge regression on products of leading components")
def candidates(seed: int) -> Sequence[Regressor]:  # noqa: ARG001 (it draws nothing)
    """Return new regressors."""
    return [QuadraticRidge(*setting) for setting in _SETTINGS]

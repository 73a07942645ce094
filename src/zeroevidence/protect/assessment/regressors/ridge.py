"""Ridge-regression attacker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import Standardiser
from zeroevidence.protect.assessment.regressors.regressor import (
    Regressor,
    constant_variance,
    linear_sum,
    register_regressor,
    ridge_weights,
)

_PENALTIES = (1.0, 0.01, 0.1, 10.0)


class RidgeRegressor:
    """Least squares with a penalty, in closed form; the same variance everywhere."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Fit a slope for each entry."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.slopes = ridge_weights(z, y, weights, self.penalty)
        self.variance = float(np.average((y - linear_sum(z, self.slopes)) ** 2, weights=weights))

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance for each row."""
        return linear_sum(self.standardised.of(x), self.slopes), constant_variance(self.variance, len(x))


@register_regressor("ridge", "ridge regression on all entries")
def candidates(seed: int) -> Sequence[Regressor]:  # noqa: ARG001 (it draws nothing)
    """Return new regressors."""
    return [RidgeRegressor(penalty) for penalty in _PENALTIES]

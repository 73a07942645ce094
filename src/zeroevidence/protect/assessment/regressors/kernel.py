"""Kernel attacker: ridge regression with radial kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import Standardiser
from zeroevidence.protect.assessment.regressors.regressor import Regressor, constant_variance, register_regressor

_SETTINGS = ((1.0, 0.3), (1.0, 1.0), (0.1, 0.3), (1.0, 0.1))  # penalty, and gamma relative to the number of entries
_MOST_ROWS = 1500  # the cost grows with the third power


class KernelRidge:
    """Ridge regression with radial kernels; of very many rows a seeded sample is learned from."""

    def __init__(self, penalty: float, gamma: float, seed: int) -> None:
        self.penalty, self.gamma, self.seed = penalty, gamma, seed

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Train on weighted rows."""
        from sklearn.kernel_ridge import KernelRidge as Machine

        some = np.arange(len(x))
        if len(x) > _MOST_ROWS:
            some = np.random.default_rng(self.seed).choice(len(x), _MOST_ROWS, replace=False)
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)[some]
        self.middle = float(np.average(y[some], weights=weights[some]))
        self.model: Any = Machine(alpha=self.penalty, kernel="rbf", gamma=self.gamma / x.shape[1])
        self.model.fit(z, y[some] - self.middle, sample_weight=weights[some])
        left = y[some] - self.middle - self.model.predict(z)
        self.variance = float(np.average(left**2, weights=weights[some]))

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance for each row."""
        return self.middle + self.model.predict(self.standardised.of(x)), constant_variance(self.variance, len(x))


@register_regressor("kernel", "ridge regression with radial kernels")
def candidates(seed: int) -> Sequence[Regressor]:
    """Return new regressors."""
    return [KernelRidge(*setting, seed) for setting in _SETTINGS]

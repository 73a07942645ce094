"""Boosting attacker: boosted trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import QuantileLevels
from zeroevidence.protect.assessment.regressors.regressor import Regressor, constant_variance, register_regressor

_LEVELS = 64
_LEAVES = (4, 16)


class BoostedTrees:
    """A sum of small trees over levels of equal size; the same variance everywhere."""

    def __init__(self, leaves: int, seed: int) -> None:
        self.leaves, self.seed = leaves, seed

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Train on weighted rows."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        self.levels = QuantileLevels(_LEVELS)
        levels = self.levels.learn(x)
        self.model: Any = HistGradientBoostingRegressor(
            max_iter=60, max_leaf_nodes=self.leaves, random_state=self.seed, early_stopping=False
        )
        self.model.fit(levels, y, sample_weight=weights)
        self.variance = float(np.average((y - self.model.predict(levels)) ** 2, weights=weights))

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance for each row."""
        return self.model.predict(self.levels.of(x)), constant_variance(self.variance, len(x))


@register_regressor("boosting", "boosted trees")
def candidates(seed: int) -> Sequence[Regressor]:
    """Return new regressors."""
    return [BoostedTrees(leaves, seed) for leaves in _LEAVES]

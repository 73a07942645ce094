"""Boosted trees: what single entries and their combinations tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.regressors.regressor import Regressor, register_regressor, steady

_LEVELS = 64
_LEAVES = (4, 16)


class BoostedTrees:
    """A sum of small trees over levels of equal size; the same variance everywhere."""

    def __init__(self, leaves: int, seed: int) -> None:
        self.leaves, self.seed = leaves, seed

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Learn from weighted rows."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        # beforehand: the library's own bins of weighted data take a minute for a few hundred dimensions
        self.edges = np.quantile(x, np.arange(1, _LEVELS) / _LEVELS, axis=0)
        self.model: Any = HistGradientBoostingRegressor(
            max_iter=60, max_leaf_nodes=self.leaves, random_state=self.seed, early_stopping=False
        )
        levels = self._levels(x)
        self.model.fit(levels, y, sample_weight=weights)
        self.variance = float(np.average((y - self.model.predict(levels)) ** 2, weights=weights))

    def _levels(self, x: FloatArray) -> FloatArray:
        columns = [np.searchsorted(edges, column) for edges, column in zip(self.edges.T, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance for each row."""
        return self.model.predict(self._levels(x)), steady(self.variance, len(x))


@register_regressor("boosting", "boosted trees: steps along single entries, and their combinations")
def candidates(seed: int) -> Sequence[Regressor]:
    """New regressors."""
    return [BoostedTrees(leaves, seed) for leaves in _LEAVES]

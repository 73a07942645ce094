"""Fusion weights by logistic regression on development people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import speaker_folds, standardise
from zeroevidence.errors import InputError, UsageError

_PENALTY = 1.0


class Fusion:
    """A weighted sum of standardised rows, the weights fitted on development people.

    Weights are not negative: an attacker who points the wrong way on few development people does so by chance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mated = np.arange(60) % 6
    >>> good = rng.normal(size=(60, 6)) + 2.0 * np.eye(6)[mated]
    >>> fusion = Fusion().fit([good, rng.normal(size=(60, 6))], mated)
    >>> bool(fusion.weights_[0] > 5.0 * fusion.weights_[1])
    True
    """

    def fit(self, scores: Sequence[FloatArray], mated: IntArray) -> Self:
        """Learn weights from development scores, T x N of each attacker."""
        if not scores or any(matrix.shape != scores[0].shape for matrix in scores):
            raise InputError("expected scores of the same trials and identities from each attacker")
        from scipy.optimize import minimize
        from scipy.special import expit

        x = np.stack([standardise(np.asarray(matrix, dtype=np.float64)) for matrix in scores], axis=-1)
        is_mated = np.zeros(x.shape[:2], dtype=bool)
        is_mated[np.arange(len(mated)), mated] = True
        features, labels = x.reshape(-1, x.shape[-1]), is_mated.ravel()
        # mated and other pairs count alike, so that the weights do not depend on the number of identities
        weights = np.where(labels, 0.5 / labels.sum(), 0.5 / (~labels).sum())
        sign = np.where(labels, 1.0, -1.0)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            w, b = parameters[:-1], parameters[-1]
            margin = sign * (features @ w + b)
            slope = -weights * sign * expit(-margin)
            value = float(weights @ np.logaddexp(0.0, -margin)) + 0.5 * _PENALTY * float(w @ w) / len(mated)
            return value, np.append(features.T @ slope + _PENALTY * w / len(mated), slope.sum())

        start = np.append(np.full(x.shape[-1], 1.0 / x.shape[-1]), 0.0)
        bounds = [(0.0, None)] * x.shape[-1] + [(None, None)]
        fit = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
        self.weights_: FloatArray = fit.x[:-1]
        return self

    def fuse(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return fused scores, T x N."""
        if not hasattr(self, "weights_"):
            raise UsageError("this fusion is not fitted: call fit on development scores first")
        if len(scores) != len(self.weights_):
            raise InputError(f"expected scores of {len(self.weights_)} attackers, got {len(scores)}")
        rows = (standardise(np.asarray(matrix, dtype=np.float64)) for matrix in scores)
        return np.asarray(sum(weight * matrix for weight, matrix in zip(self.weights_, rows, strict=True)))


def held_out_fusion(scores: Sequence[FloatArray], mated: IntArray, *, seed: int = 0) -> FloatArray:
    """Return fused development scores, each person's by weights that were fitted on the others."""
    fused = np.empty(scores[0].shape)
    everyone = np.arange(len(mated))
    for rows in speaker_folds(mated, seed=seed):
        rest = np.setdiff1d(everyone, rows)
        fitted = Fusion().fit([matrix[rest] for matrix in scores], mated[rest])
        fused[rows] = fitted.fuse([matrix[rows] for matrix in scores])
    return fused

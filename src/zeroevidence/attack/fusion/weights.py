"""Fusion weights by logistic regression on development people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import speaker_folds, standardise
from zeroevidence.errors import InputError, UsageError

_PENALTY = 1.0


def fit_weights(target: FloatArray, nontarget: FloatArray) -> FloatArray:
    """Return a weight for each of K systems, with sum 1.

    Weights are not negative: a system that points the wrong way on few development people does so by chance. Where all
    do, they count alike.

    Parameters
    ----------
    target
        Targets x K, the scores of each system in units of their deviation.
    nontarget
        The same of non-targets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> weights = fit_weights(rng.normal([2.0, 0.0], 1.0, (60, 2)), rng.normal(size=(600, 2)))
    >>> bool(weights[0] > 0.8), round(float(weights.sum()), 12)
    (True, 1.0)
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n_systems = target.shape[1]
    features = np.concatenate((target, nontarget))
    # targets and non-targets count alike, so that the weights do not depend on the number of identities
    counted = np.repeat((0.5 / len(target), 0.5 / len(nontarget)), (len(target), len(nontarget)))
    sign = np.repeat((1.0, -1.0), (len(target), len(nontarget)))

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        w, b = parameters[:-1], parameters[-1]
        margin = sign * (features @ w + b)
        slope = -counted * sign * expit(-margin)
        value = float(counted @ np.logaddexp(0.0, -margin)) + 0.5 * _PENALTY * float(w @ w) / len(target)
        return value, np.append(features.T @ slope + _PENALTY * w / len(target), slope.sum())

    start = np.append(np.full(n_systems, 1.0 / n_systems), 0.0)
    bounds = [(0.0, None)] * n_systems + [(None, None)]
    weights: FloatArray = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x[:-1]
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(n_systems, 1.0 / n_systems)


class Fusion:
    """A weighted sum of standardised rows, the weights fitted on development people.

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
        x = np.stack([standardise(np.asarray(matrix, dtype=np.float64)) for matrix in scores], axis=-1)
        is_mated = np.zeros(x.shape[:2], dtype=bool)
        is_mated[np.arange(len(mated)), mated] = True
        self.weights_ = fit_weights(x[is_mated], x[~is_mated])
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

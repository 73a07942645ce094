"""Attackers with Gaussian classes: linear and quadratic discriminant analysis, also after sphering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment import classifiers

_RIDGE = (
    1e-6  # of the mean variance: entries that do not vary within a class give no evidence instead of infinite evidence
)
_RANK = 1e-4  # of the largest spread


class GaussianClassifier:
    """Discriminant analysis with equal priors: linear where the covariance is shared, quadratic where it is not.

    Parameters
    ----------
    shared
        Whether all classes have the same covariance.
    shrinkage
        Share of the covariance that is replaced by a multiple of the identity; that of Ledoit and Wolf unless given.
    components
        Sphere the covariance within classes first, in so many of its principal components (at most as many as there
        are). Shrinking then leads from a covariance for each class to the one that they share.
    """

    def __init__(self, *, shared: bool = False, shrinkage: float | None = None, components: int | None = None) -> None:
        self.shared, self.shrinkage, self.components = shared, shrinkage, components

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Fit means and covariances to weighted rows."""
        self.standardised = classifiers.Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.map: FloatArray | None = None
        if self.components is not None:
            self.map = classifiers.sphering(_centred(z, y, weights), self.components, _RANK)
            z = z @ self.map
        classes = range(int(y.max()) + 1)
        self.means = [np.average(z[y == k], axis=0, weights=weights[y == k]) for k in classes]
        rows = _centred(z, y, weights)
        if self.shared:
            self.factors = [self._factor(rows)] * len(classes)
        else:
            # weights of mean one within the class, so that its covariance keeps its size
            self.factors = [self._factor(rows[y == k] / np.sqrt(weights[y == k].mean())) for k in classes]

    def _factor(self, rows: FloatArray) -> FloatArray:
        """Return the Cholesky factor of the shrunk covariance of centred rows."""
        from sklearn.covariance import ledoit_wolf, shrunk_covariance

        if self.shrinkage is None:
            covariance, _ = ledoit_wolf(rows, assume_centered=True)
        else:
            covariance = shrunk_covariance(rows.T @ rows / len(rows), self.shrinkage)
        size = len(covariance)
        ridge = _RIDGE * np.trace(covariance) / size + 1e-12
        return np.linalg.cholesky(covariance + ridge * np.eye(size))

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class."""
        from scipy.linalg import solve_triangular

        z = self.standardised.of(x)
        z = z if self.map is None else z @ self.map
        logs = []
        for mean, factor in zip(self.means, self.factors, strict=True):
            away = solve_triangular(factor, (z - mean).T, lower=True)
            logs.append(-0.5 * (away**2).sum(axis=0) - np.log(np.diag(factor)).sum())
        return classifiers.log_normalise(np.stack(logs, axis=1))


def _centred(z: FloatArray, y: IntArray, weights: FloatArray) -> FloatArray:
    """Return rows around the mean of their class, times the roots of their weights."""
    rows = np.empty_like(z)
    for k in range(int(y.max()) + 1):
        members = y == k
        mean = np.average(z[members], axis=0, weights=weights[members])
        rows[members] = np.sqrt(weights[members])[:, None] * (z[members] - mean)
    return rows


@classifiers.register_classifier("lda", "linear discriminant analysis with one shrunk covariance")
def lda(seed: int) -> Sequence[classifiers.Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [GaussianClassifier(shared=True, shrinkage=share) for share in (None, 0.3, 0.7, 0.95)]


@classifiers.register_classifier("qda", "quadratic discriminant analysis with a shrunk covariance for each class")
def qda(seed: int) -> Sequence[classifiers.Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [GaussianClassifier(shrinkage=share) for share in (None, 0.1, 0.3, 0.7)]


_ALL = 1 << 30
# Few components whose covariances are estimated well, or more of them shrunk towards the shared covariance.
_SPHERED = ((32, None), (8, None), (32, 0.5), (128, 0.5), (_ALL, 0.9))


@classifiers.register_classifier("sphered", "quadratic discriminant analysis after sphering the shared covariance")
def sphered(seed: int) -> Sequence[classifiers.Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [GaussianClassifier(components=count, shrinkage=share) for count, share in _SPHERED]

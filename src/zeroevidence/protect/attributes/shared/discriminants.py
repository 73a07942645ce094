"""Linear and quadratic discriminants of Gaussian classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.attributes.shared.evidence import evidence
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors, balanced_weights
from zeroevidence.protect.attributes.shared.moments import Shrinkage, shrinkage_share, shrunk
from zeroevidence.protect.attributes.shared.stored import StoredArrays

_MIXTURES = (1.0, 0.75, 0.5, 0.25, 0.0)  # how much of the shared covariance is in that of each class
_FOLDS = 3
_RIDGE = 1e-6  # of the mean variance


@dataclass(frozen=True, slots=True, eq=False)
class LinearDiscriminants(StoredArrays):
    """Log-likelihoods ``x @ directions - offsets`` of the classes against the first (d x (K - 1), and K - 1)."""

    directions: FloatArray
    offsets: FloatArray

    def llr(self, x: FloatArray) -> FloatArray:
        """Return the LLR of the second of two classes, or of each of more classes against the others."""
        return evidence(np.column_stack([np.zeros(len(x)), x @ self.directions - self.offsets]))


def class_means(data: LabelledVectors) -> FloatArray:
    """Return the weighted means of the classes of the first attribute, K x d."""
    labels = data.labels[:, 0]
    groups = [labels == k for k in range(int(labels.max()) + 1)]
    return np.stack([np.average(data.x[rows], axis=0, weights=data.weights[rows]) for rows in groups])


def linear_discriminants(data: LabelledVectors, shrinkage: Shrinkage) -> tuple[LinearDiscriminants, float]:
    """Return the discriminants of Gaussian classes with one covariance, and the share of it that was replaced."""
    share = data.weights / data.weights.sum()
    means = class_means(data)
    inside = data.x - means[data.labels[:, 0]]
    level = shrinkage_share(inside, shrinkage)
    inverse = np.linalg.pinv(shrunk((inside * share[:, None]).T @ inside, level), hermitian=True)
    squares = np.einsum("kd,de,ke->k", means, inverse, means)
    return LinearDiscriminants(inverse @ (means[1:] - means[0]).T, 0.5 * (squares[1:] - squares[0])), level


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticDiscriminants(StoredArrays):
    """Gaussian classes, each with its own covariance: means (K x d), inverse covariances, and log-determinants."""

    prefix: ClassVar[str] = "classes."

    means: FloatArray
    inverses: FloatArray
    log_determinants: FloatArray

    def log_likelihoods(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each class, up to a constant, n x K."""
        logs = []
        for mean, inverse, log_determinant in zip(self.means, self.inverses, self.log_determinants, strict=True):
            away = x - mean
            logs.append(-0.5 * (np.einsum("nd,nd->n", away @ inverse, away) + log_determinant))
        return np.stack(logs, axis=1)

    def posteriors(self, x: FloatArray) -> FloatArray:
        """Return the posterior probability of each class for equal priors, n x K."""
        logs = self.log_likelihoods(x)
        posteriors: FloatArray = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        return posteriors


def quadratic_discriminants(data: LabelledVectors) -> QuadraticDiscriminants:
    """Return Gaussian classes; cross-validation chooses how far covariances are mixed with the shared one."""
    folds = _folds(data)
    if folds is None:
        return fit_gaussian_classes(data, 1.0)
    losses = np.zeros(len(_MIXTURES))
    for fold in range(_FOLDS):
        held = folds == fold
        test = _part(data, held)
        logs = _mixture_log_likelihoods(_part(data, ~held), test.x)
        logs -= np.logaddexp.reduce(logs, axis=2, keepdims=True)
        truth = np.take_along_axis(logs, test.labels[None, :, :1], axis=2)[:, :, 0]
        losses -= np.average(truth, axis=1, weights=test.weights)
    return fit_gaussian_classes(data, _MIXTURES[int(losses.argmin())])


def fit_gaussian_classes(data: LabelledVectors, mixture: float = 0.0) -> QuadraticDiscriminants:
    """Return Gaussian classes with shrunk covariances, of which the share `mixture` is that of all classes."""
    means, shared, covariances = _class_covariances(data, shared_alone=mixture == 1.0)
    mixed = [mixture * shared + (1.0 - mixture) * covariance for covariance in covariances]
    sizes = [np.linalg.slogdet(covariance)[1] for covariance in mixed]
    return QuadraticDiscriminants(means, np.stack([np.linalg.inv(covariance) for covariance in mixed]), np.array(sizes))


def _mixture_log_likelihoods(data: LabelledVectors, x: FloatArray) -> FloatArray:
    """Return log-likelihoods of rows under classes fitted to data, for each of the mixtures: M x n x K.

    In the coordinates where the shared covariance is the identity and that of the class is diagonal, every mixture is
    diagonal too, so that one eigendecomposition for each class gives all of them.
    """
    from scipy.linalg import eigh

    means, shared, covariances = _class_covariances(data)
    shares = np.array(_MIXTURES)[:, None]
    logs = np.empty((len(_MIXTURES), len(x), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        values, axes = eigh(covariance, shared)
        variances = shares + (1.0 - shares) * values
        squares = ((x - mean) @ axes) ** 2
        # the determinant of the shared covariance is the same for all classes
        logs[:, :, k] = -0.5 * ((1.0 / variances) @ squares.T + np.log(variances).sum(axis=1, keepdims=True))
    return logs


def _class_covariances(
    data: LabelledVectors, *, shared_alone: bool = False
) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Return class means, the shared covariance, and that of each class (the shared one if it alone is wanted)."""
    labels, means = data.labels[:, 0], class_means(data)
    inside = (data.x - means[labels]) * np.sqrt(data.weights / data.weights.mean())[:, None]
    shared = _covariance(inside)
    if shared_alone:
        return means, shared, [shared] * len(means)
    members = [labels == k for k in range(len(means))]
    scales = [np.sqrt(data.weights[rows].mean() / data.weights.mean()) for rows in members]
    return means, shared, [_covariance(inside[rows] / scale) for rows, scale in zip(members, scales, strict=True)]


def _covariance(rows: FloatArray) -> FloatArray:
    """Return the covariance of centred rows, shrunk by Ledoit and Wolf."""
    covariance = shrunk(rows.T @ rows / len(rows), shrinkage_share(rows, "auto"))
    size = len(covariance)
    ridge: FloatArray = covariance + (_RIDGE * np.trace(covariance) / size + np.finfo(float).tiny) * np.eye(size)
    return ridge


def _folds(data: LabelledVectors) -> IntArray | None:
    """Return a fold for each row, by people and with all classes in each; None where a class has too few people."""
    labels = data.labels[:, 0]
    fold = np.zeros(len(labels), dtype=np.int64)
    for k in range(int(labels.max()) + 1):
        names, person = np.unique(data.people[labels == k], return_inverse=True)
        if len(names) < 2 * _FOLDS:
            return None
        fold[labels == k] = person % _FOLDS
    return fold


def _part(data: LabelledVectors, rows: FloatArray) -> LabelledVectors:
    labels, people = data.labels[rows], data.people[rows]
    return LabelledVectors(data.x[rows], labels, balanced_weights(labels, people), people)

"""Evidence of Gaussian classes: linear discriminants, and the probability of each class by quadratic ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.attributes.flows.latent import against_others
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors, balanced_weights
from zeroevidence.protect.attributes.shared.moments import Shrinkage, shrinkage_share, shrunk

_MIXTURES = (1.0, 0.75, 0.5, 0.25, 0.0)  # how much of the shared covariance is in that of each class
_FOLDS = 3
_RIDGE = 1e-6  # of the mean variance


@dataclass(frozen=True, slots=True, eq=False)
class LinearDiscriminants:
    """Log-likelihoods ``x @ directions - offsets`` of the classes against the first (d x (K - 1), and K - 1)."""

    directions: FloatArray
    offsets: FloatArray

    def llr(self, x: FloatArray) -> FloatArray:
        """For two classes in favour of the second; for more that of each against the others."""
        return evidence(np.column_stack([np.zeros(len(x)), x @ self.directions - self.offsets]))

    def arrays(self) -> dict[str, FloatArray]:
        """As numbers by name."""
        return {"directions": self.directions, "offsets": self.offsets}

    @classmethod
    def of(cls, arrays: dict[str, FloatArray]) -> Self:
        """From numbers by name."""
        return cls(arrays["directions"], arrays["offsets"])


def evidence(log_likelihoods: FloatArray) -> FloatArray:
    """Log-likelihoods of classes (n x K) as LLR: one number per row for two classes, else K against the others."""
    if log_likelihoods.shape[1] == 2:
        found: FloatArray = log_likelihoods[:, 1] - log_likelihoods[:, 0]
        return found
    return against_others(log_likelihoods)


def class_means(data: LabelledVectors) -> FloatArray:
    """Weighted means of the classes of the first attribute, K x d."""
    labels = data.labels[:, 0]
    groups = [labels == k for k in range(int(labels.max()) + 1)]
    return np.stack([np.average(data.x[rows], axis=0, weights=data.weights[rows]) for rows in groups])


def linear_discriminants(data: LabelledVectors, shrinkage: Shrinkage) -> tuple[LinearDiscriminants, float]:
    """Those of Gaussian classes with one covariance, and the share of it that was replaced."""
    share = data.weights / data.weights.sum()
    means = class_means(data)
    inside = data.x - means[data.labels[:, 0]]
    level = shrinkage_share(inside, shrinkage)
    inverse = np.linalg.pinv(shrunk((inside * share[:, None]).T @ inside, level), hermitian=True)
    squares = np.einsum("kd,de,ke->k", means, inverse, means)
    return LinearDiscriminants(inverse @ (means[1:] - means[0]).T, 0.5 * (squares[1:] - squares[0])), level


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """Gaussian classes, each with a covariance of its own: means (K x d), inverse covariances, and log-determinants."""

    means: FloatArray
    inverses: FloatArray
    log_determinants: FloatArray

    def log_likelihoods(self, x: FloatArray) -> FloatArray:
        """Of each class, up to a constant, n x K."""
        found = []
        for mean, inverse, log_determinant in zip(self.means, self.inverses, self.log_determinants, strict=True):
            away = x - mean
            found.append(-0.5 * (np.einsum("nd,nd->n", away @ inverse, away) + log_determinant))
        return np.stack(found, axis=1)

    def posteriors(self, x: FloatArray) -> FloatArray:
        """Probability of each class if all are equally likely beforehand, n x K."""
        logs = self.log_likelihoods(x)
        found: FloatArray = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
        return found

    def arrays(self) -> dict[str, FloatArray]:
        """As numbers by name."""
        return {
            "classes.means": self.means,
            "classes.inverses": self.inverses,
            "classes.log_determinants": self.log_determinants,
        }

    @classmethod
    def of(cls, arrays: dict[str, FloatArray]) -> Self:
        """From numbers by name."""
        return cls(arrays["classes.means"], arrays["classes.inverses"], arrays["classes.log_determinants"])


def quadratic_discriminants(data: LabelledVectors) -> Quadratic:
    """Gaussian classes whose covariances are mixed with the shared one, as much as people held out ask for."""
    folds = _folds(data)
    if folds is None:
        return fit_gaussian_classes(data, 1.0)
    losses = np.zeros(len(_MIXTURES))
    for fold in range(_FOLDS):
        held = folds == fold
        train, test = _part(data, ~held), _part(data, held)
        for number, mixture in enumerate(_MIXTURES):
            told = fit_gaussian_classes(train, mixture).log_likelihoods(test.x)
            told -= np.logaddexp.reduce(told, axis=1, keepdims=True)
            losses[number] -= np.average(told[np.arange(len(told)), test.labels[:, 0]], weights=test.weights)
    return fit_gaussian_classes(data, _MIXTURES[int(losses.argmin())])


def fit_gaussian_classes(data: LabelledVectors, mixture: float = 0.0) -> Quadratic:
    """Gaussian classes with shrunk covariances, of which this share is that of all classes (1: linear)."""
    labels, means = data.labels[:, 0], class_means(data)
    inside = (data.x - means[labels]) * np.sqrt(data.weights / data.weights.mean())[:, None]
    shared = _covariance(inside)
    inverses, sizes = [], []
    for k in range(len(means)):
        own = shared
        if mixture < 1.0:
            rows = inside[labels == k] / np.sqrt(data.weights[labels == k].mean() / data.weights.mean())
            own = mixture * shared + (1.0 - mixture) * _covariance(rows)
        inverses.append(np.linalg.inv(own))
        sizes.append(np.linalg.slogdet(own)[1])
    return Quadratic(means, np.stack(inverses), np.array(sizes))


def _covariance(rows: FloatArray) -> FloatArray:
    """Of centred rows, shrunk by Ledoit and Wolf."""
    covariance = shrunk(rows.T @ rows / len(rows), shrinkage_share(rows, "auto"))
    size = len(covariance)
    ridge: FloatArray = covariance + (_RIDGE * np.trace(covariance) / size + np.finfo(float).tiny) * np.eye(size)
    return ridge


def _folds(data: LabelledVectors) -> IntArray | None:
    """A fold for each row, by people, all classes in each; None where a class has too few people."""
    labels = data.labels[:, 0]
    fold = np.zeros(len(labels), dtype=np.int64)
    for k in range(int(labels.max()) + 1):
        names, who = np.unique(data.people[labels == k], return_inverse=True)
        if len(names) < 2 * _FOLDS:
            return None
        fold[labels == k] = who % _FOLDS
    return fold


def _part(data: LabelledVectors, rows: FloatArray) -> LabelledVectors:
    labels, people = data.labels[rows], data.people[rows]
    return LabelledVectors(data.x[rows], labels, balanced_weights(labels, people), people)

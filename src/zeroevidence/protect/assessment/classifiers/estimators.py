"""Attackers on an attribute: Gaussian classes, regression, kernels, neighbours, networks, trees, and sums of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers import (
    Classifier,
    QuantileLevels,
    Standardiser,
    WeightedClassifier,
    log_normalise,
    register_classifier,
    sphering,
    unit_rows,
)

_RIDGE = 1e-6  # of the mean variance: entries that do not vary within a class give no evidence and no infinite one
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
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.map: FloatArray | None = None
        if self.components is not None:
            self.map = sphering(_centred(z, y, weights), self.components, _RANK)
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
        return log_normalise(np.stack(logs, axis=1))


def _centred(z: FloatArray, y: IntArray, weights: FloatArray) -> FloatArray:
    """Return rows around the mean of their class, times the roots of their weights."""
    rows = np.empty_like(z)
    for k in range(int(y.max()) + 1):
        members = y == k
        mean = np.average(z[members], axis=0, weights=weights[members])
        rows[members] = np.sqrt(weights[members])[:, None] * (z[members] - mean)
    return rows


@register_classifier("lda", "linear discriminant analysis with one shrunk covariance")
def lda(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new"""
    return [GaussianClassifier(shared=True, shrinkage=share) for share in (None, 0.3, 0.7, 0.95)]


@register_classifier("qda", "quadratic discriminant analysis with a shrunk covariance for each class")
def qda(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new"""
    return [GaussianClassifier(shrinkage=share) for share in (None, 0.1, 0.3, 0.7)]


_ALL = 1 << 30
# Few components whose covariances are estimated well, or more of them shrunk towards the shared covariance.
_SPHERED = ((32, None), (8, None), (32, 0.5), (128, 0.5), (_ALL, 0.9))


@register_classifier("sphered", "quadratic discriminant analysis after sphering the shared covariance")
def sphered(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new"""
    return [GaussianClassifier(components=count, shrinkage=share) for count, share in _SPHERED]


_SETTINGS = ((1.0, 1.0), (1.0, 0.3), (1.0, 3.0), (10.0, 1.0))  # cost, and gamma relative to the number of entries


class KernelMachine(WeightedClassifier):
    """A support vector machine with radial kernels; calibration turns its margins into evidence."""

    def __init__(self, cost: float, gamma: float) -> None:
        from sklearn.svm import SVC

        super().__init__(SVC(C=cost))
        self.gamma = gamma

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Train on weighted rows."""
        self.model.set_params(gamma=self.gamma / x.shape[1])
        super().fit(x, y, weights, people)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class, from the margins."""
        margins = self.model.decision_function(self.inputs.of(x))
        return log_normalise(np.stack([-margins, margins], axis=1) if margins.ndim == 1 else 2.0 * margins)


@register_classifier("kernel", "support vector machine with radial kernels")
def kernel(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [KernelMachine(*setting) for setting in _SETTINGS]


@register_classifier(
    "person", "logistic regression on mean and standard deviation of a person's vectors", learns_from="people"
)
@register_classifier("logistic", "logistic regression on all entries")
def logistic(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    from sklearn.linear_model import LogisticRegression

    return [WeightedClassifier(LogisticRegression(C=c, max_iter=1000)) for c in (0.1, 0.01, 0.001)]


@register_classifier(
    "mean", "logistic regression, kernel machine or qda on the mean of a person's vectors", learns_from="means"
)
def mean(seed: int) -> Sequence[Classifier]:
    """Return new classifiers."""
    return [*logistic(seed), *kernel(seed), *qda(seed)]


_SHARPNESS = 10.0  # log-odds for a difference in cosine of one; calibration corrects it


class NearestPeopleClassifier:
    """Mean cosine with the `count` most similar people of each class, each by the mean of their vectors."""

    def __init__(self, count: int) -> None:
        self.count = count

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Store a mean vector for each person."""
        self.standardised = Standardiser(constant=np.inf)
        z = self.standardised.learn(x)
        self.people_means = [
            unit_rows(np.stack([z[people == person].mean(axis=0) for person in np.unique(people[y == k])]))
            for k in range(int(y.max()) + 1)
        ]

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class."""
        z = unit_rows(self.standardised.of(x))
        nearest = [np.sort(z @ means.T, axis=1)[:, -self.count :].mean(axis=1) for means in self.people_means]
        return log_normalise(_SHARPNESS * np.stack(nearest, axis=1))


@register_classifier("neighbours", "cosine similarity with the nearest people of each class")
def neighbours(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [NearestPeopleClassifier(count) for count in (3, 1, 10)]


@register_classifier("perceptron", "neural network with one hidden layer")
def perceptron(seed: int) -> Sequence[Classifier]:
    """Return new classifiers."""
    from sklearn.neural_network import MLPClassifier

    return [
        WeightedClassifier(MLPClassifier((64,), alpha=alpha, max_iter=60, random_state=seed)) for alpha in (1.0, 10.0)
    ]


_LEVELS = 64
_LEAVES = (31, 4)


@register_classifier("boosting", "boosted trees")
def boosting(seed: int) -> Sequence[Classifier]:
    """Return new classifiers."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [
        WeightedClassifier(
            HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=n, random_state=seed, early_stopping=False),
            QuantileLevels(_LEVELS),
        )
        for n in _LEAVES
    ]


_PENALTY = 1.0  # on squared weights of scores of size one, divided by the number of people
_LEAST = 1e-3  # weights are positive: a classifier that is wrong on few people is so by chance


class LogLinear:
    """Log-posteriors of several classifiers, multiplied by a weight for each, plus a constant for each class.

    Of one classifier this is its calibration: the order of two classes' scores stays. Rows hold the log-probabilities
    of the first classifier for all classes, then those of the second, and so on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> scores = y - 0.5 + rng.normal(size=200), rng.normal(size=200)
    >>> informative, noise = (log_normalise(np.stack([-score, score], axis=1)) for score in scores)
    >>> both = LogLinear()
    >>> both.fit(np.hstack([informative, noise]), y, np.ones(200), np.arange(200))
    >>> bool(both.weights[0] > 5.0 * both.weights[1])
    True
    """

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Fit weights and constants by logistic regression."""
        from scipy.optimize import minimize

        self.classes = int(y.max()) + 1
        logits = self._logits(x)
        self.size = np.maximum(np.sqrt(np.average((logits**2).mean(axis=2), axis=0, weights=weights)), 1e-12)
        logits /= self.size[:, None]
        truth = np.eye(self.classes)[y]
        shares = weights / weights.sum()
        count, penalty = logits.shape[1], _PENALTY / len(np.unique(people))

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            w, b = parameters[:count], parameters[count:]
            logs = log_normalise(np.einsum("a,nak->nk", w, logits) + b)
            slope = shares[:, None] * (np.exp(logs) - truth)
            value = -float(shares @ (truth * logs).sum(axis=1)) + 0.5 * penalty * float(w @ w)
            return value, np.append(np.einsum("nk,nak->a", slope, logits) + penalty * w, slope.sum(axis=0))

        start = np.append(np.full(count, 1.0 / count), np.zeros(self.classes))
        bounds = [(_LEAST, None)] * count + [(None, None)] * self.classes
        optimum = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
        self.weights: FloatArray = optimum.x[:count]
        self.constants: FloatArray = optimum.x[count:]

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class."""
        return log_normalise(np.einsum("a,nak->nk", self.weights / self.size, self._logits(x)) + self.constants)

    def _logits(self, x: FloatArray) -> FloatArray:
        """Return log-posteriors around their mean over classes: n x classifiers x classes."""
        logits = np.maximum(x, -1e6).reshape(len(x), -1, self.classes)
        return np.asarray(logits - logits.mean(axis=2, keepdims=True))


@register_classifier("fusion", "weighted sum of the scores of the classifiers of vectors", learns_from="scores")
@register_classifier(
    "pooled", "mean scores of the classifiers over all vectors of a person", learns_from="scores of people"
)
def log_linear(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [LogLinear()]

"""Weighted sums of log-posteriors, for calibration and for attackers that combine others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers import Classifier, log_normalise, register_classifier

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

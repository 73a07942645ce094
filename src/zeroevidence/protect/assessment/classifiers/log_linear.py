"""Weighted sums of log-probabilities, for calibration and fusion; no classifier of its own enters the table."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers.classifier import log_normalise

_PENALTY = 1.0  # on squared weights of scores of size one, divided by the number of people
_LEAST = 1e-3  # weights are positive: who points the wrong way on few people does so by chance


class LogLinear:
    """Log-probabilities of several classifiers, multiplied by a weight for each, plus a constant for each class.

    Of one classifier this is its calibration: the order of two classes' scores stays. Rows hold the log-probabilities
    of the first classifier for all classes, then those of the second, and so on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> scores = y - 0.5 + rng.normal(size=200), rng.normal(size=200)
    >>> told, noise = (log_normalise(np.stack([-one, one], axis=1)) for one in scores)
    >>> both = LogLinear()
    >>> both.fit(np.hstack([told, noise]), y, np.ones(200), np.arange(200))
    >>> bool(both.weights[0] > 5.0 * both.weights[1])
    True
    """

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Learn weights and constants by logistic regression."""
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
        found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
        self.weights: FloatArray = found.x[:count]
        self.constants: FloatArray = found.x[count:]

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class."""
        return log_normalise(np.einsum("a,nak->nk", self.weights / self.size, self._logits(x)) + self.constants)

    def _logits(self, x: FloatArray) -> FloatArray:
        """Log-probabilities around their mean over classes: n x classifiers x classes."""
        logits = np.maximum(x, -1e6).reshape(len(x), -1, self.classes)
        centred: FloatArray = logits - logits.mean(axis=2, keepdims=True)
        return centred

r"""Calibrated density of a number from a regressor's mean and variance, and bits.

The numbers of the people that attackers learn from are the marginal: each of them has the same probability. A row x
tilts it,

.. math:: q(y \mid x) \propto m(y)\, e^{f(x, y)}, \qquad
          f = a \frac{\mu(x)}{\sigma^2(x)} y - \frac{b}{2 \sigma^2(x)} y^2 + c\, y + \frac{d}{2} y^2,

where four numbers (a, b, c, d) are fitted to predictions for held-out people. For a Gaussian marginal and Gaussian
predictions this is the exact density; for any other it is an exponential family, and nothing has to be assumed about
the marginal, which may have two modes or few values. Without information all four vanish. The logarithm of q / m is
the information of a row about a number; its mean is a lower bound on mutual information [Barber and Agakov 2003]. The
tested number counts as one more of the marginal, as in [van den Oord et al. 2018], so that a number outside all others
is not evidence by itself.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray

_MOST_POINTS = 256  # of the marginal; more people are taken together in quantiles
_PENALTY = 0.1  # on squared weights of terms of size one, divided by the number of people


class Marginal:
    """The numbers of people as points and the share of each; numbers are scaled to mean zero and spread one.

    Examples
    --------
    >>> ages = Marginal(np.array([10.0, 10.0, 20.0, 40.0]))
    >>> ages.unscaled(ages.points).round(6).tolist(), ages.shares.tolist()
    ([10.0, 20.0, 40.0], [0.5, 0.25, 0.25])
    """

    def __init__(self, numbers: FloatArray) -> None:
        self.people = len(numbers)
        self.mean, self.scale = float(numbers.mean()), float(numbers.std())
        scaled = np.sort(self.scaled(numbers))
        values, counts = np.unique(scaled, return_counts=True)
        if len(values) > _MOST_POINTS:
            groups = np.array_split(scaled, _MOST_POINTS)
            values, counts = np.array([group.mean() for group in groups]), np.array([len(group) for group in groups])
        self.points: FloatArray = values
        self.shares: FloatArray = counts / self.people

    def scaled(self, numbers: FloatArray) -> FloatArray:
        """Return numbers in the scale of the points."""
        return (numbers - self.mean) / self.scale

    def unscaled(self, scaled: FloatArray) -> FloatArray:
        """Return scaled numbers in their original scale."""
        return self.mean + self.scale * scaled


class Density:
    """A calibrated density of a number, given the mean and the variance that a regressor predicts."""

    def __init__(self, marginal: Marginal) -> None:
        self.marginal = marginal
        self.weights: FloatArray = np.zeros(4)

    def fit(self, mean: FloatArray, variance: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        """Fit four weights to predictions for people held out, and their scaled numbers."""
        from scipy.optimize import minimize

        slopes, precision = mean / variance, 1.0 / variance
        share, points, penalty = weights / weights.sum(), self.marginal.points, _PENALTY / self.marginal.people
        powers = np.stack([points, 0.5 * points**2], axis=1)
        first = np.stack([slopes, -precision, np.ones_like(slopes), np.ones_like(slopes)], axis=1)
        size = np.sqrt(np.maximum(share @ first**2, 1e-12))  # terms of about size one
        first /= size

        def terms(powers_of_row: FloatArray) -> FloatArray:
            """Return the four terms of each row for its y and y^2 / 2 (n x 2)."""
            return first * powers_of_row[:, [0, 1, 0, 1]]

        true_powers = np.stack([y, 0.5 * y**2], axis=1)
        true_terms, people = terms(true_powers), self.marginal.people
        logs = np.log(self.marginal.shares * people / (people + 1.0))

        def loss(w: FloatArray) -> tuple[float, FloatArray]:
            tilts = np.stack([first[:, [0, 2]] @ w[[0, 2]], first[:, [1, 3]] @ w[[1, 3]]], axis=1)
            tilt = true_terms @ w
            tilted = np.column_stack([tilts @ powers.T + logs, tilt - np.log(people + 1.0)])
            total, chances = _shares(tilted)
            expected = terms(chances[:, :-1] @ powers + chances[:, -1:] * true_powers)
            value = share @ (total - tilt) + 0.5 * penalty * (w @ w)
            return float(value), share @ (expected - true_terms) + penalty * w

        bounds = [(0.0, None), (0.0, None), (None, None), (None, None)]
        optimum = minimize(loss, np.zeros(4), jac=True, bounds=bounds, method="L-BFGS-B")
        self.weights = optimum.x / size

    def tilts(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the factors of y and y^2 / 2 for each row."""
        a, b, c, d = self.weights
        return a * mean / variance + c, d - b / variance

    def total(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the logarithm of the sum over the marginal, for each row."""
        return _shares(self._tilted(mean, variance))[0]

    def guess(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the mean of the density for each row, in the original scale."""
        _, shares = _shares(self._tilted(mean, variance))
        return self.marginal.unscaled(shares @ self.marginal.points)

    def _tilted(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Return logarithms of the density at the points of the marginal, up to a constant for each row."""
        slope, curve = self.tilts(mean, variance)
        points = self.marginal.points
        logs: FloatArray = np.outer(slope, points) + np.outer(curve, 0.5 * points**2) + np.log(self.marginal.shares)
        return logs


def _shares(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logarithm of the sum of each row's exponentials, and their shares in it."""
    most = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - most)
    sums = shares.sum(axis=1, keepdims=True)
    return (most + np.log(sums))[:, 0], shares / sums

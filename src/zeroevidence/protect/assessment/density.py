r"""From a regressor's mean and variance to a calibrated density of a number, and to bits.

The numbers of the people that attackers learn from are the marginal: each of them has the same probability. A row x
tilts it,

.. math:: q(y \mid x) \propto m(y)\, e^{f(x, y)}, \qquad
          f = a \frac{\mu(x)}{\sigma^2(x)} y - \frac{b}{2 \sigma^2(x)} y^2 + c\, y + \frac{d}{2} y^2,

where four numbers (a, b, c, d) are fitted to what was said of people held out. For a Gaussian marginal and Gaussian
predictions this is the exact density; for any other it is an exponential family, and nothing has to be assumed about
the marginal, which may have two modes or few values. Without information all four vanish. The logarithm of q / m is
what a row tells of a number; its mean is a lower bound on mutual information [Barber and Agakov 2003]. The tested
number counts as one more of the marginal, as in [van den Oord et al. 2018], so that a number outside all known ones is
not taken for evidence.
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
            values, counts = np.array([one.mean() for one in groups]), np.array([len(one) for one in groups])
        self.points: FloatArray = values
        self.shares: FloatArray = counts / self.people

    def scaled(self, numbers: FloatArray) -> FloatArray:
        """Numbers in the scale of the points."""
        return (numbers - self.mean) / self.scale

    def unscaled(self, scaled: FloatArray) -> FloatArray:
        """Scaled numbers as they were."""
        return self.mean + self.scale * scaled


class Density:
    """A calibrated density of a number, given the mean and the variance that a regressor says."""

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
            """The four terms of each row for its y and y^2 / 2 (n x 2)."""
            return first * powers_of_row[:, [0, 1, 0, 1]]

        own_powers = np.stack([y, 0.5 * y**2], axis=1)
        own, people = terms(own_powers), self.marginal.people
        logs = np.log(self.marginal.shares * people / (people + 1.0))

        def loss(w: FloatArray) -> tuple[float, FloatArray]:
            tilts = np.stack([first[:, [0, 2]] @ w[[0, 2]], first[:, [1, 3]] @ w[[1, 3]]], axis=1)
            told = own @ w
            tilted = np.column_stack([tilts @ powers.T + logs, told - np.log(people + 1.0)])
            total, chances = _shares(tilted)
            expected = terms(chances[:, :-1] @ powers + chances[:, -1:] * own_powers)
            value = share @ (total - told) + 0.5 * penalty * (w @ w)
            return float(value), share @ (expected - own) + penalty * w

        bounds = [(0.0, None), (0.0, None), (None, None), (None, None)]
        found = minimize(loss, np.zeros(4), jac=True, bounds=bounds, method="L-BFGS-B")
        self.weights = found.x / size

    def tilts(self, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each row multiplies y and y^2 / 2 with."""
        a, b, c, d = self.weights
        return a * mean / variance + c, d - b / variance

    def total(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Logarithm of the sum over the marginal, for each row."""
        return _shares(self._tilted(mean, variance))[0]

    def guess(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """The mean of the density for each row, unscaled."""
        _, shares = _shares(self._tilted(mean, variance))
        return self.marginal.unscaled(shares @ self.marginal.points)

    def _tilted(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Logarithms of the density at the points of the marginal, up to a constant for each row."""
        slope, curve = self.tilts(mean, variance)
        points = self.marginal.points
        found: FloatArray = np.outer(slope, points) + np.outer(curve, 0.5 * points**2) + np.log(self.marginal.shares)
        return found


def _shares(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The logarithm of the sum of each row's exponentials, and their shares in it."""
    most = logs.max(axis=1, keepdims=True)
    shares = np.exp(logs - most)
    sums = shares.sum(axis=1, keepdims=True)
    return (most + np.log(sums))[:, 0], shares / sums

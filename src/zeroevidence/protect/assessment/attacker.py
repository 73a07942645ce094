"""Parts that classifiers share: standardisation, levels, sphering, and the environment of training."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import FloatArray


class Standardiser:
    """Standardisation of every entry to the mean and standard deviation in training.

    Entries that are the same for everybody in training are divided by `constant`: infinity leaves them out.
    """

    def __init__(self, constant: float = 1.0) -> None:
        self.constant = constant

    def learn(self, x: FloatArray) -> FloatArray:
        """Learn means and standard deviations from rows, and return them standardised."""
        self.mean, spread = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        # an entry that a protector has made the same for everybody differs by rounding alone
        varies = spread > 1e-9 * (np.abs(self.mean) + spread.max())
        self.scale = np.where(varies, spread, self.constant)
        return self.of(x)

    def of(self, x: FloatArray) -> FloatArray:
        """Return other rows standardised in the same way."""
        standard: FloatArray = (x - self.mean) / self.scale
        return standard


class QuantileLevels:
    """Entries as levels of equal size in training, for trees.

    The bins that scikit-learn makes of weighted data take a minute for a few hundred dimensions.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def learn(self, x: FloatArray) -> FloatArray:
        """Learn the limits of the levels from rows, and return their levels."""
        self.limits = np.quantile(x, np.arange(1, self.count) / self.count, axis=0)
        return self.of(x)

    def of(self, x: FloatArray) -> FloatArray:
        """Return the levels of other rows."""
        columns = [np.searchsorted(limits, column) for limits, column in zip(self.limits.T, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)


def sphering(rows: FloatArray, components: int, rank: float) -> FloatArray:
    """Return the map to leading principal components of centred rows in which their covariance is the identity.

    Components whose standard deviation is below `rank` times the largest are left out.
    """
    _, spread, directions = np.linalg.svd(rows / np.sqrt(len(rows)), full_matrices=False)
    count = min(components, max(1, int(np.count_nonzero(spread > rank * spread.max()))))
    matrix: FloatArray = directions[:count].T / np.maximum(spread[:count], 1e-12)
    return matrix


def unit_rows(z: FloatArray) -> FloatArray:
    """Return rows divided by their lengths."""
    unit: FloatArray = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    return unit


@contextmanager
def training_environment() -> Iterator[None]:
    """Train on one thread and without warnings.

    On one thread sums keep their order, and for so few vectors threads wait more than they work. Attackers that did not
    converge are still attackers, so the warning does not matter.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

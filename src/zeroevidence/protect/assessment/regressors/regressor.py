"""Regressors that attack an attribute that is a number: their interface and registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.registry import Registry

LEAST_VARIANCE = 1e-4  # of a prediction, where the numbers of people have variance one


class Regressor(Protocol):
    """An attacker of a number: learns from weighted rows, and predicts mean and variance of the number."""

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:
        """Train on rows (n x d), and the number (standardised), weight and speaker number of each."""

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of the number for each row; both are calibrated later."""


Candidates: TypeAlias = Callable[[int], Sequence[Regressor]]


@dataclass(frozen=True, slots=True)
class RegressorKind:
    """A registered regressor.

    Parameters
    ----------
    name
        Its name in options, labels and messages.
    title
        A few words about it.
    candidates
        Makes unfitted regressors from a seed, among which cross-validation chooses; the first is the usual one.
    """

    name: str
    title: str
    candidates: Candidates


REGRESSORS: Registry[RegressorKind] = Registry("regressor", package=__package__)


def register_regressor(name: str, title: str) -> Callable[[Candidates], Candidates]:
    """Return a decorator that registers a function that makes candidates from a seed."""

    def register(candidates: Candidates) -> Candidates:
        REGRESSORS.add(RegressorKind(name, title, candidates))
        return candidates

    return register


def ridge_weights(z: FloatArray, y: FloatArray, weights: FloatArray, penalty: float) -> FloatArray:
    """Return slopes, and a constant at the end, of weighted least squares with a penalty on squared slopes.

    Examples
    --------
    >>> ridge_weights(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3), 0.0).round(6).tolist()
    [2.0, 1.0]
    """
    share = weights / weights.sum()
    centre, middle = share @ z, float(share @ y)
    away = z - centre
    scaled = away * share[:, None]
    size = z.shape[1]
    slopes = np.linalg.solve(scaled.T @ away + penalty * np.eye(size), scaled.T @ (y - middle))
    return np.append(slopes, middle - centre @ slopes)


def linear_sum(z: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the predictions of slopes with a constant at the end."""
    line: FloatArray = z @ slopes[:-1] + slopes[-1]
    return line


def constant_variance(variance: float, rows: int) -> FloatArray:
    """Return one variance for all rows, not below `LEAST_VARIANCE`."""
    return np.full(rows, max(variance, LEAST_VARIANCE))

"""What all regressors have in common, and the table that they enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.registry import Registry

LEAST_VARIANCE = 1e-4  # of a prediction, where the numbers of people vary by one


class Regressor(Protocol):
    """An attacker of a number: learns from weighted rows, and tells where the number lies and how surely."""

    def fit(self, x: FloatArray, y: FloatArray, weights: FloatArray, people: IntArray) -> None:
        """Learn from rows (n x d), the number of each (of mean zero and spread one), weights, and whose each is."""

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the number for each row; the calibration corrects both."""


Candidates: TypeAlias = Callable[[int], Sequence[Regressor]]


@dataclass(frozen=True, slots=True)
class RegressorKind:
    """One regressor that has a name.

    Parameters
    ----------
    name, title
        What it is called, and one line of words.
    candidates
        Unfitted regressors from a seed, among which the people that attackers learn from choose; the first is the usual
        one.
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
    """Slopes, and a constant at the end, of weighted least squares with a penalty on squared slopes.

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


def steady(variance: float, rows: int) -> FloatArray:
    """One variance for all rows, not too small."""
    return np.full(rows, max(variance, LEAST_VARIANCE))

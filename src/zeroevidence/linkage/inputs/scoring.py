"""Scores that are dot products: cosine, plain dot, and two-covariance PLDA through extended vectors.

Mean and deviation of a row of dot products need no pass over the pairs: with the mean m and the covariance C of the
enrolment vectors they are ``x . m`` and ``sqrt(x' C x)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError, UsageError

ScoreFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
ScoringName: TypeAlias = Literal["cosine", "dot"]
Scoring: TypeAlias = ScoringName | ScoreFunction
SCORINGS: tuple[ScoringName, ...] = get_args(ScoringName)


def unit(vectors: FloatArray, *, side: str, rows: IntArray) -> FloatArray:
    """Vectors over their lengths, in double precision; a zero vector is refused by the number of its row."""
    x: FloatArray = np.asarray(vectors, dtype=np.float64)
    # scaling by the largest entry first keeps squares of very long or short vectors finite
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    zero = np.flatnonzero(largest[:, 0] == 0.0)
    if len(zero):
        raise InputError(f"{side} {rows[zero[0]]}: a zero vector has no direction; leave it out")
    x = x / largest
    length: FloatArray = np.sqrt(np.einsum("ij,ij->i", x, x))
    x /= length[:, None]
    return x


def plda_vectors(
    trial: FloatArray,
    enrol: FloatArray,
    *,
    mean: FloatArray,
    between: FloatArray,
    within: FloatArray,
    utterances: int = 1,
) -> tuple[FloatArray, FloatArray]:
    r"""Trial and enrolment vectors whose dot product is the two-covariance PLDA log-likelihood ratio.

    With speakers :math:`b \sim N(0, B)` and utterances :math:`x = \mu + b + w,\ w \sim N(0, W)`, a profile `y` that
    is the mean of n utterances has covariance :math:`B + W / n`, and the log-likelihood ratio is

    .. math:: x' P y + \tfrac12 x' Q_x x + \tfrac12 y' Q_y y + c

    (mean removed), which is the dot product of ``[P' x, 1, x' Q_x x / 2 + c]`` with ``[y, y' Q_y y / 2, 1]``.

    Parameters
    ----------
    trial
        T x d vectors of utterances.
    enrol
        N x d profiles.
    mean
        Mean of the model, mu.
    between
        Covariance between speakers, B.
    within
        Covariance within speakers, W.
    utterances
        How many utterances each profile averages; the same for all, since a row compares all profiles.

    Examples
    --------
    >>> model = {"mean": np.zeros(1), "between": np.array([[4.0]]), "within": np.array([[1.0]])}
    >>> trial, enrol = plda_vectors(np.array([[2.0]]), np.array([[2.5], [-3.0]]), **model)
    >>> (trial @ enrol.T).round(2).tolist()
    [[0.91, -4.47]]
    """
    if utterances < 1:
        raise UsageError(f"expected at least one utterance per profile, got {utterances}")
    d = len(mean)
    for name, matrix in (("between", between), ("within", within)):
        if np.shape(matrix) != (d, d):
            raise InputError(f"{name}: expected a {d} x {d} covariance, got shape {np.shape(matrix)}")
    b = np.asarray(between, dtype=np.float64)
    w = np.asarray(within, dtype=np.float64)
    x, y = (np.asarray(v, dtype=np.float64) - mean for v in (trial, enrol))
    total_x, total_y = b + w, b + w / utterances
    given_y, given_x = total_x - b @ np.linalg.solve(total_y, b), total_y - b @ np.linalg.solve(total_x, b)
    q_x = np.linalg.inv(total_x) - np.linalg.inv(given_y)
    q_y = np.linalg.inv(total_y) - np.linalg.inv(given_x)
    p = np.linalg.solve(total_x, b) @ np.linalg.inv(given_x)
    c = 0.5 * (np.linalg.slogdet(total_y)[1] - np.linalg.slogdet(given_x)[1])
    of_trial = 0.5 * np.einsum("ij,ij->i", x @ q_x, x) + c
    of_enrol = 0.5 * np.einsum("ij,ij->i", y @ q_y, y)
    return (
        np.column_stack((x @ p, np.ones(len(x)), of_trial)),
        np.column_stack((y, of_enrol, np.ones(len(y)))),
    )

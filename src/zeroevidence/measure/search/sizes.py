"""ALID over the number of enrolled identities: searches through random subsets that hold the true identity.

A smaller search is another search: its rows are scaled anew, and its calibration is fitted to rows of that size. Of the
sum in the posterior there is no expectation over subsets in closed form, so subsets are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import FitFunction, RowCalibration, row_llrs
from zeroevidence.measure.search.longitudinal import SizeCurve, check_sizes, lid_of_llrs

MATRIX_LIMIT = 2_000_000  # scores; beyond, drawing subsets of every row takes too long
_DRAWN = 512  # searches of each size at least: of few trials, several subsets of each
_FITTED = (256, 1024)  # rows that a calibration is fitted on: at least, by several subsets of each, and at most


def alid_curve(
    search: tuple[FloatArray, IntArray],
    calibration: RowCalibration,
    development: tuple[FloatArray, IntArray],
    fit: FitFunction,
    *,
    prior: FloatArray | None = None,
    sizes: Sequence[int] | None = None,
    seed: int = 0,
) -> SizeCurve:
    """ALID in searches through n of the N identities, the true one and n - 1 others drawn at random.

    A trial's larger subsets hold its smaller ones. At N itself it is the ALID of the whole search. The baseline is 0:
    nothing is learned.

    Parameters
    ----------
    search
        Scores of trials (rows) against identities (columns), and the column of the true identity of each trial.
    calibration
        The calibration of the whole search.
    development
        Scores and mated columns of other people, to fit the calibrations of smaller searches on; where these are fewer
        than a size, all of them are taken.
    fit
        Fits such a calibration.
    prior
        Probability of each identity beforehand; equal unless given. In a subset they are divided by their sum.
    sizes
        Numbers of identities; powers of two and N itself unless given.
    seed
        Seed of the subsets.

    Examples
    --------
    >>> from zeroevidence.calibrate.rows import fit_rows
    >>> rng = np.random.default_rng(0)
    >>> mated = np.arange(400) % 8
    >>> rows = rng.normal(size=(2, 400, 8)) + 2.0 * np.eye(8)[mated]
    >>> curve = alid_curve((rows[0], mated), fit_rows(rows[1], mated), (rows[1], mated), fit_rows)
    >>> curve.x.tolist(), curve.y.round(1).tolist()
    ([2, 4, 8], [0.4, 1.0, 1.7])
    """
    scores, mated = search
    identities = scores.shape[1]
    x = check_sizes(identities, sizes)
    rng = np.random.default_rng(seed)
    trial = _drawn_rows(len(mated), _DRAWN, len(mated))
    order = _mated_first(mated[trial], identities, rng)
    other_scores, other_mated = development
    other = _drawn_rows(len(other_mated), *_FITTED)
    other_order = _mated_first(other_mated[other], other_scores.shape[1], rng)
    y = []
    for size in x:
        columns, fitted = order[:, :size], calibration
        if size < identities:
            smaller = other_scores[other[:, None], other_order[:, :size]]
            fitted = fit(smaller, np.zeros(len(smaller), dtype=np.int64))
        llrs = row_llrs(scores[trial[:, None], columns], fitted)
        log_prior = None if prior is None else np.log(prior[columns] / prior[columns].sum(axis=1, keepdims=True))
        y.append(float(lid_of_llrs(llrs, np.zeros(len(llrs), dtype=np.int64), log_prior).mean()))
    return SizeCurve(x, np.array(y), np.zeros(len(x)))


def _drawn_rows(rows: int, least: int, most: int) -> IntArray:
    """Which row each subset is drawn of: all of them, equally often, or as many as may be at even steps."""
    if rows > most:
        return np.linspace(0, rows - 1, most).astype(np.int64)
    return np.repeat(np.arange(rows), -(-least // rows))


def _mated_first(mated: IntArray, identities: int, rng: np.random.Generator) -> IntArray:
    """For each row all columns in random order, the mated one first."""
    keys = rng.random((len(mated), identities))
    keys[np.arange(len(mated)), mated] = -1.0
    return np.argsort(keys, axis=1)

"""Whole rows of scores, a few at a time: for any scoring function, and for fitting a calibration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.linkage.evidence.plan import SearchPlan

_MOST_SCORES = 1 << 22  # in memory at once


def score_rows(plan: SearchPlan, rows: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the scores of some trials against every identity, in double precision, a few rows at a time."""
    step = max(1, min(256, _MOST_SCORES // plan.identities))
    for start in range(0, len(rows), step):
        part = slice(start, min(len(rows), start + step))
        x = plan.trial.take(rows[part])
        scores = np.empty((len(x), plan.identities))
        for first, stop in plan.enrol.blocks():
            y = plan.enrol.read(first, stop)
            block = x @ y.T if plan.function is None else np.asarray(plan.function(x, y), dtype=np.float64)
            if block.shape != (len(x), len(y)):
                raise InputError(f"the scoring function gave shape {block.shape}; expected {(len(x), len(y))}")
            scores[:, first:stop] = block
        if not np.isfinite(scores.sum()) and not np.isfinite(scores).all():
            at, column = np.argwhere(~np.isfinite(scores))[0]
            raise InputError(
                f"trial {rows[part][at]}, identity {column}: the scoring function gave {scores[at, column]}; "
                "expected finite scores"
            )
        yield part, scores


def centred(scores: FloatArray, ddof: int) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each row, the latter 0 where all scores are equal; `scores` lose their mean in place."""
    flat = scores.max(axis=1) == scores.min(axis=1)
    mean = scores.mean(axis=1)
    scores -= mean[:, None]
    deviation = np.sqrt(np.einsum("ij,ij->i", scores, scores) / (scores.shape[1] - ddof))
    return mean, np.where(flat, 0.0, deviation)

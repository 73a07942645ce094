"""Direction of scores: distances are small where similarities are large."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError

FEWEST = 10  # of either class; fewer can be reversed by chance


def are_distances(data: Scores | ScoreMatrix) -> bool:
    """Return whether three quarters of the targets score below three quarters of the non-targets.

    No protection does that to similarities: where nothing is recognised, both classes score alike.

    Examples
    --------
    >>> near, far = [0.1 * i for i in range(10)], [2.0 + i for i in range(10)]
    >>> are_distances(Scores(near, far)), are_distances(Scores(far, near)), are_distances(Scores(near, near))
    (True, False, False)
    """
    scores = data.to_scores() if isinstance(data, ScoreMatrix) else data
    if min(len(scores.target), len(scores.nontarget)) < FEWEST:
        return False
    return bool(_quantile(scores.target, 0.75) < _quantile(scores.nontarget, 0.25))


def _quantile(values: FloatArray, share: float) -> float:
    """Return the score that this share of scores does not exceed; it may be infinite."""
    at = round(share * (len(values) - 1))
    return float(np.partition(values, at)[at])


def check_direction(data: Scores | ScoreMatrix, path: str | Path) -> None:
    """Refuse a file of distances."""
    if are_distances(data):
        raise InputError(
            "targets score lower than nontargets, as distances do; expected higher scores for targets, or --negate to "
            "turn the scores round",
            path=path,
        )

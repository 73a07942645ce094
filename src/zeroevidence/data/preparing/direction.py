"""Which way scores point: distances are small where similarities are large."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError

FEWEST = 10  # of either kind; fewer can stand the wrong way round by chance


def points_down(data: Scores | ScoreMatrix) -> bool:
    """Whether three quarters of the targets score below three quarters of the non-targets.

    No protection does that to similarities: where nothing is recognised, both kinds score alike.

    Examples
    --------
    >>> near, far = [0.1 * i for i in range(10)], [2.0 + i for i in range(10)]
    >>> points_down(Scores(near, far)), points_down(Scores(far, near)), points_down(Scores(near, near))
    (True, False, False)
    """
    scores = data.to_scores() if isinstance(data, ScoreMatrix) else data
    if min(len(scores.target), len(scores.nontarget)) < FEWEST:
        return False
    return bool(_rank(scores.target, 0.75) < _rank(scores.nontarget, 0.25))


def _rank(values: FloatArray, share: float) -> float:
    """The score that this share of scores does not exceed; infinite scores are scores like others."""
    at = round(share * (len(values) - 1))
    return float(np.partition(values, at)[at])


def check_direction(data: Scores | ScoreMatrix, path: str | Path) -> None:
    """Refuse a file of distances."""
    if points_down(data):
        raise InputError(
            "targets score lower than nontargets, as distances do; expected higher scores for targets, or --negate to "
            "turn the scores round",
            path=path,
        )

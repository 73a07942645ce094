"""Whether development people were searched as the evaluated ones are, so that what is learned of them carries over."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.rows.flags import Flag, flag

_MOST = 1.5  # ratio of sizes or spreads, a rule of thumb: beyond it thresholds of development people clearly miss
_TRIALS = 1000  # whose spread is looked at


def development_flags(evaluated: ScoreMatrix, dev: ScoreMatrix) -> list[Flag]:
    """Warnings where two searches differ in the number of identities, or in how far the scores of a trial spread.

    Examples
    --------
    >>> small, large = (ScoreMatrix(np.random.default_rng(0).normal(size=(20, n)), np.arange(20) % n) for n in (4, 8))
    >>> [warning.code for warning in development_flags(small, large)]
    ['development-size']
    """
    flags = []
    sizes = evaluated.scores.shape[1], dev.scores.shape[1]
    if max(sizes) > _MOST * min(sizes):
        flags.append(flag("development-size", here=sizes[0], there=sizes[1]))
    spreads = _row_spread(evaluated), _row_spread(dev)
    if max(spreads) > _MOST * min(spreads):
        flags.append(flag("development-spread", here=spreads[0], there=spreads[1]))
    return flags


def sex_flags(labels: Mapping[str, str], dev_labels: Mapping[str, str]) -> list[Flag]:
    """A warning where the sex of both sides is known and differs.

    Examples
    --------
    >>> [warning.code for warning in sex_flags({"sex": "f"}, {"sex": "m"})], sex_flags({"sex": "f"}, {})
    (['development-sex'], [])
    """
    here, there = labels.get("sex"), dev_labels.get("sex")
    return [flag("development-sex", here=here, there=there)] if here and there and here != there else []


def _row_spread(matrix: ScoreMatrix) -> float:
    """The median over trials of the standard deviation of their scores; of many trials, some are looked at."""
    some = matrix.scores[:: max(1, len(matrix.scores) // _TRIALS)].astype(np.float64)
    return float(np.median(some.std(axis=1)))

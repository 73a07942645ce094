"""Scores that look like copies of one another, where no identifiers say whether they are."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.evaluation.rows.flags import Flag, flag

_LEAST_SHARE = 0.5  # of scores that repeat another one, in both classes
_LEAST_DISTINCT = 10  # scores; fewer are a scale of marks, on which repetitions are no wonder


def repetition_flags(target: FloatArray, nontarget: FloatArray) -> list[Flag]:
    """Return a warning on ascending scores without names, at least half of which in either class repeat another one.

    Examples
    --------
    >>> target, nontarget = np.arange(6.0), np.arange(9.0)
    >>> repetition_flags(target, nontarget), len(repetition_flags(np.repeat(target, 2), np.repeat(nontarget, 2)))
    ([], 1)
    """
    classes = target, nontarget
    distinct = [1 + int(np.count_nonzero(values[1:] != values[:-1])) for values in classes]
    shares = [1.0 - different / len(values) for different, values in zip(distinct, classes, strict=True)]
    if min(shares) < _LEAST_SHARE or sum(distinct) < _LEAST_DISTINCT:
        return []
    total = len(target) + len(nontarget)
    return [flag("equal-scores", count=total - sum(map(_count_single, classes)), scores=total)]


def _count_single(values: FloatArray) -> int:
    """Count the values that occur once among ascending ones."""
    edges = np.concatenate(([True], values[1:] != values[:-1], [True]))
    return int(np.count_nonzero(edges[1:] & edges[:-1]))

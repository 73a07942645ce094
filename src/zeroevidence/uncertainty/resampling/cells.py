"""Cells of neighbouring scores: each atom alone or, in long lists, several atoms together.

Values on fewer people are counted from the cells, without sorting scores again. Values of a long list from all its
atoms and from tens of thousands of cells differ by less than the last printed digit, and the atoms at both ends, which
decide the worst case, are kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Blocks, Counts, RankedScores, block_lows, searchsorted_in_threads

CellArray: TypeAlias = NDArray[np.uint16]
CELLS = 1 << 15
_BUCKETS = 1 << 20  # of which few have a cell begin in them
_BUCKETED_FROM = 1 << 18  # scores that are worth the buckets
_BLOCK = 1 << 16  # scores that stay in the cache together
_END = 1 / 8  # share of the cells at either end that hold one atom each


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCells:
    """Scores by cell.

    Parameters
    ----------
    counts
        Targets and non-targets in each cell, in ascending order of score.
    target
        The cell of each target, in the order of the scores.
    nontarget
        The cell of each non-target.
    middle
        The atom in the middle of each cell.
    """

    counts: Counts
    target: CellArray
    nontarget: CellArray
    middle: IntArray


def assign_cells(target: FloatArray, nontarget: FloatArray, ranked: RankedScores, most: int = CELLS) -> ScoreCells:
    """Return the cell of each score, one of at most `most` (no more than 65 536); `ranked` has the same scores."""
    starts = cell_starts(ranked.counts, most)
    middle = (starts + np.append(starts[1:], len(ranked.counts.target)) - 1) // 2
    counts = Counts(np.add.reduceat(ranked.counts.target, starts), np.add.reduceat(ranked.counts.nontarget, starts))
    lows = block_lows(ranked, Blocks(counts.target, counts.nontarget, np.zeros(len(starts))))
    return ScoreCells(counts, _places(lows, target), _places(lows, nontarget), middle)


def cell_starts(counts: Counts, most: int = CELLS) -> IntArray:
    """Return the first atom of each of at most `most` cells.

    Neighbours of one and the same class are put together first, which changes no measure. Cells between the ends hold
    about the same share of the scores, either class counting half.
    """
    target, nontarget = counts.target > 0, counts.nontarget > 0
    mixed = target & nontarget
    begins = mixed.copy()
    begins[1:] |= mixed[:-1] | (target[1:] != target[:-1])
    begins[0] = True
    starts = np.flatnonzero(begins)
    if len(starts) <= most:
        return starts
    share = counts.target / counts.n_target + counts.nontarget / counts.n_nontarget
    before = np.cumsum(share)[starts] - share[starts]
    ends = int(most * _END)
    first, last = ends, len(starts) - ends
    inner = (before[first:last] - before[first]) / (before[last] - before[first])
    cell = np.minimum((inner * (most - 2 * ends)).astype(np.int64), most - 2 * ends - 1)
    changes = np.concatenate(([True], cell[1:] != cell[:-1]))
    return np.concatenate((starts[:first], starts[first:last][changes], starts[last:]))


def certain_runs(counts: Counts) -> IntArray:
    """Return where runs of cells begin that PAV pools whatever scores are left out.

    A cell of targets alone has at least the share of targets of any other, and one of non-targets alone has none. So a
    cell is always pooled with the one before it where that holds nothing but targets, or this one nothing but
    non-targets; fewer scores may empty a cell, but change neither.

    Examples
    --------
    >>> certain_runs(Counts(np.array([0, 2, 1, 0, 1]), np.array([3, 0, 1, 2, 0]))).tolist()
    [0, 1, 4]
    """
    begins = np.ones(len(counts.target), dtype=bool)
    begins[1:] = (counts.nontarget[:-1] > 0) & (counts.target[1:] > 0)
    return np.flatnonzero(begins)


def _places(lows: FloatArray, scores: FloatArray) -> CellArray:
    """The last of the ascending `lows` that does not lie above each score."""
    if len(scores) < _BUCKETED_FROM:
        return (searchsorted_in_threads(lows, scores, "right") - 1).astype(np.uint16)
    # Even buckets over the range are found by one product. Rounding cannot put a score into a lower bucket than a
    # smaller one, so where no cell begins in its bucket, as is so for most, that bucket alone gives the cell.
    low, high = np.float64(lows[0]), np.float64(scores.max())
    with np.errstate(over="ignore", divide="ignore"):
        scale = (_BUCKETS - 1) / (high - low)
    if not (np.isfinite(low) and 0.0 < scale < np.inf):
        return (searchsorted_in_threads(lows, scores, "right") - 1).astype(np.uint16)
    begin = np.bincount(((lows - low) * scale).astype(np.int64), minlength=_BUCKETS)
    last = (np.cumsum(begin) - 1).astype(np.uint16)
    begins = begin > 0
    places = np.empty(len(scores), dtype=np.uint16)
    unsure = []
    for start in range(0, len(scores), _BLOCK):
        part = scores[start : start + _BLOCK] - low
        part *= scale
        bucket = part.astype(np.int64)
        last.take(bucket, out=places[start : start + len(bucket)])
        unsure.append(np.flatnonzero(begins.take(bucket)) + start)
    rest = np.concatenate(unsure)
    places[rest] = searchsorted_in_threads(lows, scores[rest], "right") - 1
    return places

"""Oracle calibration by pooling adjacent violators, on counts.

Every one-to-one measure except actual Cllr is a function of how many targets and non-targets lie at and between the
distinct scores of the smaller class. `count` finds these numbers with one sort per class and one search; the rest of
the package works on them. Equal scores are one atom and so always share one log-likelihood ratio (LLR).

References: Ayer et al. 1955; Zadrozny & Elkan 2002; Brümmer & du Preez 2006 (PAV as the optimal calibration).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from zeroevidence._typing import CountArray, FloatArray, IntArray
from zeroevidence.parallel import compute_beside

_THREADED_FROM = 1 << 15  # values to search
_ROUNDS = 30  # of pooling before scipy is asked, which is slow to import; most lists need about ten


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Targets and non-targets per atom, in ascending order of score.

    An atom is one distinct score of the smaller class with what of the larger class equals it, or scores of one class
    with none of the other between them. No atom is empty. Weighted counts of replicates are whole numbers in
    floating point.
    """

    target: CountArray
    nontarget: CountArray

    @property
    def n_target(self) -> int:
        """Number of target scores."""
        return int(self.target.sum())

    @property
    def n_nontarget(self) -> int:
        """Number of non-target scores."""
        return int(self.nontarget.sum())


@dataclass(frozen=True, slots=True, eq=False)
class RankedScores:
    """Both classes sorted, and their counts."""

    target: FloatArray
    nontarget: FloatArray
    counts: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Pooled blocks in ascending order of score: what they hold and the LLR they get (natural log, may be infinite)."""

    target: CountArray
    nontarget: CountArray
    llr: FloatArray


def rank(target: FloatArray, nontarget: FloatArray) -> RankedScores:
    """Sort both classes once and count."""
    dtype = np.result_type(target, nontarget)
    tar, non = np.array(target, dtype=dtype), np.array(nontarget, dtype=dtype)
    tar.sort()
    non.sort()
    if len(tar) <= len(non):
        few, many = _interleave(tar, non)
        return RankedScores(tar, non, _without_empty(few, many))
    few, many = _interleave(non, tar)
    return RankedScores(tar, non, _without_empty(many, few))


def count(target: FloatArray, nontarget: FloatArray) -> Counts:
    """Targets and non-targets at and between the distinct scores of the smaller class."""
    return rank(target, nontarget).counts


def _interleave(few: FloatArray, many: FloatArray) -> tuple[IntArray, IntArray]:
    """Counts of two sorted classes in the atoms gap, value, gap, value, ..., gap."""
    changes = few[1:] != few[:-1]
    first = np.arange(len(few)) if changes.all() else np.concatenate(([0], np.flatnonzero(changes) + 1))
    values = few if len(first) == len(few) else few[first]
    left = searchsorted_in_threads(many, values)
    right = left
    # A second search costs as much as the first, so it is made only where something is tied.
    tied = np.flatnonzero(many[np.minimum(left, len(many) - 1)] == values)
    tied = tied[left[tied] < len(many)]
    if not len(tied):
        return _runs(first, left, len(few), len(many))
    right = left.copy()
    right[tied] = np.searchsorted(many, values[tied], "right")
    few_counts = np.zeros(2 * len(values) + 1, dtype=np.int64)
    many_counts = np.empty_like(few_counts)
    few_counts[1::2] = np.diff(first, append=len(few))
    many_counts[1::2] = right - left
    many_counts[0:-1:2] = left
    many_counts[2::2] = -right
    many_counts[-1] += len(many)
    many_counts[2:-1:2] += left[1:]
    many_counts[0] = left[0]
    return few_counts, many_counts


def _runs(first: IntArray, left: IntArray, n_few: int, n_many: int) -> tuple[IntArray, IntArray]:
    """The same where nothing is tied: neighbours of the smaller class with nothing between them are one atom."""
    gap = left[1:] - left[:-1]
    after_gap = np.flatnonzero(gap)
    starts = np.concatenate(([0], first[after_gap + 1], [n_few]))
    few_counts = np.zeros(2 * len(starts) - 1, dtype=np.int64)
    many_counts = np.zeros_like(few_counts)
    np.subtract(starts[1:], starts[:-1], out=few_counts[1::2])
    many_counts[0] = left[0]
    many_counts[2:-1:2] = gap[after_gap]
    many_counts[-1] = n_many - left[-1]
    # only the outermost gaps can be empty
    inside = slice(int(many_counts[0] == 0), len(few_counts) - int(many_counts[-1] == 0))
    return few_counts[inside], many_counts[inside]


def searchsorted_in_threads(many: FloatArray, values: FloatArray, side: Literal["left", "right"] = "left") -> IntArray:
    """Return `np.searchsorted(many, values, side)`, in two threads for many values since it waits for memory."""
    if len(values) < _THREADED_FROM:
        return np.searchsorted(many, values, side)
    halves = np.array_split(values, 2)
    return np.concatenate(compute_beside(*(partial(np.searchsorted, many, half, side) for half in halves)))


def _without_empty(target: IntArray, nontarget: IntArray) -> Counts:
    keep = (target + nontarget) > 0
    if keep.all():
        return Counts(target, nontarget)
    return Counts(target[keep], nontarget[keep])


def pool(counts: Counts, runs: IntArray | None = None) -> Blocks:
    """Pool adjacent violators: LLR = logit(share of targets in the block) - ln(n_target / n_nontarget).

    The first and last block may be pure; their LLR is infinite and stays so.

    Parameters
    ----------
    counts
        Targets and non-targets per atom; atoms may be empty where `runs` are given.
    runs
        Where runs of atoms begin of which it is known that they are pooled; each atom is one unless given.
    """
    tar, non = _ends(counts.target), _ends(counts.nontarget)
    n_target, n_nontarget = int(tar[-1]), int(non[-1])
    if runs is not None:
        keep = np.append(runs, len(tar) - 1)
        tar, non = tar[keep], non[keep]
        both = tar + non
        keep = np.append(0, np.flatnonzero(both[1:] != both[:-1]) + 1)
        tar, non = tar[keep], non[keep]
    tar, non = _pooled(tar, non)
    target, nontarget = tar[1:] - tar[:-1], non[1:] - non[:-1]
    return Blocks(target, nontarget, llr_of_counts(target, nontarget, n_target, n_nontarget))


def pool_laplace(blocks: Blocks) -> Blocks:
    """The same with Laplace's rule: one target and one non-target added below, and one of each above, all scores.

    The added scores take part in the pooling and are then dropped; the prior stays that of the real scores. Pooling
    the blocks of `pool` again gives what pooling all scores with the four added ones would: more scores at the
    ends can only merge blocks, never split one.
    """
    target = np.concatenate(([1, 0], blocks.target, [1, 0]))
    nontarget = np.concatenate(([0, 1], blocks.nontarget, [0, 1]))
    both = _ends(target + nontarget)
    tar, non = _pooled(_ends(target), _ends(nontarget))
    starts = np.searchsorted(both, tar[:-1] + non[:-1])  # no block is empty
    target, nontarget = tar[1:] - tar[:-1], non[1:] - non[:-1]
    llr = llr_of_counts(target, nontarget, int(blocks.target.sum()), int(blocks.nontarget.sum()))
    # The blocks that the added scores ended up in lose them again, and those that held nothing else are dropped.
    last = len(blocks.target) + 2
    of_target = np.searchsorted(starts, (0, last), "right") - 1
    of_nontarget = np.searchsorted(starts, (1, last + 1), "right") - 1
    for block in of_target:
        target[block] -= 1
    for block in of_nontarget:
        nontarget[block] -= 1
    keep = (target + nontarget) > 0
    return Blocks(target[keep], nontarget[keep], llr[keep])


def llr_of_counts(target: CountArray, nontarget: CountArray, n_target: int, n_nontarget: int) -> FloatArray:
    """ln((target / nontarget) / (n_target / n_nontarget)), exactly 0 where the two ratios are equal."""
    # Products before the quotient: equal ratios give equal products, whose rounding is equal too.
    with np.errstate(divide="ignore"):
        return np.log(target * float(n_nontarget) / (nontarget * float(n_target)))


def _pooled(tar: CountArray, non: CountArray) -> tuple[CountArray, CountArray]:
    """Pool blocks, equal neighbours too, given the sums of counts before each block and of all."""
    rounds = 0
    while True:
        in_tar, in_non = tar[1:] - tar[:-1], non[1:] - non[:-1]
        # Counts are not rounded: blocks whose shares are equal as fractions are one block.
        rises = (in_tar[1:] * in_non[:-1] > in_tar[:-1] * in_non[1:]).nonzero()[0]
        if len(rises) == len(in_tar) - 1:
            return tar, non
        # Whatever does not rise ends up in one block, however much of it there is in a row.
        keep = np.empty(len(rises) + 2, dtype=np.int64)
        keep[0], keep[-1] = 0, len(in_tar)
        np.add(rises, 1, out=keep[1:-1])
        tar, non = tar[keep], non[keep]
        rounds += 1
        if rounds % _ROUNDS == 0:  # scores can be such that each round pools but two
            keep = np.append(_roughly_pooled(np.diff(tar), np.diff(non)), len(tar) - 1)
            tar, non = tar[keep], non[keep]


def _ends(counts: CountArray) -> CountArray:
    """Sums of the counts before each, and of all."""
    ends = np.empty(len(counts) + 1, dtype=counts.dtype)
    ends[0] = 0
    np.cumsum(counts, out=ends[1:])
    return ends


def _roughly_pooled(target: CountArray, nontarget: CountArray) -> IntArray:
    """The same by means that are rounded: blocks that should be one may be neighbours."""
    from scipy.optimize import isotonic_regression

    total = target + nontarget
    fit = isotonic_regression(target / total, weights=total.astype(np.float64))
    return fit.blocks[:-1].astype(np.int64)


def pav_llrs(target: FloatArray, nontarget: FloatArray, *, laplace: bool = False) -> tuple[FloatArray, FloatArray]:
    """The oracle LLR of each score, in the order given: targets, non-targets."""
    ranked = rank(target, nontarget)
    blocks = pool(ranked.counts)
    if laplace:
        # A block of only added scores is dropped, so the surviving ones still tile the real scores in order.
        blocks = pool_laplace(blocks)
    lows = block_lows(ranked, blocks)
    last = len(lows) - 1
    return tuple(  # type: ignore[return-value]
        blocks.llr[np.clip(np.searchsorted(lows, scores, "right") - 1, 0, last)]
        for scores in (np.asarray(target, lows.dtype), np.asarray(nontarget, lows.dtype))
    )


def block_lows(ranked: RankedScores, blocks: Blocks) -> FloatArray:
    """The lowest score in each block."""
    tar_before = np.cumsum(blocks.target) - blocks.target
    non_before = np.cumsum(blocks.nontarget) - blocks.nontarget
    lows = np.full(len(blocks.llr), np.inf, dtype=ranked.target.dtype)
    has = blocks.target > 0
    lows[has] = ranked.target[tar_before[has]]
    has = blocks.nontarget > 0
    lows[has] = np.minimum(lows[has], ranked.nontarget[non_before[has]])
    return lows

"""Share of mated pairs at each score by kernel smoothing of ranks: a likelihood ratio of any shape.

Scores become ranks in the balanced mixture of the two classes, where the mixture is uniform, so that one kernel width
suits all of the axis and the estimate does not change under increasing maps of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.cosines import from_cosines, to_cosines
from zeroevidence.calibrate.pav import Blocks, Counts, RankedScores, block_lows

FOLDS = 5
_CELLS = 1024
# Kernel widths in cells. The smallest still averages over a few scores; the largest sees one trend over all of them.
_WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


def rank_cells(counts: Counts) -> tuple[IntArray, IntArray]:
    """Counts on an even grid over the rank of a score in the balanced mixture of the two classes.

    On this axis the mixture is uniform, so one kernel width suits all of it, and the estimate does not change under
    increasing maps of the scores. An atom of both classes is kept whole; one of a single class covers its own stretch.
    """
    mass = 0.5 * counts.target / counts.n_target + 0.5 * counts.nontarget / counts.n_nontarget
    end = np.cumsum(mass)
    start = end - mass
    mixed = (counts.target > 0) & (counts.nontarget > 0)
    start[mixed] = end[mixed] = (start[mixed] + end[mixed]) / 2.0
    knots = np.column_stack((start, end)).ravel()
    edges = np.linspace(0.0, 1.0, _CELLS + 1)[1:-1]

    def on_grid(per_atom: IntArray) -> IntArray:
        after = np.cumsum(per_atom)
        at_knots = np.column_stack((after - per_atom, after)).ravel()
        inner = np.round(np.interp(edges, knots, at_knots)).astype(np.int64)
        return np.diff(inner, prepend=0, append=after[-1])

    return on_grid(counts.target), on_grid(counts.nontarget)


def atom_cells(counts: Counts) -> IntArray:
    """Return the cell in which the middle of each atom lies."""
    mass = 0.5 * counts.target / counts.n_target + 0.5 * counts.nontarget / counts.n_nontarget
    middle = np.cumsum(mass) - 0.5 * mass
    return np.minimum((middle * _CELLS).astype(np.int64), _CELLS - 1)


def split_folds(counts: IntArray, rng: np.random.Generator) -> IntArray:
    """Deal the scores of each cell to the folds at random; return counts, folds x cells."""
    return rng.multinomial(counts, np.full(FOLDS, 1.0 / FOLDS)).T


@cache
def _kernel(width: float) -> FloatArray:
    """A Gaussian kernel in the cosine domain, whose peak is 1 among the cells."""
    frequency = np.pi * np.arange(_CELLS) / _CELLS
    kernel: FloatArray = np.exp(-0.5 * (frequency * width) ** 2) * width * np.sqrt(2.0 * np.pi)
    return kernel


def mated_shares(counts: IntArray, widths: Sequence[float], omega: float) -> list[FloatArray]:
    """Share of mated pairs at each cell, from (class, ..., cell) counts smoothed by each kernel."""
    # A Gaussian kernel that is reflected at both ends is a product in the cosine domain.
    n_target, n_nontarget = (np.maximum(1.0, c.sum(axis=-1, keepdims=True)) for c in counts)
    spectrum = to_cosines(counts)
    spectrum[0] *= omega / n_target
    spectrum[1] /= n_nontarget
    # Kernels have a peak of 1, so that the smoothed counts are numbers of scores near the cell, and half a mated
    # score is added to each class.
    added = 0.5 / n_target
    shares = []
    for width in widths:
        near = from_cosines(spectrum * _kernel(width))
        mated, other = np.maximum(near, 0.0, out=near)
        mated += omega * added
        other += added
        other += mated
        shares.append(np.divide(mated, other, out=mated))
    return shares


def best_width(folds: IntArray, omega: float) -> tuple[float, FloatArray]:
    """Return the kernel width with the least held-out log-loss, from (class, fold, cell) counts, and its shares.

    Shares are held out too, shape (fold, cell): those of a fold come from the others.
    """
    training = folds.sum(axis=1, keepdims=True) - folds
    n_target, n_nontarget = folds.sum(axis=(1, 2))
    # Each score of the smaller class has a stretch of the axis to itself; a kernel that fits into it would learn
    # the labels from the spacing.
    widths = tuple(w for w in _WIDTHS if w * min(n_target, n_nontarget) >= _CELLS)
    if not training.sum(axis=-1).all() or not widths:
        widths = _WIDTHS[-1:]
    shares = mated_shares(training, widths, omega)
    if len(widths) == 1:
        return widths[0], shares[0]
    target, nontarget = folds.reshape(2, -1)
    mated, other = np.flatnonzero(target), np.flatnonzero(nontarget)
    losses = [
        -(np.log(share.take(mated)) @ target[mated]) * omega / n_target
        - np.log(1.0 - share.take(other)) @ nontarget[other] / n_nontarget
        for share in shares
    ]
    best = int(np.argmin(losses))
    return widths[best], shares[best]


def density_shares(ranked: RankedScores, *, omega: float = 1.0, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return scores from which on a share of mated pairs holds, and these shares, from all scores."""
    rng = np.random.default_rng(seed)
    counts = np.stack(rank_cells(ranked.counts))
    folds = np.stack([split_folds(per_class, rng) for per_class in counts])
    width, _ = best_width(folds, omega)
    share = mated_shares(counts, (width,), omega)[0]
    used = np.flatnonzero(counts.sum(axis=0))
    cells = Blocks(counts[0, used], counts[1, used], np.zeros(len(used)))
    return block_lows(ranked, cells), share[used]

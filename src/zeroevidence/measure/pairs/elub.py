"""Empirical lower and upper bound (ELUB) of log-likelihood ratios [Vergeer et al. 2016].

A likelihood ratio beyond what was seen is extrapolated. With one misleading score added to either class, deciding by a
threshold may cost no more than deciding without evidence; the bounds are the thresholds next to 0 at which it does.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import Blocks
from zeroevidence.errors import UsageError
from zeroevidence.measure.inputs import takes_scores
from zeroevidence.measure.measures import pair_measure
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.measure.views import PairView


@takes_scores
def elub(target: FloatArray, nontarget: FloatArray, *, step: float | None = None) -> tuple[float, float]:
    """Empirical lower and upper bound of LLRs (natural logarithm), exact unless a grid is asked for.

    Parameters
    ----------
    step
        The step of a grid to look along, in powers of ten, as other programs do (0.01); bounds are then the last points
        of the grid at which evidence pays.

    Examples
    --------
    >>> low, high = elub([2.0, 3.0, 4.0], [-4.0, -3.0, 0.5])
    >>> round(low, 3), round(high, 3)
    (-0.693, 0.405)
    """
    if step is not None:
        return _on_grid(np.sort(target) / LN10, np.sort(nontarget) / LN10, step)
    levels = np.unique(np.concatenate((target, nontarget)))
    missed, rejected = (np.searchsorted(np.sort(scores), levels, "right") for scores in (target, nontarget))
    return _bounds(levels, missed.astype(np.float64), rejected.astype(np.float64))


def elub_of(blocks: Blocks) -> tuple[float, float]:
    """The same after oracle calibration."""
    return _bounds(blocks.llr, np.cumsum(blocks.target), np.cumsum(blocks.nontarget))


def _bounds(levels: FloatArray, missed: FloatArray, rejected: FloatArray) -> tuple[float, float]:
    """From the distinct LLRs and how many scores of each class are not above them.

    Between two levels the rates are constant, and the cost goes one way in the threshold t: deciding without evidence
    costs 1 for t >= 0 and exp(t) below.
    """
    start, end = np.concatenate(([-np.inf], levels)), np.concatenate((levels, [np.inf]))
    miss = (np.concatenate(([0.0], missed)) + 1.0) / (missed[-1] + 1.0)
    correct = np.concatenate(([0.0], rejected)) / (rejected[-1] + 1.0)
    with np.errstate(divide="ignore"):
        dear_from = np.log(np.maximum(1.0 - miss, 0.0)) - np.log(1.0 - correct)
        dear_until = np.log(miss) - np.log(correct)
    above = np.maximum(np.maximum(start, dear_from), 0.0)
    below = np.minimum(np.minimum(end, dear_until), 0.0)
    # Above the last level everything is rejected, and below the first everything accepted, which never pays.
    return float(below[(below > start) | (start == -np.inf)].max()), float(above[(above < end) | (end == np.inf)].min())


def _on_grid(target: FloatArray, nontarget: FloatArray, step: float) -> tuple[float, float]:
    """From sorted powers of ten; no bound lies further out than the number of scores allows."""
    if not 0.0 < step < np.inf:
        raise UsageError(f"step: expected a positive number, got {step!r}")
    n_target, n_nontarget = len(target), len(nontarget)
    lowest = max(min(target[0], nontarget[0]), -np.log10(n_target + 1.0))
    highest = min(max(target[-1], nontarget[-1]), np.log10(n_nontarget + 1.0))
    first, last = min(0, int(lowest // step)), max(0, int(highest // step) + 1)
    grid = np.linspace(first * step, last * step, last - first + 1)
    miss = (np.searchsorted(target, grid, "right") + 1.0) / (n_target + 1.0)
    alarm = (n_nontarget - np.searchsorted(nontarget, grid, "right") + 1.0) / (n_nontarget + 1.0)
    dear = miss + 10.0**grid * alarm > np.where(grid < 0.0, 10.0**grid, 1.0)
    low = np.max(grid[dear & (grid <= 0.0)] + step, initial=grid[0])
    high = np.min(grid[dear & (grid >= 0.0)] - step, initial=grid[-1])
    return min(float(low), 0.0) * LN10, max(float(high), 0.0) * LN10


@pair_measure(
    "worst_case_supported",
    "supported worst case",
    unit="log10 LR",
    discloses="up",
    place=95,
    method="pav, empirical bounds",
    references=("vergeer2016",),
    meaning_of_attribute="The strongest evidence that this number of recordings supports, as a power of ten.",
)
def _worst_case_supported(view: PairView) -> float:
    """The strongest evidence that this number of comparisons supports, as a power of ten."""
    low, high = elub_of(view.blocks)
    return max(-low, high) / LN10


def _bound_of(view: PairView, which: int) -> float | None:
    """A bound of scores that are LLRs, in powers of ten."""
    if not view.settings.llr or not isinstance(view, ScoreView):
        return None
    return float(elub(view.ranked.target, view.ranked.nontarget)[which]) / LN10


@pair_measure(
    "elub_low",
    "ELUB, lower",
    unit="log10 LR",
    limits=(-np.inf, 0.0),
    discloses="none",
    place=98,
    references=("vergeer2016",),
)
def _elub_low(view: PairView) -> float | None:
    """The strongest LLR against the same speaker that the data support, as a power of ten; for LLRs only."""
    return _bound_of(view, 0)


@pair_measure("elub_high", "ELUB, upper", unit="log10 LR", discloses="none", place=99, references=("vergeer2016",))
def _elub_high(view: PairView) -> float | None:
    """The strongest LLR for the same speaker that the data support, as a power of ten; for LLRs only."""
    return _bound_of(view, 1)

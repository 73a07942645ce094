r"""Invariance bounds of log-likelihood ratios [Alberink et al. 2025].

The likelihood ratio of "the LLR is at least t" is at least exp(t) for calibrated LLRs, and that of "it is below t" at
most exp(t). With half a score added to each side of t in either class (Jeffreys' prior), the bounds are where the data
first stop to show it.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.measure.inputs import takes_scores
from zeroevidence.measure.measures import pair_measure
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.measure.views import PairView

_ADDED = 0.5  # scores above and below a threshold


@takes_scores
def invariance_bounds(target: FloatArray, nontarget: FloatArray) -> tuple[float, float]:
    """Lower and upper invariance bound of LLRs (natural logarithm), exact.

    Examples
    --------
    >>> low, high = invariance_bounds([2.0, 3.0, 4.0], [-4.0, -3.0, 0.5])
    >>> round(low, 3), round(high, 3)
    (-1.609, 1.946)
    """
    levels = np.unique(np.concatenate((target, nontarget, [0.0])))
    # of each stretch from one level (not included) to the next (included)
    above, alarms = (len(scores) - np.searchsorted(np.sort(scores), levels) for scores in (target, nontarget))
    start = np.concatenate((levels[:1], levels[:-1]))
    shows = np.log((above + _ADDED) / (len(target) + 2.0 * _ADDED)) - np.log(
        (alarms + _ADDED) / (len(nontarget) + 2.0 * _ADDED)
    )
    denies = np.log((len(target) - above + _ADDED) / (len(target) + 2.0 * _ADDED)) - np.log(
        (len(nontarget) - alarms + _ADDED) / (len(nontarget) + 2.0 * _ADDED)
    )
    fails_above = np.maximum(start, shows)
    fails_below = np.minimum(levels, denies)
    first, last = fails_above[fails_above < levels], fails_below[fails_below > start]
    high = float(first.min()) if len(first) else float(target.max())
    low = float(last.max()) if len(last) else float(nontarget.min())
    return min(low, 0.0), max(high, 0.0)


def _bound_of(view: PairView, which: int) -> float | None:
    """A bound of scores that are LLRs, in powers of ten."""
    if not view.settings.llr or not isinstance(view, ScoreView):
        return None
    return float(invariance_bounds(view.ranked.target, view.ranked.nontarget)[which]) / LN10


@pair_measure(
    "invariance_low",
    "invariance bound, lower",
    unit="log10 LR",
    limits=(-np.inf, 0.0),
    discloses="none",
    place=101,
    references=("alberink2025",),
)
def _invariance_low(view: PairView) -> float | None:
    """The strongest LLR against the same speaker that behaves as an LLR in these data, as a power of ten."""
    return _bound_of(view, 0)


@pair_measure(
    "invariance_high",
    "invariance bound, upper",
    unit="log10 LR",
    discloses="none",
    place=102,
    references=("alberink2025",),
)
def _invariance_high(view: PairView) -> float | None:
    """The strongest LLR for the same speaker that behaves as an LLR in these data, as a power of ten."""
    return _bound_of(view, 1)

"""devPAV: mean deviation of LLRs from their PAV calibration [Vergeer et al. 2021].

In the plane of LLRs before (x) and after (y) pooling adjacent violators, calibrated LLRs lie on the diagonal. devPAV is
the area between the diagonal and the line through the points, divided by the range of x.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import Blocks, RankedScores, block_lows, pool, rank
from zeroevidence.measure.inputs import takes_scores
from zeroevidence.measure.measures import pair_measure
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.measure.views import PairView


@takes_scores
def devpav(target: FloatArray, nontarget: FloatArray) -> float:
    """Mean distance of LLRs (natural logarithm) from calibrated ones, in powers of ten.

    NaN where PAV gives infinite LLRs only, as where the classes do not overlap; infinite where an infinite LLR became a
    finite one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> target, nontarget = rng.normal(2.0, 2.0, 500), rng.normal(-2.0, 2.0, 500)  # calibrated by construction
    >>> devpav(target, nontarget) < devpav(2.0 * target, 2.0 * nontarget)
    True
    """
    ranked = rank(target, nontarget)
    return devpav_of(ranked, pool(ranked.counts))


def devpav_of(ranked: RankedScores, blocks: Blocks) -> float:
    """The same from sorted LLRs and their blocks."""
    before = np.unique(np.concatenate((ranked.target, ranked.nontarget))).astype(np.float64)
    after = blocks.llr[np.searchsorted(block_lows(ranked, blocks), before, "right") - 1]
    finite = np.isfinite(after)
    before, after = before[finite] / LN10, after[finite] / LN10
    if not len(before):
        return float("nan")
    if not np.isfinite(before).all():
        return float("inf")
    off = after - before
    if len(before) == 1:
        return float(abs(off[0]))
    left, right, width = off[:-1], off[1:], np.diff(before)
    both = np.abs(left) + np.abs(right)
    crossing = (left * right < 0.0).nonzero()[0]
    area = width * both / 2.0
    # where the line crosses the diagonal, two triangles are left of it
    area[crossing] = (width * (left**2 + right**2) / (2.0 * np.where(both > 0.0, both, 1.0)))[crossing]
    return float(area.sum() / (before[-1] - before[0]))


@pair_measure(
    "devpav", "devPAV", unit="log10 LR", discloses="none", place=97, method="pav", references=("vergeer2021",)
)
def _devpav(view: PairView) -> float | None:
    """Mean deviation of LLRs from calibrated ones, as a power of ten; for LLRs only."""
    if not view.settings.llr or not isinstance(view, ScoreView):
        return None
    deviation = devpav_of(view.ranked, view.blocks)
    return None if np.isnan(deviation) else deviation

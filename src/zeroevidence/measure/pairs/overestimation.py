"""LLR overestimation: how far LLRs are from the ratio of their own densities, as the package lir defines it.

The density of the LLRs of either class is estimated by Gaussian kernels. For calibrated LLRs their ratio at an LLR is
that LLR; the logarithm of what is said less that of what is observed is the overestimation.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.measure.inputs import takes_scores
from zeroevidence.measure.measures import pair_measure
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.measure.views import PairView

POINTS = 100  # of the grid
_TAIL = 0.001  # share of either class beyond each end of the grid
_QUARTILES = 1.3489795003921634  # between the quartiles of a normal distribution of deviation 1
_COUNTED_FROM = 100_000  # scores that are counted in bins
_BINS = 50  # within a bandwidth
_AT_ONCE = 1 << 14


@takes_scores
def llr_overestimation(target: FloatArray, nontarget: FloatArray) -> float:
    """Mean size of the overestimation of LLRs (natural logarithm) where both classes occur, in powers of ten.

    NaN where the classes do not overlap, or too few or only equal LLRs of one of them lie where both occur.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> target, nontarget = rng.normal(2.0, 2.0, 500), rng.normal(-2.0, 2.0, 500)  # calibrated by construction
    >>> llr_overestimation(target, nontarget) < llr_overestimation(2.0 * target, 2.0 * nontarget)
    True
    """
    grid, over = overestimation_curve(target, nontarget)
    return float(np.abs(over).mean()) if len(grid) else float("nan")


def overestimation_curve(target: FloatArray, nontarget: FloatArray) -> tuple[FloatArray, FloatArray]:
    """LLRs on an even grid and the overestimation at each, in powers of ten; empty where there is none."""
    classes = [np.sort(scores).astype(np.float64) / LN10 for scores in (target, nontarget)]
    nothing: tuple[FloatArray, FloatArray] = np.empty(0), np.empty(0)
    with np.errstate(invalid="ignore"):  # between infinite LLRs
        ends = np.array([np.quantile(llrs, (_TAIL, 1.0 - _TAIL), method="hazen") for llrs in classes])
    low, high = ends[:, 0].max(), ends[:, 1].min()
    if not (np.isfinite([low, high]).all() and low < high):
        return nothing
    grid = np.linspace(low, high, POINTS)
    widths = [_bandwidth(llrs[(llrs >= low) & (llrs <= high)]) for llrs in classes]
    if not all(widths):
        return nothing
    mated, other = (_log_density(llrs, grid, width) for llrs, width in zip(classes, widths, strict=True))
    return grid, grid - (mated - other) / LN10


def _bandwidth(llrs: FloatArray) -> float:
    """Silverman's rule; 0 where there is no spread."""
    if len(llrs) < 2:
        return 0.0
    quartiles = np.percentile(llrs, (25.0, 75.0))
    spread = min(float(llrs.std(ddof=1)), float(quartiles[1] - quartiles[0]) / _QUARTILES)
    return float(spread * (0.75 * len(llrs)) ** -0.2)


def _log_density(llrs: FloatArray, grid: FloatArray, width: float) -> FloatArray:
    """Logarithm of the density at each point of the grid; infinite LLRs are nowhere, but count."""
    finite, weights = llrs[np.isfinite(llrs)], None
    if len(finite) > _COUNTED_FROM:
        bins = np.floor(finite * (_BINS / width))
        values, counts = np.unique(bins, return_counts=True)
        finite, weights = (values + 0.5) * (width / _BINS), counts.astype(np.float64)
    density = np.zeros(len(grid))
    for start in range(0, len(finite), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        kernels = np.exp(-0.5 * ((grid[:, None] - finite[part]) / width) ** 2)
        density += kernels.sum(axis=1) if weights is None else (kernels * weights[part]).sum(axis=1)
    with np.errstate(divide="ignore"):
        return np.log(density / (len(llrs) * width))


@pair_measure(
    "llr_overestimation",
    "LLR overestimation",
    unit="log10 LR",
    discloses="none",
    place=103,
    method="Gaussian kernels",
    references=("lir2025",),
)
def _llr_overestimation(view: PairView) -> float | None:
    """Mean distance of LLRs from the ratio of their densities, as a power of ten; for LLRs only."""
    if not view.settings.llr or not isinstance(view, ScoreView):
        return None
    mean = llr_overestimation(view.ranked.target, view.ranked.nontarget)
    return mean if np.isfinite(mean) else None

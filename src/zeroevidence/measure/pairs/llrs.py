"""How far log-likelihood ratios can be believed: misleading ones, devPAV, overestimation, and bounds of their size.

LLRs are natural logarithms, as everywhere; distances and bounds are in powers of ten, as forensic tables have them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import block_lows, pool, rank
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import pair_measure
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.measure.views import PairView, takes_scores

POINTS = 100  # of the grid of LLRs on which overestimation is measured
_TAIL = 0.001  # share of either class beyond each end of the grid
_QUARTILES = 1.3489795003921634  # between the quartiles of a normal distribution of deviation 1
_COUNTED_FROM = 100_000  # scores that are counted in bins
_BINS = 50  # within a bandwidth
_AT_ONCE = 1 << 14
_ADDED = 0.5  # scores above and below a threshold, for invariance bounds

_llr_measure = partial(pair_measure, unit="log10 LR", discloses="none")
_misleading_measure = partial(pair_measure, unit="rate", discloses="none", references=("vergeer2021",))


@takes_scores
def misleading_evidence(target: FloatArray, nontarget: FloatArray) -> tuple[float, float]:
    """Share of targets whose LLR is below 0, and share of non-targets whose LLR is above 0.

    An LLR of exactly 0 says nothing and misleads nobody.

    Examples
    --------
    >>> misleading_evidence([2.0, 3.0, 0.0, -0.5], [-4.0, -3.0])
    (0.25, 0.0)
    """
    return float(np.mean(target < 0.0)), float(np.mean(nontarget > 0.0))


@_misleading_measure(
    "misleading_target",
    "misleading, same source",
    place=104,
    meaning_of_attribute="Share of the class whose LLR speaks against it; for LLRs only.",
)
def _misleading_target(view: PairView) -> float | None:
    """Share of pairs of the same source whose LR is below 1; for LLRs only."""
    return None if view.llrs is None else misleading_evidence.unchecked(*view.llrs)[0]


@_misleading_measure(
    "misleading_nontarget",
    "misleading, different source",
    place=105,
    meaning_of_attribute="Share of the other class whose LLR speaks for the class; for LLRs only.",
)
def _misleading_nontarget(view: PairView) -> float | None:
    """Share of pairs of different sources whose LR is above 1; for LLRs only."""
    return None if view.llrs is None else misleading_evidence.unchecked(*view.llrs)[1]


@takes_scores
def devpav(target: FloatArray, nontarget: FloatArray) -> float:
    """Mean distance of LLRs (natural logarithm) from calibrated ones, in powers of ten [Vergeer et al. 2021].

    In the plane of LLRs before (x) and after (y) pooling adjacent violators, calibrated LLRs lie on the diagonal.
    devPAV is the area between the diagonal and the line through the points, divided by the range of x.

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
    blocks = pool(ranked.counts)
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


@_llr_measure("devpav", "devPAV", place=97, method="pav", references=("vergeer2021",))
def _devpav(view: PairView) -> float | None:
    """Mean deviation of LLRs from calibrated ones, as a power of ten; for LLRs only."""
    deviation = None if view.llrs is None else devpav.unchecked(*view.llrs)
    return None if deviation is None or np.isnan(deviation) else deviation


@takes_scores
def llr_overestimation(target: FloatArray, nontarget: FloatArray) -> float:
    """Mean size of the overestimation of LLRs (natural logarithm) where both classes occur, in powers of ten.

    The density of the LLRs of either class is estimated by Gaussian kernels. For calibrated LLRs their ratio at an LLR
    is that LLR; the logarithm of what is said less that of what is observed is the overestimation.

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
    from scipy.special import logsumexp  # slow to import

    finite, weights = llrs[np.isfinite(llrs)], None
    if len(finite) > _COUNTED_FROM:
        bins = np.floor(finite * (_BINS / width))
        values, counts = np.unique(bins, return_counts=True)
        finite, weights = (values + 0.5) * (width / _BINS), counts.astype(np.float64)
    log_sum = np.full(len(grid), -np.inf)  # far from all LLRs the sum itself would be 0
    for start in range(0, len(finite), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        exponents = -0.5 * ((grid[:, None] - finite[part]) / width) ** 2
        log_sum = np.logaddexp(log_sum, logsumexp(exponents, axis=1, b=None if weights is None else weights[part]))
    return np.asarray(log_sum - np.log(len(llrs) * width))


@_llr_measure("llr_overestimation", "LLR overestimation", place=103, method="Gaussian kernels", references=("lir2025",))
def _llr_overestimation(view: PairView) -> float | None:
    """Mean distance of LLRs from the ratio of their densities, as a power of ten; for LLRs only."""
    mean = None if view.llrs is None else llr_overestimation.unchecked(*view.llrs)
    return mean if mean is not None and np.isfinite(mean) else None


@takes_scores
def elub(target: FloatArray, nontarget: FloatArray, *, step: float | None = None) -> tuple[float, float]:
    """Empirical lower and upper bound of LLRs (natural logarithm) in powers of ten, exact unless a grid is asked for.

    A likelihood ratio beyond what was seen is extrapolated. With one misleading score added to either class, deciding
    by a threshold may cost no more than deciding without evidence; the bounds are the thresholds next to 0 at which it
    does.

    Parameters
    ----------
    step
        The step of a grid to look along, in powers of ten, as other programs do (0.01); bounds are then the last points
        of the grid at which evidence pays.

    Examples
    --------
    >>> low, high = elub([2.0, 3.0, 4.0], [-4.0, -3.0, 0.5])
    >>> round(10.0**low, 3), round(10.0**high, 3)
    (0.5, 1.5)
    """
    if step is not None:
        return _on_grid(np.sort(target) / LN10, np.sort(nontarget) / LN10, step)
    levels = np.unique(np.concatenate((target, nontarget)))
    missed, rejected = (np.searchsorted(np.sort(scores), levels, "right") for scores in (target, nontarget))
    return _bounds(levels, missed.astype(np.float64), rejected.astype(np.float64))


def _bounds(levels: FloatArray, missed: FloatArray, rejected: FloatArray) -> tuple[float, float]:
    """Return powers of ten, from the distinct LLRs and how many scores of each class are not above them.

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
    low, high = below[(below > start) | (start == -np.inf)].max(), above[(above < end) | (end == np.inf)].min()
    return float(low) / LN10, float(high) / LN10


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
    return min(float(low), 0.0), max(float(high), 0.0)


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
    blocks = view.blocks  # ELUB after oracle calibration
    low, high = _bounds(blocks.llr, np.cumsum(blocks.target), np.cumsum(blocks.nontarget))
    return max(-low, high)


def _bound(view: PairView, bounds: Callable[..., tuple[float, float]], which: int) -> float | None:
    """A bound of LLRs, in powers of ten."""
    return None if view.llrs is None else float(bounds(*view.llrs)[which])


@_llr_measure("elub_low", "ELUB, lower", limits=(-np.inf, 0.0), place=98, references=("vergeer2016",))
def _elub_low(view: PairView) -> float | None:
    """The strongest LLR against the same speaker that the data support, as a power of ten; for LLRs only."""
    return _bound(view, elub.unchecked, 0)


@_llr_measure("elub_high", "ELUB, upper", place=99, references=("vergeer2016",))
def _elub_high(view: PairView) -> float | None:
    """The strongest LLR for the same speaker that the data support, as a power of ten; for LLRs only."""
    return _bound(view, elub.unchecked, 1)


@takes_scores
def invariance_bounds(target: FloatArray, nontarget: FloatArray) -> tuple[float, float]:
    """Lower and upper invariance bound of LLRs (natural logarithm) in powers of ten, exact [Alberink et al. 2025].

    The likelihood ratio of "the LLR is at least t" is at least exp(t) for calibrated LLRs, and that of "it is below t"
    at most exp(t). With half a score added to each side of t in either class (Jeffreys' prior), the bounds are where
    the data first stop to show it.

    Examples
    --------
    >>> low, high = invariance_bounds([2.0, 3.0, 4.0], [-4.0, -3.0, 0.5])
    >>> round(10.0**low, 3), round(10.0**high, 3)
    (0.2, 7.0)
    """
    levels = np.unique(np.concatenate((target, nontarget, [0.0])))
    # of each stretch from one level (not included) to the next (included)
    above, alarms = (len(scores) - np.searchsorted(np.sort(scores), levels) for scores in (target, nontarget))
    start = np.concatenate((levels[:1], levels[:-1]))

    def log_share(count: Any, of_class: FloatArray) -> Any:
        return np.log((count + _ADDED) / (len(of_class) + 2.0 * _ADDED))

    shows = log_share(above, target) - log_share(alarms, nontarget)
    denies = log_share(len(target) - above, target) - log_share(len(nontarget) - alarms, nontarget)
    fails_above = np.maximum(start, shows)
    fails_below = np.minimum(levels, denies)
    first, last = fails_above[fails_above < levels], fails_below[fails_below > start]
    high = float(first.min()) if len(first) else float(target.max())
    low = float(last.max()) if len(last) else float(nontarget.min())
    return min(low, 0.0) / LN10, max(high, 0.0) / LN10


@_llr_measure(
    "invariance_low", "invariance bound, lower", limits=(-np.inf, 0.0), place=101, references=("alberink2025",)
)
def _invariance_low(view: PairView) -> float | None:
    """The strongest LLR against the same speaker that behaves as an LLR in these data, as a power of ten."""
    return _bound(view, invariance_bounds.unchecked, 0)


@_llr_measure("invariance_high", "invariance bound, upper", place=102, references=("alberink2025",))
def _invariance_high(view: PairView) -> float | None:
    """The strongest LLR for the same speaker that behaves as an LLR in these data, as a power of ten."""
    return _bound(view, invariance_bounds.unchecked, 1)

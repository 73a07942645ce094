"""Calibration of pairs: by logistic regression, or by kernel smoothing of ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Blocks, Counts, RankedScores, block_lows
from zeroevidence.errors import InputError

_MAX_STEPS = 100
_FLAT = 1e-6  # curvature of standardised scores
_CHUNK = 1 << 13  # scores that stay in the cache, and too few for threads of BLAS, which cost more than they save
_EXACT_BELOW = 1 << 20
_BINS_PER_UNIT = 4096.0  # of the standardised scores, for more scores than that
_INSIDE = 16.0  # standardised scores up to here are binned
_BINS = int(2 * _INSIDE * _BINS_PER_UNIT)
_ROUNDING = 1e-9  # of a mean, in deviations
_FORESEEN = 1e-6  # of the largest value

Points: TypeAlias = tuple[FloatArray, FloatArray | None]  # values, and how many scores each stands for; None: one each
FOLDS = 5
_CELLS = 1024
# Kernel widths in cells. The smallest still averages over a few scores; the largest sees one trend over all of them.
_WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Posterior log-odds are ``weight * score + bias`` at the class proportions of the training scores."""

    weight: float
    bias: float
    prior_log_odds: float
    separable: bool = False

    def llr(self, scores: FloatArray) -> FloatArray:
        """Log-likelihood ratio: the prior log-odds of the training scores are taken out again."""
        return self.weight * scores + (self.bias - self.prior_log_odds)


def fit_logistic(
    target: FloatArray,
    nontarget: FloatArray,
    *,
    l2: float = 0.0,
    balanced: bool = False,
    start: LogisticFit | None = None,
) -> LogisticFit:
    """Maximum-likelihood weight and bias [Brümmer & du Preez 2006; Platt 1999].

    Maximum likelihood by Newton's method on sums over the scores; plain unless a penalty or balanced classes are asked
    for.

    Where the classes do not overlap the likelihood has no maximum (the weight would grow without end). Then the
    labels are softened as by Platt (1999), to (n_target + 1) / (n_target + 2) and 1 / (n_nontarget + 2), which has a
    finite, unique solution, and the result is marked `separable`. Scores that are all equal get weight 0.

    Parameters
    ----------
    target
        Target scores.
    nontarget
        Non-target scores.
    l2
        Adds ``l2 * weight**2 / 2`` to the summed loss; with 1.0 this is the default of scikit-learn.
    balanced
        Weigh the classes so that both count half; the prior log-odds of the result are then 0.
    start
        A similar fit, to begin with; where its labels were softened, so are these.
    """
    for name, scores in (("target", target), ("nontarget", nontarget)):
        if not np.isfinite([scores.min(), scores.max()]).all():
            raise InputError(f"{name}: logistic calibration needs finite scores")
    low, high = min(target.min(), nontarget.min()), max(target.max(), nontarget.max())
    if low == high:
        prior_log_odds = 0.0 if balanced else float(np.log(len(target) / len(nontarget)))
        return LogisticFit(0.0, prior_log_odds, prior_log_odds)
    apart = bool(target.min() >= nontarget.max() or target.max() <= nontarget.min())
    separable = l2 == 0.0 and (apart or (start is not None and start.separable))

    # Newton's method is done on standardised scores, where both parameters are of the same size.
    n = len(target) + len(nontarget)
    centre = float(target.sum(dtype=np.float64) + nontarget.sum(dtype=np.float64)) / n
    spread = float(np.sqrt(sum(_sum_squares(scores, centre) for scores in (target, nontarget)) / n))
    points = [_points(scores, centre, spread) for scores in (target, nontarget)]
    near = None
    if start is not None and start.separable == separable:
        near = np.array([start.weight * spread, start.bias + start.weight * centre])
    fit = fit_points(*points, l2=l2 / spread**2, balanced=balanced, separable=separable, start=near)
    return replace(fit, weight=fit.weight / spread, bias=fit.bias - fit.weight * centre / spread)


def fit_points(
    target: Points, nontarget: Points, *, l2: float, balanced: bool, separable: bool, start: FloatArray | None = None
) -> LogisticFit:
    """`fit_logistic` of points that stand for several scores each, of moderate size; labels of `separable` are soft."""
    sizes = [float(len(values) if counts is None else counts.sum()) for values, counts in (target, nontarget)]
    weights = [sum(sizes) / (2.0 * size) if balanced else 1.0 for size in sizes]
    prior_log_odds = float(np.log(weights[0] * sizes[0] / (weights[1] * sizes[1])))
    labels = ((sizes[0] + 1.0) / (sizes[0] + 2.0), 1.0 / (sizes[1] + 2.0)) if separable else (1.0, 0.0)
    classes = list(zip((target, nontarget), weights, labels, strict=True))

    def loss_and_slopes(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss = 0.5 * l2 * float(theta[0]) ** 2
        gradient, curvature = np.array([l2 * theta[0], 0.0]), np.diag([l2, 0.0])
        for (values, counts), weight, label in classes:
            part = _statistics(values, counts, theta, label)
            loss += weight * part[0]
            gradient += weight * part[1]
            curvature += weight * part[2]
        return loss, gradient, curvature

    weight, bias = newton(loss_and_slopes, np.array([0.0, prior_log_odds]), start)
    return LogisticFit(float(weight), float(bias), prior_log_odds, separable)


class PooledLogistic:
    """Logistic fits of the same scores, of both classes together, with other targets among them.

    As long as both classes count alike, the likelihood depends on the targets through their number and mean alone.

    Examples
    --------
    >>> scores, mean = np.array([3.0, 0.0, 1.0, 2.0, -1.0]), 2.0  # of the targets 3 and 1
    >>> fit, single = PooledLogistic(scores, 2).fit(mean), fit_logistic(scores[[0, 2]], scores[[1, 3, 4]])
    >>> bool(np.isclose(fit.weight, single.weight)), bool(np.isclose(fit.bias, single.bias))
    (True, True)
    """

    def __init__(self, scores: FloatArray, n_target: int, *, l2: float = 0.0) -> None:
        self.n_target, self.l2 = n_target, l2
        self.prior_log_odds = float(np.log(n_target / (len(scores) - n_target)))
        self.centre = float(scores.mean(dtype=np.float64))
        self.spread = float(np.sqrt(_sum_squares(scores, self.centre) / len(scores)))
        ordered = np.partition(scores, (n_target - 1, len(scores) - n_target))
        # means of targets that do not overlap with the others
        self.apart = float(ordered[:n_target].mean()), float(ordered[-n_target:].mean())
        if scores.min() < scores.max():
            values, counts = _points(scores, self.centre, self.spread)
            self.values, self.counts = values, np.ones(len(values)) if counts is None else counts

    def fit(self, mean: float) -> LogisticFit:
        """Return the fit where the targets have this mean."""
        if self.apart[0] == self.apart[1]:
            return LogisticFit(0.0, self.prior_log_odds, self.prior_log_odds)
        rounding = _ROUNDING * self.spread
        separable = self.l2 == 0.0 and not self.apart[0] + rounding < mean < self.apart[1] - rounding
        # The targets are put at their mean. That they stay among all scores is made up for at the same place.
        place, number = (mean - self.centre) / self.spread, float(self.n_target)
        target = np.array([place]), np.array([number])
        others = np.append(self.values, place), np.append(self.counts, -number)
        fit = fit_points(target, others, l2=self.l2 / self.spread**2, balanced=False, separable=separable)
        return replace(fit, weight=fit.weight / self.spread, bias=fit.bias - fit.weight * self.centre / self.spread)


def tabulate(function: Callable[[float], FloatArray], low: float, high: float) -> Callable[[float], FloatArray]:
    """Return a smooth function by way of its values at a few points of an interval; itself where these do not tell it.

    Points of Chebyshev are added until values there were foreseen; the error is then about the square of what was seen.

    Examples
    --------
    >>> quick = tabulate(lambda x: np.array([np.exp(x), x]), -1.0, 2.0)
    >>> float(abs(quick(0.3) - [np.exp(0.3), 0.3]).max()) < 1e-12
    True
    """
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    if half <= 0.0:
        return function
    places = np.cos(np.pi * np.arange(9) / 8.0)
    values = np.stack([function(middle + half * place) for place in places])
    for intervals in (16, 32):
        finer = np.cos(np.pi * np.arange(intervals + 1) / intervals)
        added = np.stack([function(middle + half * place) for place in finer[1::2]])
        missed = np.abs(_lagrange(places, finer[1::2]) @ values - added).max()
        places, values = finer, np.insert(values, np.arange(1, len(values)), added, axis=0)
        if missed <= _FORESEEN * np.abs(values).max():
            return lambda x: (_lagrange(places, np.array([(x - middle) / half])) @ values)[0]
    return function


def _lagrange(places: FloatArray, x: FloatArray) -> FloatArray:
    """Weights of the values at all extremes of a Chebyshev polynomial, for the value at each `x` (barycentric form)."""
    signs = np.where(np.arange(len(places)) % 2 == 0, 1.0, -1.0)
    signs[[0, -1]] /= 2.0
    distance = x[:, None] - places
    at = distance == 0.0
    weights = np.where(at.any(axis=1, keepdims=True), at, signs / np.where(at, 1.0, distance))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def newton(
    loss_and_slopes: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]],
    start: FloatArray,
    near: FloatArray | None = None,
) -> FloatArray:
    """Minimise a smooth convex function, given its value, gradient and Hessian; from `near` unless it is flat there."""
    theta = start if near is None else near
    loss, gradient, curvature = loss_and_slopes(theta)
    if near is not None and not np.trace(curvature) > _FLAT:
        theta = start
        loss, gradient, curvature = loss_and_slopes(theta)
    ridge = 1e-12 * np.eye(len(start))
    for _ in range(_MAX_STEPS):
        step = np.linalg.solve(curvature + np.trace(curvature) * ridge, gradient)
        decrement = float(gradient @ step)
        if decrement <= 1e-20 * max(1.0, loss):
            break
        scale, rounding = 1.0, 1e-14 * max(1.0, abs(loss))
        while True:
            trial = theta - scale * step
            new = loss_and_slopes(trial)
            if new[0] <= loss - 1e-4 * scale * decrement + rounding or scale < 1e-10:
                break
            scale *= 0.5
        # Where the loss is the least within rounding, the slope still tells which place is the better one.
        if not (new[0] < loss - rounding or np.abs(new[1]).max() < np.abs(gradient).max()):
            break
        theta, (loss, gradient, curvature) = trial, new
    return theta


def _sum_squares(scores: FloatArray, centre: float) -> float:
    total = 0.0
    for start in range(0, len(scores), _CHUNK):
        part = scores[start : start + _CHUNK].astype(np.float64) - centre
        total += float(part @ part)
    return total


def _points(scores: FloatArray, centre: float, spread: float) -> Points:
    """Standardised scores; beyond a million of them, bins."""
    if len(scores) < _EXACT_BELOW:
        return (scores.astype(np.float64) - centre) / spread, None
    bins = ScoreBins()
    for start in range(0, len(scores), _CHUNK):
        bins.add((scores[start : start + _CHUNK].astype(np.float64) - centre) / spread)
    return bins.points()


class ScoreBins:
    """Counts and sums of standardised scores in bins so narrow that a fit does not notice; outliers are kept."""

    def __init__(self) -> None:
        self.count, self.total = np.zeros(_BINS), np.zeros(_BINS)
        self.outliers: list[FloatArray] = []

    def add(self, scores: FloatArray) -> None:
        """Add scores."""
        far = np.abs(scores) >= _INSIDE
        if far.any():
            self.outliers.append(scores[far])
            scores = scores[~far]
        index = ((scores + _INSIDE) * _BINS_PER_UNIT).astype(np.int64)
        self.count += np.bincount(index, minlength=_BINS)
        self.total += np.bincount(index, weights=scores, minlength=_BINS)

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Return the means of bins and the outliers, with their counts."""
        used = self.count > 0.0
        outliers = np.concatenate([np.zeros(0), *self.outliers])
        means = self.total[used] / self.count[used]
        return np.concatenate((means, outliers)), np.concatenate((self.count[used], np.ones(len(outliers))))


def _statistics(
    points: FloatArray, counts: FloatArray | None, theta: FloatArray, label: float
) -> tuple[float, FloatArray, FloatArray]:
    """Negative log-likelihood of one class, its gradient and Hessian in (weight, bias)."""
    loss = 0.0
    gradient, curvature = np.zeros(2), np.zeros((2, 2))
    for start in range(0, len(points), _CHUNK):
        x = points[start : start + _CHUNK]
        n = 1.0 if counts is None else counts[start : start + _CHUNK]
        logit = theta[0] * x + theta[1]
        softplus = np.logaddexp(0.0, logit)
        loss += float((n * (softplus - label * logit)).sum())
        p = np.exp(logit - softplus)
        error, variance = n * (p - label), n * (p * (1.0 - p))
        gradient += (error @ x, error.sum())
        cross = variance @ x
        curvature += ((variance * x) @ x, cross), (cross, variance.sum())
    return loss, gradient, curvature


def to_cosines(values: FloatArray | IntArray) -> FloatArray:
    """Return the spectrum (DCT-II) of an even number of values on the last axis: 2 sum x_n cos(pi k (2n + 1) / 2N).

    Examples
    --------
    >>> to_cosines(np.array([1.0, 1.0])).tolist()
    [4.0, 0.0]
    """
    from zeroevidence._scipy import dct  # `link` needs other parts of this module, and has NumPy alone

    return np.asarray(dct(values.astype(np.float64)))


def from_cosines(spectrum: FloatArray) -> FloatArray:
    """Return the values of a spectrum along the last axis; undoes `to_cosines`.

    Examples
    --------
    >>> from_cosines(to_cosines(np.array([3.0, 1.0, 4.0, 1.0]))).round(12).tolist()
    [3.0, 1.0, 4.0, 1.0]
    """
    from zeroevidence._scipy import idct

    return np.asarray(idct(spectrum))


def rank_cells(counts: Counts) -> tuple[IntArray, IntArray]:
    """Counts on an even grid over the rank of a score in the balanced mixture of the two classes.

    On this axis the mixture is uniform, so one kernel width suits all of it, and the estimate does not change under
    increasing maps of the scores. An atom of both classes is kept whole; one of a single class covers its own stretch.
    """
    mass = counts.target / (2.0 * counts.n_target) + counts.nontarget / (2.0 * counts.n_nontarget)
    end = np.cumsum(mass)
    edges = np.linspace(0.0, 1.0, _CELLS + 1)[1:-1]
    # Of what may be a million atoms, those around the edges are all that matters.
    near = np.zeros(len(end) + 2, dtype=bool)
    last = np.searchsorted(end, edges)
    near[last] = near[last + 1] = near[last + 2] = True
    atoms = np.flatnonzero(near[1:-1])
    target, nontarget, end = counts.target[atoms], counts.nontarget[atoms], end[atoms]
    start = end - mass[atoms]
    mixed = (target > 0) & (nontarget > 0)
    start[mixed] = end[mixed] = (start[mixed] + end[mixed]) / 2.0
    knots = np.column_stack((start, end)).ravel()

    def on_grid(per_atom: IntArray, per_near: IntArray) -> IntArray:
        after = np.cumsum(per_atom)
        at_knots = np.column_stack((after[atoms] - per_near, after[atoms])).ravel()
        inner = np.round(np.interp(edges, knots, at_knots)).astype(np.int64)
        return np.diff(inner, prepend=0, append=after[-1])

    return on_grid(counts.target, target), on_grid(counts.nontarget, nontarget)


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
    return np.asarray(np.exp(-0.5 * (frequency * width) ** 2) * width * np.sqrt(2.0 * np.pi))


def cell_lows(ranked: RankedScores, target: IntArray, nontarget: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the lowest score of each cell that has any, from the counts of cells, and which cells these are."""
    used = np.flatnonzero(target + nontarget)
    return block_lows(ranked, Blocks(target[used], nontarget[used], np.zeros(len(used)))), used


def mated_shares(counts: IntArray, widths: Sequence[float], omega: float, *, added: float = 0.5) -> list[FloatArray]:
    """Share of mated pairs at each cell, from (class, ..., cell) counts smoothed by each kernel.

    So many mated scores are added to each class; without, the share is 0 or 1 where only one class is near.
    """
    # A Gaussian kernel that is reflected at both ends is a product in the cosine domain.
    n_target, n_nontarget = (np.maximum(1.0, c.sum(axis=-1, keepdims=True)) for c in counts)
    spectrum = to_cosines(counts)
    spectrum[0] *= omega / n_target
    spectrum[1] /= n_nontarget
    # Kernels have a peak of 1, so that the smoothed counts are numbers of scores near the cell.
    least = added / n_target
    shares = []
    for width in widths:
        near = from_cosines(spectrum * _kernel(width))
        mated, other = np.maximum(near, np.finfo(np.float64).tiny, out=near)
        mated += omega * least
        other += least
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
    targets, nontargets = target[mated].astype(np.float64), nontarget[other].astype(np.float64)
    losses = [
        -(np.log(share.take(mated)) @ targets) * omega / n_target
        - np.log(1.0 - share.take(other)) @ nontargets / n_nontarget
        for share in shares
    ]
    best = int(np.argmin(losses))
    return widths[best], shares[best]


def density_shares(ranked: RankedScores, *, omega: float = 1.0, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Return scores from which on a share of mated pairs holds, and these shares, from all scores.

    Scores become ranks in the balanced mixture of the two classes, where the mixture is uniform, so that one kernel
    width suits all of the axis and the estimate does not change under increasing maps of the scores.
    """
    rng = np.random.default_rng(seed)
    counts = np.stack(rank_cells(ranked.counts))
    width, _ = best_width(np.stack([split_folds(per_class, rng) for per_class in counts]), omega)
    share = mated_shares(counts, (width,), omega)[0]
    lows, used = cell_lows(ranked, *counts)
    return lows, share[used]

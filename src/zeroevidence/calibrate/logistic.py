"""Logistic calibration: scores to log-likelihood ratios by an affine map [Brümmer & du Preez 2006; Platt 1999].

Maximum likelihood by Newton's method on sums over the scores; plain unless a penalty or balanced classes are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError

_MAX_STEPS = 100
_CHUNK = 1 << 16
_EXACT_BELOW = 1 << 20
_BINS_PER_UNIT = 4096.0  # of the standardised scores, for more scores than that
_INSIDE = 16.0  # standardised scores up to here are binned
_BINS = int(2 * _INSIDE * _BINS_PER_UNIT)

Points: TypeAlias = tuple[FloatArray, FloatArray | None]  # values, and how many scores each stands for; None: one each


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


def fit_logistic(target: FloatArray, nontarget: FloatArray, *, l2: float = 0.0, balanced: bool = False) -> LogisticFit:
    """Maximum-likelihood weight and bias.

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
    """
    for name, scores in (("target", target), ("nontarget", nontarget)):
        if not np.isfinite([scores.min(), scores.max()]).all():
            raise InputError(f"{name}: logistic calibration needs finite scores")
    low, high = min(target.min(), nontarget.min()), max(target.max(), nontarget.max())
    if low == high:
        prior_log_odds = 0.0 if balanced else float(np.log(len(target) / len(nontarget)))
        return LogisticFit(0.0, prior_log_odds, prior_log_odds)
    separable = l2 == 0.0 and bool(target.min() >= nontarget.max() or target.max() <= nontarget.min())

    # Newton's method is done on standardised scores, where both parameters are of the same size.
    n = len(target) + len(nontarget)
    centre = float(target.sum(dtype=np.float64) + nontarget.sum(dtype=np.float64)) / n
    spread = float(np.sqrt(sum(_sum_squares(scores, centre) for scores in (target, nontarget)) / n))
    points = [_points(scores, centre, spread) for scores in (target, nontarget)]
    fit = fit_points(*points, l2=l2 / spread**2, balanced=balanced, separable=separable)
    return replace(fit, weight=fit.weight / spread, bias=fit.bias - fit.weight * centre / spread)


def fit_points(target: Points, nontarget: Points, *, l2: float, balanced: bool, separable: bool) -> LogisticFit:
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

    weight, bias = newton(loss_and_slopes, np.array([0.0, prior_log_odds]))
    return LogisticFit(float(weight), float(bias), prior_log_odds, separable)


def newton(
    loss_and_slopes: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]], start: FloatArray
) -> FloatArray:
    """Minimise a smooth convex function, given its value, gradient and Hessian."""
    theta = start
    loss, gradient, curvature = loss_and_slopes(theta)
    ridge = 1e-12 * np.eye(len(start))
    for _ in range(_MAX_STEPS):
        step = np.linalg.solve(curvature + np.trace(curvature) * ridge, gradient)
        decrement = float(gradient @ step)
        if decrement <= 1e-20 * max(1.0, loss):
            break
        scale = 1.0
        while True:
            trial = theta - scale * step
            new = loss_and_slopes(trial)
            if new[0] <= loss - 1e-4 * scale * decrement or scale < 1e-10:
                break
            scale *= 0.5
        if not new[0] < loss:  # no progress beyond rounding
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

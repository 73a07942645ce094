"""Logistic calibration: scores to log-likelihood ratios by an affine map [Brümmer & du Preez 2006; Platt 1999].

Maximum likelihood by Newton's method on sums over the scores; plain unless a penalty or balanced classes are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError

_MAX_STEPS = 100
_CHUNK = 1 << 16
_EXACT_BELOW = 1 << 20
_BINS_PER_UNIT = 4096.0  # of the standardised scores, for more scores than that


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
    n_target, n_nontarget = len(target), len(nontarget)
    n = n_target + n_nontarget
    weights = (n / (2.0 * n_target), n / (2.0 * n_nontarget)) if balanced else (1.0, 1.0)
    prior_log_odds = float(np.log(weights[0] * n_target / (weights[1] * n_nontarget)))
    low, high = min(target.min(), nontarget.min()), max(target.max(), nontarget.max())
    if low == high:
        return LogisticFit(0.0, prior_log_odds, prior_log_odds)
    separable = l2 == 0.0 and bool(target.min() >= nontarget.max() or target.max() <= nontarget.min())
    labels = (1.0, 0.0)
    if separable:
        labels = (n_target + 1.0) / (n_target + 2.0), 1.0 / (n_nontarget + 2.0)

    # Newton's method is done on standardised scores, where both parameters are of the same size.
    centre = float(target.sum(dtype=np.float64) + nontarget.sum(dtype=np.float64)) / n
    spread = float(np.sqrt(sum(_sum_squares(scores, centre) for scores in (target, nontarget)) / n))
    classes = [
        (*_points(scores, centre, spread), weight, label)
        for scores, weight, label in zip((target, nontarget), weights, labels, strict=True)
    ]

    def loss_and_slopes(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss = 0.5 * l2 * float(theta[0] / spread) ** 2
        gradient = np.array([l2 * theta[0] / spread**2, 0.0])
        curvature = np.diag([l2 / spread**2, 0.0])
        for x, counts, weight, label in classes:
            part = _statistics(x, counts, theta, label)
            loss += weight * part[0]
            gradient += weight * part[1]
            curvature += weight * part[2]
        return loss, gradient, curvature

    weight, bias = newton(loss_and_slopes, np.array([0.0, prior_log_odds]))
    return LogisticFit(float(weight / spread), float(bias - weight * centre / spread), prior_log_odds, separable)


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


def _points(scores: FloatArray, centre: float, spread: float) -> tuple[FloatArray, FloatArray | None]:
    """Standardised scores; beyond a million, the means and counts of bins so narrow that the fit does not feel them."""
    if len(scores) < _EXACT_BELOW:
        return (scores.astype(np.float64) - centre) / spread, None
    inside = 16.0
    n_bins = int(2 * inside * _BINS_PER_UNIT)
    count, total = np.zeros(n_bins), np.zeros(n_bins)
    outside = []
    for start in range(0, len(scores), _CHUNK):
        x = (scores[start : start + _CHUNK].astype(np.float64) - centre) / spread
        far = np.abs(x) >= inside
        if far.any():
            outside.append(x[far])
            x = x[~far]
        index = ((x + inside) * _BINS_PER_UNIT).astype(np.int64)
        count += np.bincount(index, minlength=n_bins)
        total += np.bincount(index, weights=x, minlength=n_bins)
    used = count > 0
    far_points = np.concatenate(outside) if outside else np.zeros(0)
    points = np.concatenate((total[used] / count[used], far_points))
    return points, np.concatenate((count[used], np.ones(len(far_points))))


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

"""Limits of the share of people of a kind, where few recordings of each leave open who is of that kind.

Each person has a long-run value (a rate, a mean), and what was seen of them is more or less likely under each such
value. How the values are distributed over people is not assumed: a distribution over a grid of values is fitted (a
beta distribution, with one hump, would hide one exposed person among many at chance). For each share of people of a
kind, the best distribution with exactly that share is compared with the best of all.

The difference of their log-likelihoods is read as that of a count of people: the share is too large where a count of
certain people that fits it as badly would be too small by Clopper and Pearson's test. Where recordings leave no doubt
who is of the kind, the limits are therefore those of Clopper and Pearson.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._scipy import bdtrik, expit, gammaln, logit, xlogy
from zeroevidence._typing import BoolArray, FloatArray, IntArray

_RATES = 48  # of the grid, in equal steps of the arc sine, in which their errors are alike
_RULED_OUT = -1e6  # log-likelihood
_LEAST = 1e-200  # likelihood; less would not be a number when multiplied
_MEANS, _BETWEEN = 24, 8  # of the grid: quantiles of means seen, and equal steps
_PEOPLE = 256  # likelihoods of means; beyond, those of people most alike are averaged
_POOLED = 2.0  # recordings that the variance of everybody's counts as, beside those of one person
_FREE_STEPS, _STEPS = 300, 25  # of expectation maximisation: without a given share, and at each share tried
_HALVINGS = 12
_NEARLY = 1e-7  # all people
_STIR = 0.03  # part of a distribution that is spread evenly again before another share is tried


def rate_share_limits(
    successes: IntArray | FloatArray, trials: IntArray | FloatArray, rate: float, levels: Sequence[float]
) -> FloatArray:
    """Return upper limits, at one-sided levels, of the share of people whose long-run rate is at least `rate`.

    Behind them come upper limits of the share of the other people, at the same levels.

    Parameters
    ----------
    successes
        Of the trials of each person.
    trials
        Number of trials of each person.
    rate
        The rate.
    levels
        Confidence levels.

    Examples
    --------
    >>> trials = np.full(30, 100)
    >>> rate_share_limits(np.repeat([100, 3], 15), trials, 0.8, [0.975]).round(2).tolist()  # Clopper and Pearson's
    [0.69, 0.69]
    >>> rate_share_limits(np.repeat([2, 0], 15), np.full(30, 2), 0.8, [0.975]).round(2).tolist()
    [0.69, 0.73]
    """
    cells, people = np.unique(np.stack((successes, trials)), axis=1, return_counts=True)
    k, n = cells.astype(np.float64)
    finer = max(1.0, np.sqrt(n.max() / 100.0))
    grid = np.sin(np.linspace(0.0, np.pi / 2.0, int(_RATES * min(finer, 4.0)))) ** 2
    rates = np.unique(np.append(grid, rate))
    ways = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    log_likelihood = ways + xlogy(k, rates[:, None]) + xlogy(n - k, 1.0 - rates[:, None])
    # Just below the rate is as likely as the rate itself, so that it may count on either side.
    groups = np.repeat([rates >= rate, rates <= rate], len(levels), axis=0)
    return largest_shares(log_likelihood, people, groups, 1.0 - np.tile(levels, 2))


def mean_share_limits(values: FloatArray, whose: IntArray, levels: FloatArray, confidence: float) -> FloatArray | None:
    """Return upper limits of the share of people whose long-run mean is above each level.

    The mean of few recordings is uncertain, by Student's distribution with the person's variance, to which that of
    everybody's recordings counts as two more. None where nobody has two recordings: nothing tells how far means vary.

    Parameters
    ----------
    values
        A value for each recording.
    whose
        The number of its speaker.
    levels
        The levels.
    confidence
        Confidence level of each limit.

    Examples
    --------
    >>> people = np.repeat(np.arange(30), 4)
    >>> values = np.where(people < 3, 4.0, 0.0) + np.tile([-0.1, 0.1, -0.1, 0.1], 30)
    >>> mean_share_limits(values, people, np.array([1.0]), 0.95).round(2).tolist()  # Clopper and Pearson's
    [0.24]
    """
    trials = np.bincount(whose)
    mean = np.bincount(whose, weights=values) / trials
    seen, others = np.isfinite(mean), trials - 1.0
    deviation = np.where(seen[whose], values, 0.0) - np.where(seen, mean, 0.0)[whose]
    with np.errstate(over="ignore"):
        squares = np.bincount(whose, weights=deviation**2)
    freedom = float(others[seen].sum())
    if freedom == 0.0:
        return None
    own = np.minimum(others + _POOLED, freedom)
    variance = (squares + _POOLED * squares.sum() / freedom) / (others + _POOLED) / trials
    finite = np.sort(mean[seen])
    quantiles = finite[np.linspace(0, len(finite) - 1, min(_MEANS, len(finite))).round().astype(np.int64)]
    grid = np.unique(np.concatenate((quantiles, np.linspace(finite[0], finite[-1], _BETWEEN), levels)))
    grid = grid[np.isfinite(grid)]
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(grid[:, None] - mean)
        error = np.maximum(np.sqrt(variance), np.maximum(apart.min(axis=0), 1e-9))  # never finer than the grid
        log_likelihood = -(own + 1.0) / 2.0 * np.log1p((apart / error) ** 2 / own)
    # Who is ruled out in a recording has a mean below all others.
    grid = np.concatenate(([-np.inf], grid))
    log_likelihood = np.vstack((np.where(seen, _RULED_OUT, 0.0), np.where(seen, log_likelihood, _RULED_OUT)))
    log_likelihood, people = _joined(log_likelihood, np.lexsort((mean, np.round(2.0 * np.log2(trials)))))
    return largest_shares(log_likelihood, people, grid >= levels[:, None], np.full(len(levels), 1.0 - confidence))


def _joined(log_likelihood: FloatArray, order: IntArray) -> tuple[FloatArray, IntArray]:
    """Return mean likelihoods of neighbours in an order, and how many they are."""
    starts = np.unique(np.linspace(0, len(order), min(_PEOPLE, len(order)), endpoint=False).astype(np.int64))
    people = np.diff(np.append(starts, len(order)))
    return np.add.reduceat(log_likelihood[:, order], starts, axis=1) / people, people


def largest_shares(log_likelihood: FloatArray, people: IntArray, groups: BoolArray, tails: FloatArray) -> FloatArray:
    """Return for each group of values the largest share of people whose values may lie in it.

    Parameters
    ----------
    log_likelihood
        Of what was seen of people (columns) under each value (rows).
    people
        Number of people of whom each column was seen.
    groups
        For each limit the values that belong to the group.
    tails
        For each limit the probability of missing the share.
    """
    likelihood = np.maximum(np.exp(log_likelihood - log_likelihood.max(axis=0)), _LEAST)
    total = float(people.sum())
    free = _fitted(np.full((1, len(likelihood)), 1.0 / len(likelihood)), likelihood, people, _FREE_STEPS)
    best = float(_log_likelihoods(free, likelihood, people)[0])
    weights = np.repeat(free, len(tails), axis=0)

    def fits(share: FloatArray) -> BoolArray:
        """Whether people like these may have so large shares."""
        nonlocal weights
        weights = _fitted((1.0 - _STIR) * weights + _STIR / len(likelihood), likelihood, people, _STEPS, groups, share)
        lost = best - _log_likelihoods(weights, likelihood, people)
        count = bdtrik(tails, total, share)
        return lost <= xlogy(count, count / (total * share)) + xlogy(
            total - count, (total - count) / (total * (1.0 - share))
        )

    # Without a single person of the kind the share may still be this large.
    low = logit(np.maximum((free * groups).sum(axis=1).clip(_NEARLY, 1.0 - _NEARLY), 1.0 - tails ** (1.0 / total)))
    high = np.full(len(tails), logit(1.0 - _NEARLY))
    everybody = fits(expit(high))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        inside = fits(expit(middle))
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(everybody, 1.0, expit((low + high) / 2.0))


def _log_likelihoods(weights: FloatArray, likelihood: FloatArray, people: IntArray) -> FloatArray:
    return np.asarray(np.log(weights @ likelihood) @ people)


def _fitted(
    weights: FloatArray,
    likelihood: FloatArray,
    people: IntArray,
    steps: int,
    groups: BoolArray | None = None,
    shares: FloatArray | None = None,
) -> FloatArray:
    """Return distributions of higher likelihood, by expectation maximisation, whose groups keep their given shares."""
    for _ in range(steps):
        weights = weights * ((people / (weights @ likelihood)) @ likelihood.T)
        if groups is None or shares is None:
            weights /= weights.sum(axis=1, keepdims=True)
        else:
            inside = (weights * groups).sum(axis=1)
            outside = (weights * ~groups).sum(axis=1)
            weights *= np.where(
                groups, (shares / inside)[:, None], ((1.0 - shares) / np.maximum(outside, _LEAST))[:, None]
            )
    return weights

"""The threshold of the cheapest decision for a prior and costs, with its error rates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import BoolArray
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.rows.threshold import ErrorRate, Threshold
from zeroevidence.measure.pairs.verification import bayes_threshold, dcf_of_rates
from zeroevidence.uncertainty.level import LEAST_PEOPLE, LEVEL
from zeroevidence.uncertainty.resampling.clusters import find_clusters
from zeroevidence.uncertainty.spread import effective_number, estimate_spread

PRIOR, C_MISS, C_FA = 0.05, 1.0, 1.0


def threshold(
    scores: Scores | ScoreMatrix | ArrayLike,
    nontarget: ArrayLike | None = None,
    *,
    prior: float = PRIOR,
    c_miss: float = C_MISS,
    c_fa: float = C_FA,
    calibrate: Scores | ScoreMatrix | None = None,
    are_llrs: bool = False,
    level: float = LEVEL,
) -> Threshold:
    """Return the threshold of the cheapest decision, with its error rates on these scores.

    A logistic calibration turns scores into likelihood ratios, and the threshold is the score at which accepting
    becomes the cheaper decision. Fitted on the same scores it is slightly too good for them; `calibrate` names others.

    Parameters
    ----------
    scores
        Scores with their pairs, a search, or target scores beside `nontarget`.
    nontarget
        Non-target scores.
    prior
        Prior probability of a target.
    c_miss
        Cost of a miss.
    c_fa
        Cost of a false alarm.
    calibrate
        Scores of other people to calibrate on.
    are_llrs
        Whether the scores are natural log-likelihood ratios already.
    level
        Confidence level of the intervals, which leave people out where they are known.

    Examples
    --------
    >>> found = threshold([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], prior=0.5)
    >>> 0.4 < found.score < 0.9, found.miss.value, found.false_alarm.value
    (True, 0.3333333333333333, 0.25)
    """
    if not 0.0 < prior < 1.0 or c_miss <= 0.0 or c_fa <= 0.0:
        raise UsageError(f"expected a prior between 0 and 1 and positive costs, got {prior:g}, {c_miss:g} and {c_fa:g}")
    data = _pairs(scores, nontarget)
    llr = bayes_threshold(prior, c_miss, c_fa)
    score = llr if are_llrs else _score_at(llr, data if calibrate is None else _pairs(calibrate, None))
    wrong = data.target < score, data.nontarget >= score
    miss, false_alarm = (_rate(data, errors, target=side == 0, level=level) for side, errors in enumerate(wrong))
    dcf = float(dcf_of_rates(miss.value, false_alarm.value, prior, c_miss, c_fa))
    elsewhere = are_llrs or calibrate is not None
    return Threshold(score, llr, prior, c_miss, c_fa, miss, false_alarm, dcf, elsewhere, level)


def _pairs(scores: Scores | ScoreMatrix | ArrayLike, nontarget: ArrayLike | None) -> Scores:
    if nontarget is not None:
        return Scores(np.asarray(scores, dtype=np.float64), np.asarray(nontarget, dtype=np.float64))
    if isinstance(scores, ScoreMatrix):
        return scores.to_scores()
    if not isinstance(scores, Scores):
        raise UsageError("expected Scores, a ScoreMatrix, or target and non-target scores")
    return scores


def _score_at(llr: float, scores: Scores) -> float:
    """Return the score that stands for a likelihood ratio by a logistic calibration on these scores."""
    fit = fit_logistic(scores.target, scores.nontarget)
    if fit.weight <= 0.0:
        raise InputError("calibration: higher scores do not speak for targets there; expected scores that tell people")
    return (llr - fit.bias + fit.prior_log_odds) / fit.weight


def _rate(scores: Scores, errors: BoolArray, *, target: bool, level: float) -> ErrorRate:
    """Return a rate with its interval from the rates without each person, on either side."""
    value = float(errors.mean())
    clusters = find_clusters(scores)
    if clusters is None or clusters.unit != "speaker" or len(clusters.names) < LEAST_PEOPLE:
        return ErrorRate(value)
    people, pairs = len(clusters.names), clusters.target if target else clusters.nontarget
    wrong, involved = (_by_person(pairs, weights, people) for weights in (errors, np.ones(len(errors))))
    left = len(errors) - involved
    with np.errstate(invalid="ignore", divide="ignore"):
        left_out = np.where(left > 0.0, (errors.sum() - wrong) / left, np.nan)
    shares = involved / max(involved.sum(), 1.0)
    unseen = 1.0 - value, -value
    spread = estimate_spread(value, left_out, shares, effective_number(involved), unseen)
    if spread is None:
        return ErrorRate(value)
    low, high = (float(np.clip(end, 0.0, 1.0)) for end in spread.limits(value, level))
    return ErrorRate(value, low, high)


def _by_person(pairs: Pairs, weights: BoolArray | np.ndarray, people: int) -> np.ndarray:
    """Return for each person the sum over the comparisons that involve them, on either side."""
    sums = np.bincount(pairs.enrolment, weights, people) + np.bincount(pairs.trial, weights, people)
    same = pairs.enrolment == pairs.trial
    return sums - np.bincount(pairs.enrolment[same], np.asarray(weights, dtype=np.float64)[same], people)

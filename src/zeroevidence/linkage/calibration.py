"""Calibration of a search, fitted by streaming over pairs: a fixed weight, one of other people, or one cross-fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.logistic import LogisticFit, ScoreBins, fit_logistic, fit_points
from zeroevidence.calibrate.rows import speaker_folds
from zeroevidence.data.embeddings import rank_names
from zeroevidence.errors import InputError
from zeroevidence.linkage.evidence import centred, score_rows
from zeroevidence.linkage.inputs import Pairing, check_other_people
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration, SearchPlan, plan_search
from zeroevidence.run import Run

_EXACT_BELOW = 1 << 20
_SAMPLE = 64  # rows that a scale is taken from


@dataclass(frozen=True, slots=True, eq=False)
class PairStatistics:
    """Scaled scores of true identities and of others; `largest` are the highest raw scores, if asked for.

    Scores of rows that were not standardised have their `offset` taken off and are divided by their `unit`, so that
    bins are as narrow for them.
    """

    target: FloatArray
    others: FloatArray  # points: single scores, or means of bins
    counts: FloatArray  # how many each point stands for
    low: float
    high: float  # of the others
    largest: FloatArray
    offset: float = 0.0
    unit: float = 1.0

    @staticmethod
    def merge(parts: Sequence[PairStatistics]) -> PairStatistics:
        """Return the statistics of all pairs of several parts, which have offset and unit in common."""
        if not parts:
            raise InputError("no pairs to fit a calibration on")
        names = ("target", "others", "counts", "largest")
        target, others, counts, largest = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        extremes = min(part.low for part in parts), max(part.high for part in parts)
        return PairStatistics(target, others, counts, *extremes, largest, parts[0].offset, parts[0].unit)

    def threshold(self, count: int) -> float:
        """Return the score that `count` of all scores exceed, ties aside; `largest` must hold one more than that."""
        return float(np.sort(self.largest)[-1 - count]) if count < len(self.largest) else -np.inf

    def fit(self) -> LogisticFit:
        """Maximum-likelihood weight and bias, as `calibrate.logistic.fit_logistic` of the single pairs."""
        if (self.counts == 1.0).all():
            fit = fit_logistic(self.target, self.others)
        else:
            separable = bool(self.target.min() >= self.high or self.target.max() <= self.low)
            points = (self.target, None), (self.others, self.counts)
            fit = fit_points(*points, l2=0.0, balanced=False, separable=separable)
        weight = fit.weight / self.unit
        return replace(fit, weight=weight, bias=fit.bias - weight * self.offset)


class _Collector:
    """Collects blocks of rows of one fold."""

    def __init__(self, exact: bool, top: int, scale: tuple[float, float]) -> None:
        self.top, self.scale = top, scale
        self.bins = None if exact else ScoreBins()
        self.target: list[FloatArray] = []
        self.single: list[FloatArray] = []  # scores of other identities, where there are no bins
        self.largest: list[FloatArray] = []
        self.floor = -np.inf
        self.low, self.high = np.inf, -np.inf

    def add_scores(self, scores: FloatArray) -> None:
        """Collect the largest raw scores."""
        if not self.top:
            return
        self.largest.append(scores[scores > self.floor])
        if sum(map(len, self.largest)) > 4 * self.top + 65536:
            self._prune()

    def _prune(self) -> None:
        scores = np.concatenate(self.largest)
        if len(scores) > self.top:
            scores = np.partition(scores, len(scores) - self.top)[len(scores) - self.top :]
            self.floor = float(np.nextafter(scores.min(), -np.inf))
        self.largest = [scores]

    def add(self, z: FloatArray, mated: IntArray) -> None:
        """Collect scaled rows."""
        index = np.arange(len(z))
        self.target.append(z[index, mated])
        keep = np.ones(z.shape, bool)
        keep[index, mated] = False
        others = z[keep]
        self.low, self.high = min(self.low, float(others.min())), max(self.high, float(others.max()))
        if self.bins is None:
            self.single.append(others)
        else:
            self.bins.add(others)

    def statistics(self) -> PairStatistics:
        """Return the statistics of what was collected."""
        if self.top:
            self._prune()
        single = np.concatenate([np.zeros(0), *self.single])
        others, counts = (single, np.ones(len(single))) if self.bins is None else self.bins.points()
        target, largest = np.concatenate(self.target), np.concatenate([np.zeros(0), *self.largest])
        return PairStatistics(target, others, counts, self.low, self.high, largest, *self.scale)


def pair_statistics(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    options: LinkOptions = LinkOptions(),
    *,
    folds: Sequence[IntArray] | None = None,
    top: int = 0,
) -> list[PairStatistics]:
    """Statistics of all pairs, one for each fold of trials (all trials together unless given).

    Scaled scores of other identities are kept as counts and means of narrow bins once there are many; those of true
    identities are kept as they are. Up to a million pairs nothing is binned and the fit is exact.

    `top` asks for that many of the largest raw scores of each fold, which determine the threshold of singling out.

    Examples
    --------
    >>> people = np.eye(3)
    >>> trials = np.array([[0.9, 0.2, 0.1], [0.5, 0.4, 0.6], [0.3, 0.1, 0.7]])
    >>> (whole,) = pair_statistics(trials, people, [0, 1, 2], LinkOptions("dot"), top=4)
    >>> whole.target.round(2).tolist(), int(whole.counts.sum()), whole.threshold(3)
    ([1.4, -1.22, 1.34], 6, 0.5)
    """
    given = SearchCalibration(1.0)
    plan = plan_search(trial_vectors, enrol_vectors, mated, given, options, dtype=np.float64, moments=lambda _: None)
    folds = [np.arange(plan.trials)] if folds is None else folds
    exact = plan.trials * plan.identities < _EXACT_BELOW
    statistics = []
    scale = _common_scale(plan)
    for fold in folds:
        collector = _Collector(exact, top, scale)
        for part, scores in score_rows(plan, fold):
            collector.add_scores(scores)
            scaled = _scaled(plan, scores)
            if options.row_scaling != "standardise":
                scaled -= scale[0]
                scaled /= scale[1]
            collector.add(scaled, plan.mated[fold[part]])
        statistics.append(collector.statistics())
    return statistics


def _scaled(plan: SearchPlan, scores: FloatArray) -> FloatArray:
    """Return scaled rows, as a calibration takes them; `scores` may change in place."""
    if plan.options.row_scaling == "none":
        return scores
    _, deviation = centred(scores, plan.options.ddof)
    if plan.options.row_scaling == "standardise":
        scores /= np.where(deviation > 0.0, deviation, np.inf)[:, None]
    return scores


def _common_scale(plan: SearchPlan) -> tuple[float, float]:
    """Mean and deviation of scaled scores, estimated from a few rows; of standardised rows 0 and 1."""
    if plan.options.row_scaling == "standardise":
        return 0.0, 1.0
    rows = np.unique(np.linspace(0, plan.trials - 1, _SAMPLE).astype(np.int64))
    scores = np.concatenate([_scaled(plan, scores) for _, scores in score_rows(plan, rows)])
    return float(scores.mean()), float(scores.std()) or 1.0


def calibrate_search(
    search: Pairing, options: LinkOptions = LinkOptions(), *, development: Pairing | None = None, run: Run = Run()
) -> SearchCalibration:
    """Return weight, bias and threshold of the trials.

    Parameters
    ----------
    search
        The trials to be calibrated.
    options
        Options of the search; with a weight nothing is fitted, and there is no threshold.
    development
        A search among other people to fit on; without one, each speaker's trials are calibrated on those of the other
        speakers, which is a second pass over all pairs.
    run
        Seed of the folds of speakers.
    """
    if options.weight is not None:
        return SearchCalibration(options.weight)
    if development is None:
        people = rank_names(search.people)[1][search.mated]
        return cross_fit(search.trial, search.enrol, search.mated, people, options, run)
    check_other_people(search, development)
    # one fit for all; one pair in N exceeds the threshold, N being the identities of the search
    above = len(development.trial) * len(development.enrol) // len(search.enrol)
    (part,) = pair_statistics(development.trial, development.enrol, development.mated, options, top=above + 1)
    fit = part.fit()
    threshold = part.threshold(above) if above else None
    prior = fit.prior_log_odds
    return SearchCalibration(fit.weight, fit.bias - prior, threshold, "logistic", prior_log_odds=prior)


def cross_fit(
    trial_vectors: Any, enrol_vectors: Any, mated: Any, people: IntArray, options: LinkOptions, run: Run
) -> SearchCalibration:
    """Return, for each fold of people, the fit and the threshold of the other folds.

    `people` has the number of each trial's speaker, in the order of names.
    """
    trials, prior = len(people), 0.0
    weight, bias, threshold = (np.empty(trials) for _ in range(3))
    if trials and (people == people[0]).all():
        expected = "a second, or development vectors of other people (--dev-enrol and --dev-trial)"
        raise InputError(f"all trials are of one speaker; expected {expected} to calibrate on")
    folds = speaker_folds(people, seed=run.seed)
    parts = pair_statistics(trial_vectors, enrol_vectors, mated, options, folds=folds, top=trials + 1)
    for index, rows in enumerate(folds):
        above = trials - len(rows)
        rest = PairStatistics.merge(parts[:index] + parts[index + 1 :])
        fit = rest.fit()
        prior = fit.prior_log_odds  # the same in all folds: every trial has one true identity and as many others
        weight[rows], bias[rows] = fit.weight, fit.bias - prior
        threshold[rows] = rest.threshold(above)
    return SearchCalibration(weight, bias, threshold, "logistic", cross_fitted=True, prior_log_odds=prior)

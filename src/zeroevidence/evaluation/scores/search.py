"""A search through the enrolled identities: calibration, measures, curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.rows import RowCalibration, check_searchable, fit_rows, speaker_folds, standardise
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.curves import POINTS, Curve, as_curve, bin_edges, binned, thinned
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.setup import SearchSetup
from zeroevidence.evaluation.rows.trials import Trials
from zeroevidence.measure.measures import IntervalRule, measures_of
from zeroevidence.measure.pairs.zebra import LOG_ODDS_GRID
from zeroevidence.measure.search.disclosure import RowEvidence, ccdf, check_prior, row_evidence
from zeroevidence.measure.search.priors import log_ratio_from_lid, total_lid_at
from zeroevidence.measure.search.rank import cmc, rank_disclosure
from zeroevidence.measure.search.singling import firing_counts, firing_threshold, link_curve, singling_out_curve
from zeroevidence.measure.search.view import search_view
from zeroevidence.measure.softplus import LN2

_LEAST_BITS = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows that share one calibration, and the scores a threshold may be set on."""

    rows: IntArray
    calibration: RowCalibration
    scores: FloatArray
    rest: IntArray | None = None  # rows of the scores that are others; all of them unless given

    @property
    def others(self) -> FloatArray:
        """The scores a threshold may be set on, taken anew each time: kept, they would be a second matrix."""
        return self.scores if self.rest is None else self.scores[self.rest]


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Everything a search yields."""

    metrics: dict[str, MeasureResult]
    curves: dict[str, Curve]
    trials: Trials
    evidence: RowEvidence
    singled: IntArray  # 1 where the predicate fired on exactly one identity
    folds: list[Fold]
    setup: SearchSetup
    prior: FloatArray | None


def check_disjoint(data: ScoreMatrix | Scores, dev: ScoreMatrix | Scores) -> None:
    """Development speakers must be other people: a calibration fitted on the evaluated ones flatters the attacker."""
    here, there = data.speakers, dev.speakers
    if here is None or there is None:
        return
    common = np.intersect1d(here, there)
    if len(common):
        raise InputError(
            f"development and evaluation share {len(common)} speaker(s), among them {str(common[0])!r}; "
            "expected other people in the development scores"
        )


def search(matrix: ScoreMatrix, dev: ScoreMatrix | None, options: Options, prior: FloatArray | None = None) -> Search:
    """Measure a closed-set search; every trial's speaker must be enrolled."""
    scores, mated = matrix.scores, matrix.mated
    check_searchable(scores, mated, ddof=options.ddof)
    folds = _folds(matrix, dev, options)
    lid = np.empty(len(mated))
    greater, equal, singled = (np.empty(len(mated), dtype=np.int64) for _ in range(3))
    for fold in folds:
        part = scores if len(folds) == 1 else scores[fold.rows]
        evidence = row_evidence(part, mated[fold.rows], fold.calibration, ddof=options.ddof, prior=prior)
        lid[fold.rows], greater[fold.rows], equal[fold.rows] = evidence.lid, evidence.greater, evidence.equal
        fires = firing_counts(part, firing_threshold(fold.others, scores.shape[1]))
        singled[fold.rows] = fires == 1
    evidence = RowEvidence(lid, greater, equal, scores.shape[1])
    setup = SearchSetup.fitted(folds[0].calibration, options, cross_fitted=dev is None, prior=prior is not None)
    return Search(
        metrics=search_metrics(evidence, singled, setup),
        curves=_curves(matrix, folds, evidence, prior),
        trials=trial_table(matrix.trial_names, matrix.mated_names, evidence),
        evidence=evidence,
        singled=singled,
        folds=folds,
        setup=setup,
        prior=prior,
    )


def average_disclosure(matrix: ScoreMatrix, options: Options | None = None) -> float:
    """ALID of a search alone, cross-fitted by speaker: what attackers are chosen by on development people.

    Examples
    --------
    >>> mated = np.arange(40) % 8
    >>> scores = np.random.default_rng(0).normal(size=(40, 8)) + 3.0 * np.eye(8)[mated]
    >>> 1.0 < average_disclosure(ScoreMatrix(scores, mated)) < 3.0
    True
    """
    options, matrix = options or Options(), sort_by_name(matrix)
    lid = np.empty(len(matrix.mated))
    for fold in _folds(matrix, None, options):
        found = row_evidence(matrix.scores[fold.rows], matrix.mated[fold.rows], fold.calibration, ddof=options.ddof)
        lid[fold.rows] = found.lid
    return float(lid.mean())


def trial_table(trials: StrArray, speakers: StrArray, evidence: RowEvidence) -> Trials:
    """What each trial discloses."""
    greater, equal = evidence.greater, evidence.equal
    linked = ((greater == 0) & (equal == 0)).astype(np.int64)
    return Trials(trials, speakers, evidence.lid, 1.0 + greater + equal / 2.0, linked)


def search_metrics(evidence: RowEvidence, singled: IntArray | None, setup: SearchSetup) -> dict[str, MeasureResult]:
    """The measures of per-trial evidence; `singled` is None where nobody counted."""
    view = search_view(evidence, singled)
    if setup.prior_given:  # LID is over that prior, and not over one in the number of identities
        view = replace(view, prior_free=None)
    found = ((one, one.compute(view)) for one in measures_of("search"))
    return {
        one.name: MeasureResult.of(
            one.name, nan if np.isnan(value[0]) else float(value[0]), one.method_of(view) or str(setup)
        )
        for one, value in found
        if value is not None
    }


def search_rules() -> dict[str, IntervalRule]:
    """How the intervals of the measures of a search are made."""
    rules = ((one.name, one.interval_of(None)) for one in measures_of("search"))
    return {name: rule for name, rule in rules if rule is not None}


def _folds(matrix: ScoreMatrix, dev: ScoreMatrix | None, options: Options) -> list[Fold]:
    """One fold calibrated on development data, or several, each calibrated on the other speakers."""

    def fit(scores: FloatArray, mated: IntArray) -> RowCalibration:
        return fit_rows(
            scores,
            mated,
            method=options.calibration,
            ddof=options.ddof,
            l2=options.l2,
            balanced=options.balanced,
            seed=options.seed,
        )

    everyone = np.arange(len(matrix.mated))
    if dev is not None:
        return [Fold(everyone, fit(dev.scores, dev.mated), dev.scores)]
    folds = []
    for rows in speaker_folds(matrix.mated, seed=options.seed):
        rest = np.setdiff1d(everyone, rows)
        folds.append(Fold(rows, fit(matrix.scores[rest], matrix.mated[rest]), matrix.scores, rest))
    return folds


def evidence_curves(evidence: RowEvidence, prior: FloatArray | None = None) -> dict[str, Curve]:
    """Curves that follow from what is known of each trial, without the scores.

    `prior` is what each trial's true identity had before the trial was heard; one in the number of them unless given.
    """
    identities = evidence.identities
    levels, share = ccdf(evidence.lid)
    keep = thinned(len(levels))
    ranks = np.arange(1, identities + 1)
    if identities > POINTS:
        ranks = np.unique(np.geomspace(1, identities, POINTS).round().astype(int))
    link = link_curve(evidence.greater, evidence.equal, identities)
    return {
        "lid_ccdf": as_curve(levels[keep], share[keep]),
        "lid_histogram": _lid_histogram(evidence.lid),
        "posterior": _posterior(evidence, prior),
        "lid_over_priors": _over_priors(evidence, prior),
        "cmc": as_curve(ranks, cmc(evidence.greater, evidence.equal, identities)[ranks - 1], ranks / identities),
        "rank_disclosure": _rank_disclosure(evidence, ranks),
        "link_probability_over_identities": as_curve(link.x, link.y, link.baseline),
    }


def _lid_histogram(lid: FloatArray) -> Curve:
    """Share of trials around each level in bits."""
    ordered = np.sort(lid)
    finite = ordered[np.isfinite(ordered)]
    edges = bin_edges([finite]) if len(finite) else None
    if edges is None:
        return as_curve(np.empty(0), np.empty(0))
    if edges[-1] - edges[0] < _LEAST_BITS:  # as good as all equal
        edges = (edges[0] + edges[-1]) / 2.0 + np.linspace(-0.5, 0.5, 21)
    # An edge at 0, so that no bin holds both what points to the person and what misleads.
    width = edges[1] - edges[0]
    edges = width * np.arange(np.floor(edges[0] / width), np.floor(edges[-1] / width) + 2.0)
    return as_curve((edges[1:] + edges[:-1]) / 2.0, binned(finite, edges) / len(lid))


def _posterior(evidence: RowEvidence, prior: FloatArray | None) -> Curve:
    """Probability of the true identity, trials from the least to the most exposed (x is their share), and before."""
    before = np.full(len(evidence.lid), 1.0 / evidence.identities) if prior is None else prior
    after = np.exp2(evidence.lid) * before
    order = np.argsort(after, kind="stable")
    keep = thinned(len(order))
    return as_curve((keep + 1.0) / len(order), after[order][keep], before[order][keep])


def _over_priors(evidence: RowEvidence, prior: FloatArray | None) -> Curve:
    """ALID over the prior log-odds of the true identity, the others sharing the rest; a prior tells nothing at all."""
    before = 1.0 / evidence.identities if prior is None else prior
    ratio = log_ratio_from_lid(evidence.lid, before)
    mean = total_lid_at(ratio, LOG_ODDS_GRID) / len(ratio)
    return as_curve(LOG_ODDS_GRID, mean, np.zeros(len(LOG_ODDS_GRID)))


def _rank_disclosure(evidence: RowEvidence, ranks: IntArray) -> Curve:
    """Bits that each rank discloses; ranks where no trial stands are left out, those that disclose most are not."""
    gamma = rank_disclosure(evidence.greater, evidence.equal, evidence.identities).gamma
    shown = np.union1d(ranks, [int(gamma.argmax()) + 1])
    shown = shown[gamma[shown - 1] > 0.0]
    return as_curve(shown, np.log2(evidence.identities * gamma[shown - 1]))


def _curves(
    matrix: ScoreMatrix, folds: Sequence[Fold], evidence: RowEvidence, prior: FloatArray | None
) -> dict[str, Curve]:
    curves = evidence_curves(evidence, None if prior is None else check_prior(prior, evidence.identities)[matrix.mated])
    parts = [(len(f.rows), singling_out_curve(matrix.scores[f.rows], f.others)) for f in folds]
    singled = sum(n * curve.y for n, curve in parts) / len(matrix.mated)
    first = parts[0][1]
    curves["singling_out_over_identities"] = as_curve(first.x, np.asarray(singled), first.baseline)
    return curves


def calibrated(scores: FloatArray, calibration: RowCalibration, ddof: int) -> FloatArray:
    """LLRs of whole rows."""
    return calibration.llr(standardise(scores.astype(np.float64), ddof=ddof))


def calibrated_rows(matrix: ScoreMatrix, folds: Sequence[Fold], options: Options) -> FloatArray:
    """LLRs of all rows, each by the calibration of its fold."""
    llrs = np.empty(matrix.scores.shape)
    for fold in folds:
        llrs[fold.rows] = calibrated(matrix.scores[fold.rows], fold.calibration, options.ddof)
    return llrs


def lid_of_everyone(matrix: ScoreMatrix, found: Search, options: Options) -> FloatArray:
    """LID of every identity as if it were the true one, trials x identities."""
    log_prior = -np.log(matrix.scores.shape[1]) if found.prior is None else np.log(found.prior)
    lid = np.empty(matrix.scores.shape)
    for fold in found.folds:
        llr = calibrated(matrix.scores[fold.rows], fold.calibration, options.ddof)
        weighed = llr + log_prior
        top = weighed.max(axis=1, keepdims=True)
        lid[fold.rows] = llr - top - np.log(np.exp(weighed - top).sum(axis=1, keepdims=True))
    lid[matrix.scores.max(axis=1) == matrix.scores.min(axis=1)] = 0.0
    return lid / LN2

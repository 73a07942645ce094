"""The search through one matrix of trials and identities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import RowCalibration, check_searchable, fit_rows, speaker_folds
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.evaluation.rows.curves import Curve
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.setup import SearchSetup
from zeroevidence.evaluation.search.curves import SearchedFold, alid_over_identities, evidence_curves
from zeroevidence.evaluation.search.development import development_flags
from zeroevidence.evaluation.search.people import count_by_person, names_on_top
from zeroevidence.evaluation.search.task import (
    Fold,
    SearchResult,
    SearchTask,
    mean_over_folds,
    search_metrics,
    trial_table,
)
from zeroevidence.measure.search.disclosure import RowEvidence, check_prior, row_evidence
from zeroevidence.measure.search.longitudinal import FusedEvidence, fuse_recordings, recording_counts
from zeroevidence.measure.search.singling import firing_counts, firing_threshold, singling_out_curve
from zeroevidence.measure.softplus import LN2
from zeroevidence.uncertainty.null import ROWS_LIMIT
from zeroevidence.uncertainty.resampling.search import IdentityEvidence, SearchResampler
from zeroevidence.uncertainty.search_null import HypotheticalEvidence


@dataclass(frozen=True, slots=True, eq=False)
class MatrixSearch(SearchTask):
    """A matrix whose trials are all of enrolled people.

    Parameters
    ----------
    matrix
        Trials against identities.
    dev
        Development people to calibrate on; without them the calibration is cross-fitted over speakers.
    prior
        Probability of each identity beforehand; equal unless given.
    """

    matrix: ScoreMatrix
    dev: ScoreMatrix | None = None
    prior: FloatArray | None = None

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrix."""
        return (self.matrix,)

    @property
    def development(self) -> tuple[ScoreMatrix, ...]:
        """The matrix of the development people, where there is one."""
        return () if self.dev is None else (self.dev,)

    @property
    def flags(self) -> list[Flag]:
        """Warnings where development people were searched in another way."""
        return [] if self.dev is None else development_flags(self.matrix, self.dev)

    @property
    def speaker_codes(self) -> IntArray:
        """The column of each trial's speaker."""
        return self.matrix.mated

    def run(self, options: Options) -> SearchResult:
        """Calibrate the scores and measure the search."""
        scores, mated, prior = self.matrix.scores, self.matrix.mated, self.prior
        check_searchable(scores, mated, ddof=options.ddof)
        folds = fit_folds(self.matrix, self.dev, options)
        lid = np.empty(len(mated))
        greater, equal, singled = (np.empty(len(mated), dtype=np.int64) for _ in range(3))
        for fold in folds:
            part = scores if len(folds) == 1 else scores[fold.rows]
            evidence = row_evidence(part, mated[fold.rows], fold.calibration, ddof=options.ddof, prior=prior)
            lid[fold.rows], greater[fold.rows], equal[fold.rows] = evidence.lid, evidence.greater, evidence.equal
            fires = firing_counts(part, firing_threshold(fold.threshold_scores, scores.shape[1]))
            singled[fold.rows] = fires == 1
        evidence = RowEvidence(lid, greater, equal, scores.shape[1])
        setup = SearchSetup.fitted(
            [fold.calibration for fold in folds], options, cross_fitted=self.dev is None, prior=prior is not None
        )
        trials = trial_table(self.matrix.trial_names, self.matrix.mated_names, evidence)
        names = count_by_person(trials, names_on_top(self.matrix))
        return SearchResult(
            metrics=search_metrics(evidence, singled, setup, names),
            trials=trials,
            evidence=evidence,
            singled=singled,
            folds=folds,
            setup=setup,
            names=names,
            prior=prior,
        )

    def curves(self, result: SearchResult, options: Options) -> dict[str, Curve]:
        """Curves of figures."""
        folds, evidence = result.folds, result.evidence
        prior = None if self.prior is None else check_prior(self.prior, evidence.identities)
        scores, mated = self.matrix.scores, self.matrix.mated
        singled = [(len(fold.rows), singling_out_curve(scores[fold.rows], fold.threshold_scores)) for fold in folds]
        others = [mated[fold.rest] if self.dev is None else self.dev.mated for fold in folds]
        parts = (  # one at a time: together they would be a second matrix
            SearchedFold(scores[fold.rows], mated[fold.rows], fold, mated_elsewhere)
            for fold, mated_elsewhere in zip(folds, others, strict=True)
        )
        return {
            **evidence_curves(evidence, None if prior is None else prior[mated]),
            **alid_over_identities(scores.size, parts, options, prior),
            "singling_out_over_identities": mean_over_folds(singled),
        }

    def resampler(self, result: SearchResult, options: Options) -> SearchResampler:
        """The search on fewer people; beyond a size the enrolled identities stay as they are."""
        scores, identities = self.matrix.scores, None
        if scores.size <= ROWS_LIMIT:
            n = scores.shape[1]
            fires = np.empty(scores.shape, dtype=bool)
            for fold in result.folds:
                fires[fold.rows] = scores[fold.rows] > firing_threshold(fold.threshold_scores, n)
            prior = np.full(n, 1.0 / n) if self.prior is None else self.prior
            lid = self._lid_of_every_identity(result.folds, options)
            identities = IdentityEvidence(scores, self.matrix.mated, lid, prior, fires)
        return SearchResampler(
            result.evidence,
            result.singled,
            self.matrix.mated,
            seed=options.seed,
            most=options.intervals,
            everyone=identities,
        )

    def hypothetical(self, result: SearchResult, options: Options) -> list[HypotheticalEvidence]:
        """What each trial would show if somebody else were its speaker."""
        return [HypotheticalEvidence.ranked(self.matrix, self._lid_of_every_identity(result.folds, options))]

    def fuse_recordings(self, result: SearchResult, options: Options) -> list[FusedEvidence]:
        """What an attacker learns who holds 2, 3, ... recordings, for each number that enough people have."""
        numbers = recording_counts(self.matrix.mated)
        if numbers == [1] or len(np.unique(self.matrix.mated)) < 2:
            return []
        llrs = np.empty(self.matrix.scores.shape)
        for fold in result.folds:
            llrs[fold.rows] = fold.llrs(self.matrix.scores[fold.rows], options.ddof)
        dev = None if self.dev is None else (result.folds[0].llrs(self.dev.scores, options.ddof), self.dev.mated)
        log_prior = None if self.prior is None else np.log(self.prior)
        fused = fuse_recordings(llrs, self.matrix.mated, ks=numbers, dev=dev, log_prior=log_prior, seed=options.seed)
        return fused[1:]

    def _lid_of_every_identity(self, folds: list[Fold], options: Options) -> FloatArray:
        """LID of every identity as if it were the true one, trials x identities."""
        scores = self.matrix.scores
        log_prior = -np.log(scores.shape[1]) if self.prior is None else np.log(self.prior)
        lid = np.empty(scores.shape)
        for fold in folds:
            llr = fold.llrs(scores[fold.rows], options.ddof)
            weighed = llr + log_prior
            top = weighed.max(axis=1, keepdims=True)
            lid[fold.rows] = llr - top - np.log(np.exp(weighed - top).sum(axis=1, keepdims=True))
        lid[scores.max(axis=1) == scores.min(axis=1)] = 0.0
        return lid / LN2


def average_disclosure(matrix: ScoreMatrix, options: Options | None = None) -> float:
    """ALID of a search alone, cross-fitted by speaker: the number by which development people choose attackers.

    Examples
    --------
    >>> mated = np.arange(40) % 8
    >>> scores = np.random.default_rng(0).normal(size=(40, 8)) + 3.0 * np.eye(8)[mated]
    >>> 1.0 < average_disclosure(ScoreMatrix(scores, mated)) < 3.0
    True
    """
    return disclosure_with_error(matrix, options)[0]


def disclosure_with_error(matrix: ScoreMatrix, options: Options | None = None) -> tuple[float, float]:
    """Return `average_disclosure` and its standard error over people."""
    options, matrix = options or Options(), sort_by_name(matrix)
    lid = np.empty(len(matrix.mated))
    for fold in fit_folds(matrix, None, options):
        rows = fold.rows
        lid[rows] = row_evidence(matrix.scores[rows], matrix.mated[rows], fold.calibration, ddof=options.ddof).lid
    counts = np.bincount(matrix.mated)
    excess = np.bincount(matrix.mated, lid - lid.mean())[counts > 0]
    people = len(excess)
    return float(lid.mean()), float(np.sqrt(people / max(people - 1, 1) * (excess**2).sum()) / len(lid))


def fit_folds(matrix: ScoreMatrix, dev: ScoreMatrix | None, options: Options) -> list[Fold]:
    """One fold calibrated on development data, or several, each calibrated on the other speakers."""

    def fit(scores: FloatArray, mated: IntArray) -> RowCalibration:
        return fit_rows(
            scores,
            mated,
            method=options.calibration,
            scaling=options.row_scaling,
            ddof=options.ddof,
            l2=options.l2,
            balanced=options.balanced,
            seed=options.seed,
        )

    rows = np.arange(len(matrix.mated))
    if dev is not None:
        return [Fold(rows, fit(dev.scores, dev.mated), dev.scores)]
    folds = []
    for held_out in speaker_folds(matrix.mated, seed=options.seed):
        rest = np.setdiff1d(rows, held_out)
        folds.append(Fold(held_out, fit(matrix.scores[rest], matrix.mated[rest]), matrix.scores, rest))
    return folds

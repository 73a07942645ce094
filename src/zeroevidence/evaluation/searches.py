"""Searches through enrolled identities: through one matrix, or through one for each fold of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import Fold, RowFit, check_searchable, fit_rows, row_llrs, speaker_folds
from zeroevidence.data.matrix import ExchangedPeople, FoldedScores, ScoreMatrix, column_speakers
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.errors import InputError
from zeroevidence.evaluation import search_task
from zeroevidence.evaluation.people import count_by_person, first_names, names_on_top
from zeroevidence.evaluation.rows.curves import Trials
from zeroevidence.evaluation.rows.flags import Flag, flag
from zeroevidence.evaluation.rows.setup import Options, SearchSetup
from zeroevidence.evaluation.score_checks import development_flags
from zeroevidence.evaluation.search_task import SearchResult, SearchTask
from zeroevidence.measure.search import longitudinal
from zeroevidence.measure.search.disclosure import RowEvidence, join_evidence, row_evidence
from zeroevidence.measure.search.longitudinal import FusedEvidence
from zeroevidence.measure.search.sizes import IdentityEvidence, SearchedFold
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import NameCounts
from zeroevidence.run import Run
from zeroevidence.uncertainty.null import ROWS_LIMIT
from zeroevidence.uncertainty.search import HypotheticalRanks, SearchResampler


def prior_of_columns(prior: Mapping[str, float] | None, matrix: ScoreMatrix) -> FloatArray | None:
    """Return the probability of each enrolled identity, where these are given by name."""
    if prior is None:
        return None
    names = matrix.enrolment_names.tolist()
    for name in sorted(prior.keys() ^ set(names)):
        wrong = "has a probability but is not enrolled" if name in prior else "is enrolled but has no probability"
        raise InputError(f"prior: {name!r} {wrong}")
    return np.array([prior[name] for name in names])


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
    options
        How to measure.
    run
        Seed and level.
    """

    matrix: ScoreMatrix
    dev: ScoreMatrix | None = None
    prior: FloatArray | None = None
    options: Options = Options()
    run: Run = Run()

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrix."""
        return (self.matrix,)

    @property
    def development(self) -> tuple[ScoreMatrix, ...]:
        """The matrix of the development people, where there is one."""
        return () if self.dev is None else (self.dev,)

    @property
    def exchanged(self) -> ExchangedPeople:
        """Who may be exchanged with whom."""
        return self.matrix.exchanged

    @property
    def flags(self) -> list[Flag]:
        """Warnings where development people were searched in another way."""
        return [] if self.dev is None else development_flags(self.matrix, self.dev)

    @property
    def speaker_codes(self) -> IntArray:
        """The column of each trial's speaker."""
        return self.matrix.mated

    def measure(self) -> SearchResult:
        """Calibrate the scores and measure the search."""
        scores, mated, prior = self.matrix.scores, self.matrix.mated, self.prior
        check_searchable(scores, mated)
        folds = fit_folds(self.matrix, self.dev, self.row_fit)
        lid = np.empty(len(mated))
        greater, equal, singled = (np.empty(len(mated), dtype=np.int64) for _ in range(3))
        for fold in folds:
            part = scores if len(folds) == 1 else scores[fold.rows]
            evidence = row_evidence(part, mated[fold.rows], fold.calibration, prior=prior)
            lid[fold.rows], greater[fold.rows], equal[fold.rows] = evidence.lid, evidence.greater, evidence.equal
            singled[fold.rows] = longitudinal.singled_out(part, fold.threshold_scores)
        evidence = RowEvidence(lid, greater, equal, scores.shape[1])
        setup = SearchSetup.fitted(
            [fold.calibration for fold in folds], self.options, cross_fitted=self.dev is None, prior=prior is not None
        )
        before = None if prior is None else prior[mated] / prior.sum()
        trials = search_task.trial_table(self.matrix.trial_names, self.matrix.mated_names, evidence, before)
        names = count_by_person(trials, names_on_top(self.matrix))
        metrics = search_task.search_metrics(evidence, singled, setup, names, search_task.line_of(folds))
        return SearchResult(metrics, trials, evidence, singled, folds, setup, names, prior)

    def searched_folds(self, result: SearchResult) -> Iterator[SearchedFold]:
        """The trials of each fold."""
        people = np.arange(self.matrix.scores.shape[1])
        fitted = people if self.dev is None else len(people) + np.arange(self.dev.scores.shape[1])
        for fold in result.folds:
            mated = self.matrix.mated[fold.rows]
            yield SearchedFold(self.matrix.scores[fold.rows], mated, fold, mated, people, fitted)

    def resampler(self, result: SearchResult) -> SearchResampler:
        """The search on fewer people; beyond a size the calibration stays as it is, and then the identities too."""
        scores, identities = self.matrix.scores, None
        refitted, most = self.refitted(result)
        if refitted is None and scores.size <= ROWS_LIMIT:
            n = scores.shape[1]
            fires = np.empty(scores.shape, dtype=bool)
            for fold in result.folds:
                fires[fold.rows] = scores[fold.rows] > longitudinal.firing_threshold(fold.threshold_scores, n)
            prior = np.full(n, 1.0 / n) if self.prior is None else self.prior
            lid = self._lid_of_every_identity(result.folds)
            identities = IdentityEvidence(scores, self.matrix.mated, lid, prior, fires)
        return SearchResampler(
            result.evidence,
            result.singled,
            self.matrix.mated,
            seed=self.run.seed,
            most=most,
            everyone=identities,
            refitted=refitted,
            rivals=None if identities is None and refitted is None else self._rivals(result.evidence),
        )

    def _rivals(self, evidence: RowEvidence) -> IntArray:
        """For each trial, the only identity that scores higher than the true one; -1 where there is none or several."""
        return np.where((evidence.greater == 1) & (evidence.equal == 0), self.matrix.scores.argmax(axis=1), -1)

    def hypothetical(self, folds: Sequence[Fold]) -> list[HypotheticalRanks]:
        """The rank of everybody else as the speaker of each trial."""
        return [HypotheticalRanks.among_all(self.matrix, folds, self.prior)]

    def fuse_recordings(self, result: SearchResult) -> list[FusedEvidence]:
        """What an attacker learns who holds 2, 3, ... recordings, for each number that enough people have."""
        numbers = longitudinal.recording_counts(self.matrix.mated)
        if numbers == [1] or len(np.unique(self.matrix.mated)) < 2:
            return []
        llrs = np.empty(self.matrix.scores.shape)
        for fold in result.folds:
            llrs[fold.rows] = row_llrs(self.matrix.scores[fold.rows], fold.calibration)
        dev = None if self.dev is None else (row_llrs(self.dev.scores, result.folds[0].calibration), self.dev.mated)
        log_prior = None if self.prior is None else np.log(self.prior)
        fused = longitudinal.fuse_recordings(
            llrs, self.matrix.mated, ks=numbers, dev=dev, log_prior=log_prior, seed=self.run.seed
        )
        return fused[1:]

    def _lid_of_every_identity(self, folds: Sequence[Fold]) -> FloatArray:
        """LID of every identity as if it were the true one, trials x identities."""
        scores = self.matrix.scores
        log_prior = -np.log(scores.shape[1]) if self.prior is None else np.log(self.prior)
        lid = np.empty(scores.shape)
        for fold in folds:
            llr = row_llrs(scores[fold.rows], fold.calibration)
            weighed = llr + log_prior
            top = weighed.max(axis=1, keepdims=True)
            lid[fold.rows] = llr - top - np.log(np.exp(weighed - top).sum(axis=1, keepdims=True))
        lid[scores.max(axis=1) == scores.min(axis=1)] = 0.0
        return lid / LN2


def average_disclosure(matrix: ScoreMatrix) -> float:
    """ALID of a search alone, cross-fitted by speaker: the number by which development people choose attackers.

    Examples
    --------
    >>> mated = np.arange(40) % 8
    >>> scores = np.random.default_rng(0).normal(size=(40, 8)) + 3.0 * np.eye(8)[mated]
    >>> 1.0 < average_disclosure(ScoreMatrix(scores, mated)) < 3.0
    True
    """
    return disclosure_with_error(matrix)[0]


def disclosure_with_error(matrix: ScoreMatrix) -> tuple[float, float]:
    """Return `average_disclosure` and its standard error over people."""
    matrix = sort_by_name(matrix)
    lid = np.empty(len(matrix.mated))
    for fold in fit_folds(matrix, None, RowFit()):
        rows = fold.rows
        lid[rows] = row_evidence(matrix.scores[rows], matrix.mated[rows], fold.calibration).lid
    counts = np.bincount(matrix.mated)
    excess = np.bincount(matrix.mated, lid - lid.mean())[counts > 0]
    people = len(excess)
    return float(lid.mean()), float(np.sqrt(people / max(people - 1, 1) * (excess**2).sum()) / len(lid))


def fit_folds(matrix: ScoreMatrix, dev: ScoreMatrix | None, how: RowFit) -> list[Fold]:
    """One fold calibrated on development data, or several, each calibrated on the other speakers."""
    rows = np.arange(len(matrix.mated))
    if dev is not None:
        return [Fold(rows, fit_rows(dev.scores, dev.mated, how), dev.scores, dev.mated)]
    folds = []
    for held_out in speaker_folds(matrix.mated, seed=how.seed):
        rest = np.setdiff1d(rows, held_out)
        calibration = fit_rows(matrix.scores[rest], matrix.mated[rest], how)
        folds.append(Fold(held_out, calibration, matrix.scores, matrix.mated, rest))
    return folds


@dataclass(frozen=True, slots=True, eq=False)
class FoldedSearch(SearchTask):
    """Searches of all folds of people as one, each calibrated on the development people of its fold."""

    scores: FoldedScores
    options: Options = Options()
    run: Run = Run()

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrix of each fold."""
        return self.scores.parts

    @property
    def development(self) -> tuple[ScoreMatrix, ...]:
        """The matrix of the development people of each fold."""
        return self.scores.dev

    @property
    def splits(self) -> int:
        """How often people were dealt to folds."""
        return self.scores.splits

    @property
    def exchanged(self) -> ExchangedPeople:
        """Who may be exchanged with whom."""
        return self.scores.exchanged

    @property
    def speaker_codes(self) -> IntArray:
        """A number from 0 on for the speaker of each trial."""
        return search_task.name_codes(np.concatenate([part.mated_names for part in self.parts]))

    @property
    def flags(self) -> list[Flag]:
        """That people were cross-validated."""
        return [flag("cross-validated", folds=len(self.parts) // self.splits, splits=self.splits)]

    def measure(self) -> SearchResult:
        """Calibrate and measure the searches of all folds as one."""
        folds, first = [], 0
        for part, dev in zip(self.parts, self.development, strict=True):
            search_task.check_disjoint(part, dev)
            (fold,) = fit_folds(part, dev, self.row_fit)
            folds.append(replace(fold, rows=first + fold.rows))
            first += len(fold.rows)
        searched = self._searched_rows()
        evidence = join_evidence(
            [
                row_evidence(rows, np.zeros(len(rows), dtype=np.int64), fold.calibration)
                for rows, fold in zip(searched, folds, strict=True)
            ]
        )
        singled = np.concatenate(
            [longitudinal.singled_out(rows, fold.threshold_scores) for rows, fold in zip(searched, folds, strict=True)]
        )
        calibrations = [fold.calibration for fold in folds]
        fitted = SearchSetup.fitted(calibrations, self.options, cross_fitted=False, prior=False)
        setup = replace(fitted, folds=self.scores.sizes[: len(self.parts) // self.splits], splits=self.splits)
        speakers = np.concatenate([part.mated_names for part in self.parts])
        trials = search_task.trial_table(self.scores.trials, speakers, evidence)
        names = self._names(trials, searched)
        metrics = search_task.search_metrics(evidence, singled, setup, names, search_task.line_of(folds))
        return SearchResult(metrics, trials, evidence, singled, folds, setup, names)

    def searched_folds(self, result: SearchResult) -> Iterator[SearchedFold]:
        """The trials of each fold, whose true identity comes first."""
        names = np.unique(np.concatenate([column_speakers(part) for part in (*self.parts, *self.development)]))
        for part, dev, rows, fold in zip(
            self.parts, self.development, self._searched_rows(), result.folds, strict=True
        ):
            speakers, fitted = (np.searchsorted(names, whose) for whose in (part.mated_names, column_speakers(dev)))
            yield SearchedFold(rows, np.zeros(len(rows), dtype=np.int64), fold, speakers, None, fitted)

    def resampler(self, result: SearchResult) -> SearchResampler:
        """The search on fewer people, with the enrolled identities as they are.

        A fold that loses one of few identities is another search than the folds that do not.
        """
        refitted, most = self.refitted(result)
        return SearchResampler(
            result.evidence,
            result.singled,
            result.trials.speaker if refitted is None else np.concatenate([fold.speakers for fold in refitted.folds]),
            seed=self.run.seed,
            most=most,
            refitted=refitted,
        )

    def hypothetical(self, folds: Sequence[Fold]) -> list[HypotheticalRanks]:
        """The rank of each person of the fold, among whose candidates a trial is searched, as its speaker."""
        parts = []
        for number, (part, fold) in enumerate(zip(self.parts, folds, strict=True)):
            of_part = [replace(fold, rows=np.arange(len(part.mated)))]
            if part.scores.shape[1] == self.scores.identities:
                parts.append(HypotheticalRanks.among_all(part, of_part))
            else:
                parts.append(HypotheticalRanks.among(part, of_part, self.scores.candidates(number)))
        return parts

    def _names(self, trials: Trials, searched: Sequence[FloatArray]) -> NameCounts:
        """How often each name came first; it can only do so in searches that it is part of."""
        on_top, compared_names = [], []
        for fold, (part, rows) in enumerate(zip(self.parts, searched, strict=True)):
            names = column_speakers(part)[self.scores.candidates(fold)[part.mated]]
            compared_names.append(names[:, 1:].ravel())
            on_top.append(first_names(rows, names))
        names, times = np.unique(np.concatenate(compared_names), return_counts=True)
        compared = dict(zip(names.tolist(), times.tolist(), strict=True))
        counts = count_by_person(trials, np.concatenate(on_top), compared)
        columns = (getattr(counts, field.name) for field in fields(NameCounts))
        return counts if self.splits == 1 else NameCounts(*(column / self.splits for column in columns))

    def fuse_recordings(self, result: SearchResult) -> list[FusedEvidence]:
        """What an attacker learns who holds several recordings, for numbers that development people have too."""
        first = sum(len(part.mated) for part in self.parts[: len(self.parts) // self.splits])  # trials of one split
        numbers = set(longitudinal.recording_counts(search_task.name_codes(result.trials.speaker[:first])))
        ks = sorted(numbers.intersection(*(longitudinal.recording_counts(dev.mated) for dev in self.development)))
        if ks == [1]:
            return []
        fused: list[list[FusedEvidence]] = []
        places: list[IntArray] = []
        for number, rows in enumerate(self._searched_rows()):
            fold = result.folds[number]
            for trials in _trials_of_distinct_people(self.parts[number].mated, self.scores.identities):
                places.append(fold.rows[trials])
                fused.append(self._fuse_fold(number, fold, rows[trials], trials, ks))
        order = np.argsort(np.concatenate(places))
        return [_joined(parts, order) for parts in list(zip(*fused, strict=True))[1:]]

    def _fuse_fold(
        self, number: int, fold: Fold, rows: FloatArray, trials: IntArray, ks: Sequence[int]
    ) -> list[FusedEvidence]:
        identities = self.scores.identities
        column = self.parts[number].mated[trials] % identities
        turned = (np.arange(identities) - column[:, None]) % identities  # the true one, first, goes to its column
        llrs: FloatArray = np.take_along_axis(row_llrs(rows, fold.calibration), turned, axis=1)
        dev = self.development[number]
        return longitudinal.fuse_recordings(
            llrs, column, ks=ks, dev=(row_llrs(dev.scores, fold.calibration), dev.mated), seed=self.run.seed
        )

    def _searched_rows(self) -> list[FloatArray]:
        """For each fold its trials against the identities that each is searched among, the true one first."""
        return [
            np.take_along_axis(part.scores, self.scores.candidates(fold)[part.mated], axis=1)
            for fold, part in enumerate(self.parts)
        ]


def _trials_of_distinct_people(mated: IntArray, size: int) -> list[IntArray]:
    """Trials of at most so many people each: people who are fused together need a column each."""
    groups = (np.flatnonzero(mated // size == group) for group in range(int(mated.max()) // size + 1))
    return [trials for trials in groups if len(trials)]


def _joined(parts: Sequence[FusedEvidence], order: IntArray) -> FusedEvidence:
    """The same number of recordings in all folds, in the order of the trials."""
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("lid", "greater", "equal", "singled")
    }
    return FusedEvidence(parts[0].k, **columns)

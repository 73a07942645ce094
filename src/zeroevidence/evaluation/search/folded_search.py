"""A search that was cross-validated over people: every fold with its own calibration, all trials in one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.folded_scores import FoldedScores, column_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.rows.curves import Curve
from zeroevidence.evaluation.rows.flags import Flag, flag
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.setup import SearchSetup
from zeroevidence.evaluation.rows.trials import Trials
from zeroevidence.evaluation.search.curves import SearchedFold, alid_over_identities, evidence_curves
from zeroevidence.evaluation.search.matrix_search import fit_folds
from zeroevidence.evaluation.search.people import count_by_person, first_names
from zeroevidence.evaluation.search.task import (
    Fold,
    SearchResult,
    SearchTask,
    check_disjoint,
    mean_over_folds,
    name_codes,
    search_metrics,
    trial_table,
)
from zeroevidence.measure.search.disclosure import join_evidence, row_evidence
from zeroevidence.measure.search.longitudinal import FusedEvidence, fuse_recordings, recording_counts
from zeroevidence.measure.search.named import first_identity
from zeroevidence.measure.search.singling import firing_counts, firing_threshold, singling_out_curve
from zeroevidence.measure.views import NameCounts
from zeroevidence.uncertainty.resampling.search import SearchResampler
from zeroevidence.uncertainty.search_null import HypotheticalEvidence


@dataclass(frozen=True, slots=True, eq=False)
class FoldedSearch(SearchTask):
    """Searches of all folds of people as one, each calibrated on the development people of its fold."""

    scores: FoldedScores

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrix of each fold."""
        return self.scores.parts

    @property
    def development(self) -> tuple[ScoreMatrix, ...]:
        """The matrix of the development people of each fold."""
        return self.scores.dev

    @property
    def speaker_codes(self) -> IntArray:
        """A number from 0 on for the speaker of each trial."""
        return name_codes(np.concatenate([part.mated_names for part in self.parts]))

    @property
    def flags(self) -> list[Flag]:
        """That people were cross-validated."""
        return [flag("cross-validated", folds=len(self.parts))]

    def run(self, options: Options) -> SearchResult:
        """Calibrate and measure the searches of all folds as one."""
        folds, first = [], 0
        for part, dev in zip(self.parts, self.development, strict=True):
            check_disjoint(part, dev)
            (fold,) = fit_folds(part, dev, options)
            folds.append(replace(fold, rows=first + fold.rows))
            first += len(fold.rows)
        identities = self.scores.identities
        evidence = join_evidence([fold.evidence(fold.mated, identities) for fold in self._hypothetical(folds, options)])
        searched = self._searched_rows()
        singled = np.concatenate([_singled_out(rows, fold) for rows, fold in zip(searched, folds, strict=True)])
        calibrations = [fold.calibration for fold in folds]
        fitted = SearchSetup.fitted(calibrations, options, cross_fitted=False, prior=False)
        setup = replace(fitted, folds=self.scores.sizes)
        trials = trial_table(self.scores.trials, np.concatenate([part.mated_names for part in self.parts]), evidence)
        names = self._names(trials, searched)
        return SearchResult(
            metrics=search_metrics(evidence, singled, setup, names),
            trials=trials,
            evidence=evidence,
            singled=singled,
            folds=folds,
            setup=setup,
            names=names,
        )

    def curves(self, result: SearchResult, options: Options) -> dict[str, Curve]:
        """Curves of figures."""
        searched = list(zip(self._searched_rows(), result.folds, strict=True))
        singling_out = [(len(rows), singling_out_curve(rows, fold.threshold_scores)) for rows, fold in searched]
        parts = (
            SearchedFold(rows, np.zeros(len(rows), dtype=np.int64), fold, dev.mated)  # the true one is the first
            for (rows, fold), dev in zip(searched, self.development, strict=True)
        )
        return {
            **evidence_curves(result.evidence),
            **alid_over_identities(self.size, parts, options),
            "singling_out_over_identities": mean_over_folds(singling_out),
        }

    def resampler(self, result: SearchResult, options: Options) -> SearchResampler:
        """The search on fewer people, with the enrolled identities as they are.

        A fold that loses one of few identities is another search than the folds that do not.
        """
        return SearchResampler(
            result.evidence, result.singled, result.trials.speaker, seed=options.seed, most=options.intervals
        )

    def hypothetical(self, result: SearchResult, options: Options) -> list[HypotheticalEvidence]:
        """What each trial would show if another person of its fold were its speaker."""
        return self._hypothetical(result.folds, options)

    def _hypothetical(self, folds: Sequence[Fold], options: Options) -> list[HypotheticalEvidence]:
        """The same, each trial being searched among the candidates of the other person."""
        evidence = []
        for number, (part, fold) in enumerate(zip(self.parts, folds, strict=True)):
            first = np.zeros(len(part.mated), dtype=np.int64)  # a person's own column is the first candidate
            columns = [
                row_evidence(part.scores[:, candidates], first, fold.calibration, ddof=options.ddof)
                for candidates in self.scores.candidates(number)
            ]
            lid, greater, equal = (
                np.column_stack([getattr(column, name) for column in columns]) for name in ("lid", "greater", "equal")
            )
            among = self.scores.candidates(number)
            on_top = [first_identity(part.scores[:, candidates]) for candidates in among]
            first_of_all = np.column_stack(
                [np.where(top >= 0, candidates[top], -1) for top, candidates in zip(on_top, among, strict=True)]
            )
            evidence.append(HypotheticalEvidence(part.mated, lid, greater, equal, first_of_all, among))
        return evidence

    def _names(self, trials: Trials, searched: Sequence[FloatArray]) -> NameCounts:
        """How often each name came first; it can only do so in searches that it is part of."""
        on_top, compared_names = [], []
        for fold, (part, rows) in enumerate(zip(self.parts, searched, strict=True)):
            names = column_speakers(part)[self.scores.candidates(fold)[part.mated]]
            compared_names.append(names[:, 1:].ravel())
            on_top.append(first_names(rows, names))
        names, times = np.unique(np.concatenate(compared_names), return_counts=True)
        compared = dict(zip(names.tolist(), times.tolist(), strict=True))
        return count_by_person(trials, np.concatenate(on_top), compared)

    def fuse_recordings(self, result: SearchResult, options: Options) -> list[FusedEvidence]:
        """What an attacker learns who holds several recordings, for numbers that development people have too."""
        numbers = set(recording_counts(name_codes(result.trials.speaker)))
        ks = sorted(numbers.intersection(*(recording_counts(dev.mated) for dev in self.development)))
        if ks == [1]:
            return []
        fused: list[list[FusedEvidence]] = []
        places: list[IntArray] = []
        for number, rows in enumerate(self._searched_rows()):
            fold = result.folds[number]
            for trials in _trials_of_distinct_people(self.parts[number].mated, self.scores.identities):
                places.append(fold.rows[trials])
                fused.append(self._fuse_fold(number, fold, rows[trials], trials, ks, options))
        order = np.argsort(np.concatenate(places))
        return [_joined(parts, order) for parts in list(zip(*fused, strict=True))[1:]]

    def _fuse_fold(
        self, number: int, fold: Fold, rows: FloatArray, trials: IntArray, ks: Sequence[int], options: Options
    ) -> list[FusedEvidence]:
        identities = self.scores.identities
        column = self.parts[number].mated[trials] % identities
        turned = (np.arange(identities) - column[:, None]) % identities  # the true one, first, goes to its column
        llrs: FloatArray = np.take_along_axis(fold.llrs(rows, options.ddof), turned, axis=1)
        dev = self.development[number]
        return fuse_recordings(
            llrs, column, ks=ks, dev=(fold.llrs(dev.scores, options.ddof), dev.mated), seed=options.seed
        )

    def _searched_rows(self) -> list[FloatArray]:
        """For each fold its trials against the identities that each is searched among, the true one first."""
        return [
            np.take_along_axis(part.scores, self.scores.candidates(fold)[part.mated], axis=1)
            for fold, part in enumerate(self.parts)
        ]


def _singled_out(rows: FloatArray, fold: Fold) -> IntArray:
    fires = firing_counts(rows, firing_threshold(fold.threshold_scores, rows.shape[1]))
    singled: IntArray = (fires == 1).astype(np.int64)
    return singled


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
    worth = np.average([part.worth for part in parts], weights=[len(part.lid) for part in parts])
    return FusedEvidence(parts[0].k, float(worth), **columns)

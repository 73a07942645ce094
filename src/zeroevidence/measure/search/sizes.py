"""Searches without some people: another calibration, and fewer rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.calibrate.rows import Fold, fit_rows
from zeroevidence.measure.search.disclosure import RowEvidence, join_evidence, mean_line, row_evidence, search_view
from zeroevidence.measure.search.longitudinal import singled_out
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import SearchView


def fit_without(fold: Fold, left_out: BoolArray) -> Fold | None:
    """Fit again without some people, given by column: as identities and as speakers; None where nothing is left."""
    if not left_out.any():
        return fold
    columns = np.flatnonzero(~left_out)
    rows = np.flatnonzero(~left_out[fold.mated_elsewhere])
    if len(columns) < 2 or len(rows) == 0:
        return None
    scores = fold.threshold_scores[np.ix_(rows, columns)]
    mated = np.searchsorted(columns, fold.mated_elsewhere[rows])
    calibration = fold.calibration
    if calibration.fit is not None:
        calibration = fit_rows(scores, mated, calibration.fit, near=calibration)
    return Fold(fold.rows, calibration, scores, mated)


@dataclass(frozen=True, eq=False)
class IdentityEvidence:
    """Evidence of a search about every identity, trials x identities.

    Parameters
    ----------
    scores
        The scores.
    mated
        The column of the true identity of each trial.
    lid
        LID of each identity as if it were the true one.
    prior
        Probability of each identity beforehand.
    fires
        Whether the predicate of singling out fires on each identity.
    """

    scores: FloatArray
    mated: IntArray
    lid: FloatArray
    prior: FloatArray
    fires: BoolArray

    @cached_property
    def fired(self) -> IntArray:
        """Number of identities on which the predicate of each trial fires."""
        return np.asarray(np.count_nonzero(self.fires, axis=1))

    def without(self, columns: IntArray, rows: IntArray, evidence: RowEvidence) -> tuple[RowEvidence, IntArray]:
        """Return the evidence of some trials without some identities, and whether each singles an identity out."""
        mated, removed = self.mated[rows], np.ix_(rows, columns)
        true = self.scores[rows, mated][:, None]
        greater = evidence.greater[rows] - (self.scores[removed] > true).sum(axis=1)
        equal = evidence.equal[rows] - (self.scores[removed] == true).sum(axis=1)
        fires = self.fired[rows] - self.fires[removed].sum(axis=1)
        # The posterior of the identities that are left out goes to the others, and so does their prior.
        lost = np.exp2(self.lid[removed]) @ self.prior[columns]
        normalisation = np.log1p(-np.minimum(lost, 1.0 - 1e-15)) - np.log1p(-self.prior[columns].sum())
        lid = self.lid[rows, mated] - normalisation / LN2
        identities = evidence.identities - len(columns)
        return RowEvidence(lid, greater, equal, identities), (fires == 1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SearchedFold:
    """Trials that share one calibration, with their scores; people are numbers that all folds share.

    Parameters
    ----------
    scores
        Scores of the trials against the identities that they are searched among.
    mated
        The column of each trial's true identity.
    fold
        Their calibration, and the scores of the people whom it was fitted on.
    speakers
        The person of each trial.
    identities
        The person of each column; None where the same number of identities stays whoever is left out.
    fitted
        The person of each column that the calibration was fitted on.
    """

    scores: FloatArray
    mated: IntArray
    fold: Fold
    speakers: IntArray
    identities: IntArray | None
    fitted: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class RefittedSearch:
    """A search that is measured again without some people, its calibrations fitted without them.

    Parameters
    ----------
    folds
        The trials of each calibration.
    prior
        Probability of each identity beforehand; equal unless given.
    """

    folds: Sequence[SearchedFold]
    prior: FloatArray | None = None

    @property
    def people(self) -> int:
        """Number of all people, those whom calibrations were fitted on among them."""
        return 1 + max(int(max(fold.speakers.max(), fold.fitted.max())) for fold in self.folds)

    @property
    def fitted(self) -> IntArray:
        """The people of the trials that calibrations were fitted on."""
        return np.unique(np.concatenate([part.fitted[part.fold.mated_elsewhere] for part in self.folds]))

    def without(self, left_out: BoolArray) -> SearchView | None:
        """Return the search without some people; None where nothing is left to be fitted or searched."""
        evidence, singled, calibrations = [], [], []
        for searched in self.folds:
            rows = np.flatnonzero(~left_out[searched.speakers])
            if len(rows) == 0:
                continue
            fold = fit_without(searched.fold, left_out[searched.fitted])
            columns = np.arange(searched.scores.shape[1])
            if searched.identities is not None:
                columns = np.flatnonzero(~left_out[searched.identities])
            if fold is None or len(columns) < 2 or fold.threshold_scores.size < len(columns):
                return None
            scores = searched.scores[np.ix_(rows, columns)]
            prior = None if self.prior is None else self.prior[columns] / self.prior[columns].sum()
            mated = np.searchsorted(columns, searched.mated[rows])
            evidence.append(row_evidence(scores, mated, fold.calibration, prior=prior))
            singled.append(singled_out(scores, fold.threshold_scores))
            calibrations.append(fold.calibration)
        if not evidence:
            return None
        line = mean_line(calibrations, [len(part.lid) for part in evidence])
        return replace(search_view(join_evidence(evidence), np.concatenate(singled), line=line), refitted=True)

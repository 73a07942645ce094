"""Smaller searches: without some people, and through random subsets of identities that hold the true one.

A smaller search is another search: its rows are scaled anew, and its calibration is fitted to rows of that size. Pairs
are few enough to take all of them. Of the sum in the posterior of larger searches there is no expectation over subsets
in closed form, so these are drawn, several times over: how far the draws differ says how far their mean may be off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.calibrate.rows import FitFunction, Fold, RowCalibration, fit_rows, row_llrs
from zeroevidence.measure.search.disclosure import RowEvidence, join_evidence, mean_line, row_evidence, search_view
from zeroevidence.measure.search.longitudinal import SizeCurve, check_sizes, lid_of_llrs, singled_out
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import SearchView

MATRIX_LIMIT = 2_000_000  # scores; beyond, drawing subsets of every row takes too long
DRAWS = 8
_DEALT = 1 << 18  # scores of the rows whose identities are dealt into subsets in each draw
_SCORES = 1 << 14  # scores of the subsets of each size and draw: of few rows, several subsets of each
_FITTED = (128, 1024)  # subsets of each size and draw that a calibration is fitted on, at least and at most
_PAIRS = 1 << 16  # at most that the calibration of pairs is fitted on


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
        view = search_view(join_evidence(evidence), np.concatenate(singled), line=line)
        return replace(view, refitted=True)


def alid_curve(
    search: tuple[FloatArray, IntArray],
    calibration: RowCalibration,
    development: tuple[FloatArray, IntArray],
    fit: FitFunction,
    *,
    prior: FloatArray | None = None,
    sizes: Sequence[int] | None = None,
    seed: int = 0,
) -> SizeCurve:
    """ALID in searches through n of the N identities, the true one and n - 1 others drawn at random.

    A trial's others are dealt into subsets, so that each is met equally often; of two identities, these are all pairs.
    At N itself it is the ALID of the whole search. The baseline is 0: nothing is learned.

    Parameters
    ----------
    search
        Scores of trials (rows) against identities (columns), and the column of the true identity of each trial.
    calibration
        The calibration of the whole search.
    development
        Scores and mated columns of other people, to fit the calibrations of smaller searches on; where these are fewer
        than a size, all of them are taken.
    fit
        Fits such a calibration.
    prior
        Probability of each identity beforehand; equal unless given. In a subset they are divided by their sum.
    sizes
        Numbers of identities; powers of two and N itself unless given.
    seed
        Seed of the subsets.

    Examples
    --------
    >>> from zeroevidence.calibrate.rows import fit_rows
    >>> rng = np.random.default_rng(0)
    >>> mated = np.arange(400) % 8
    >>> rows = rng.normal(size=(2, 400, 8)) + 2.0 * np.eye(8)[mated]
    >>> curve = alid_curve((rows[0], mated), fit_rows(rows[1], mated), (rows[1], mated), fit_rows)
    >>> curve.x.tolist(), curve.y[[0, 2]].round(1).tolist(), curve.draws.shape
    ([2, 4, 8], [0.4, 1.7], (8, 3))
    """
    scores, mated = search
    other_scores, other_mated = development
    identities, other_identities = scores.shape[1], other_scores.shape[1]
    x = check_sizes(identities, sizes)

    def lid(rows: IntArray, columns: IntArray, fitted: RowCalibration) -> FloatArray:
        llrs = row_llrs(scores[rows[:, None], columns], fitted)
        log_prior = None if prior is None else np.log(prior[columns] / prior[columns].sum(axis=1, keepdims=True))
        return lid_of_llrs(llrs, np.zeros(len(llrs), dtype=np.int64), log_prior)

    def fit_subsets(rows: IntArray, columns: IntArray) -> RowCalibration:
        return fit(other_scores[rows[:, None], columns], np.zeros(len(rows), dtype=np.int64))

    trials, others = np.arange(len(mated)), np.arange(len(other_mated))
    whole = lid(trials, _mated_first(mated, identities), calibration)
    draws = np.full((DRAWS, len(x)), whole.mean())
    for place in np.flatnonzero((x == 2) & (x < identities)):
        few = others[:: -(-other_scores.size // _PAIRS)]
        fitted = fit_subsets(*_deal(few, _mated_first(other_mated[few], other_identities), 2))
        draws[:, place] = lid(*_deal(trials, _mated_first(mated, identities), 2), fitted).mean()
    drawn = np.flatnonzero((x > 2) & (x < identities))
    least = -(-len(mated) // DRAWS)
    for draw, rng in enumerate(np.random.default_rng(seed).spawn(DRAWS if len(drawn) else 0)):
        heard = rng.permutation(trials)[: max(least, _DEALT // identities)]
        order = _mated_first(mated[heard], identities, rng)
        learned = rng.permutation(others)[: max(_FITTED[0], _DEALT // other_identities)]
        other_order = _mated_first(other_mated[learned], other_identities, rng)
        for place in drawn:
            size = int(x[place])
            wanted = _SCORES // size
            fitted = fit_subsets(*_deal(learned, other_order, size, int(np.clip(wanted, *_FITTED))))
            rows, columns = _deal(heard, order, size, max(wanted, least))
            # what the whole search says of the trials that are left out makes up for most of what they would change
            draws[draw, place] = lid(rows, columns, fitted).mean() - whole[rows].mean() + whole.mean()
    certainty = np.log2(x) if prior is None else np.inf
    draws = np.minimum(draws, certainty)
    return SizeCurve(x, draws.mean(axis=0), np.zeros(len(x)), draws, certainty)


def _mated_first(mated: IntArray, identities: int, rng: np.random.Generator | None = None) -> IntArray:
    """For each row all columns, the mated one first and the others in random order where one is given."""
    order = (mated[:, None] + np.arange(identities)) % identities
    return order if rng is None else np.column_stack((mated, rng.permuted(order[:, 1:], axis=1)))


def _deal(rows: IntArray, order: IntArray, size: int, wanted: int | None = None) -> tuple[IntArray, IntArray]:
    """Subsets of so many columns: their rows, and their columns, the mated one first.

    Parameters
    ----------
    rows
        The rows that subsets are dealt of.
    order
        For each of these its columns, the mated one and then the others as they are dealt.
    size
        Columns of a subset; all where there are fewer.
    wanted
        How many subsets: of the first rows one each, or of all rows several, as far as their others go round. All that
        can be dealt unless given.
    """
    size = min(size, order.shape[1])
    hands = (order.shape[1] - 1) // (size - 1)
    if wanted is not None:
        rows, order = rows[:wanted], order[:wanted]
        hands = min(hands, -(-wanted // len(rows)))
    others = order[:, 1 : 1 + hands * (size - 1)].reshape(-1, size - 1)
    return np.repeat(rows, hands), np.column_stack((np.repeat(order[:, 0], hands), others))

"""A search without some people, and with people exchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zeroevidence._typing import BoolArray, CountArray, FloatArray, IntArray, StrArray
from zeroevidence.calibrate.logistic import tabulate
from zeroevidence.calibrate.rows import AffineCalibration, Fold, refit_rows, row_blocks, scale_rows
from zeroevidence.data.embeddings import rank_names
from zeroevidence.data.matrix import ExchangedPeople, ScoreMatrix
from zeroevidence.measure.measures import IntervalRule, measures_of
from zeroevidence.measure.search import disclosure
from zeroevidence.measure.search.disclosure import RowEvidence, mean_line, search_view
from zeroevidence.measure.search.longitudinal import singling_out_by_chance
from zeroevidence.measure.search.rank import count_names, first_identity, join_names, rank_distribution
from zeroevidence.measure.search.sizes import IdentityEvidence, RefittedSearch
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import NameCounts, SearchView
from zeroevidence.uncertainty.groups import BATCH, batches, draw_groups, draw_halves, generator
from zeroevidence.uncertainty.null import measures_with_null
from zeroevidence.uncertainty.recordings import RecordingNumbers
from zeroevidence.uncertainty.spread import effective_number, unseen_share

_MOST_RANKS = 50_000_000  # groups times identities
_COLUMNS = 33  # identities from which on a table over weights is quicker than every weight by itself


class SearchResampler:
    """Sums over each group's trials, from which values on fewer people follow.

    Leaving a person out takes away the person's trials and, where the scores of all identities are at hand, the person
    as one of the identities that are searched. The calibration is fitted again where that does not take too long. Where
    it stays as it is, measures that it moves have no values. Halves, and people who are enrolled only in number, leave
    the enrolled identities as they are: then a value is made of sums over the people whose trials they are.

    Parameters
    ----------
    evidence
        Evidence of each trial.
    singled
        Whether each trial's predicate fired on exactly one identity; None where these were not counted.
    speakers
        The speaker of each trial.
    seed
        Seed of random groups.
    most
        Largest number of groups that are left out one by one.
    everyone
        Evidence about every identity; without it the enrolled identities stay as they are.
    refitted
        The search to be fitted again without each group; speakers are people of it.
    rivals
        For each trial, the only identity that scores higher than the true one, -1 where there is none or several; None
        where the enrolled identities stay as they are.
    """

    def __init__(
        self,
        evidence: RowEvidence,
        singled: IntArray | None,
        speakers: IntArray | StrArray,
        *,
        seed: int = 0,
        most: int = 200,
        everyone: IdentityEvidence | None = None,
        refitted: RefittedSearch | None = None,
        rivals: IntArray | None = None,
    ) -> None:
        self.seed, self.most, self.everyone, self.refitted, self.rivals = seed, most, everyone, refitted, rivals
        self.evidence, self.singled = evidence, singled
        names, speaker = rank_names(speakers)
        trials = np.bincount(speaker).astype(np.float64)
        self.clusters, self.people = len(names), effective_number(trials)
        self.members: Any = names  # the people who are left out, with trials or without
        identities = everyone.scores.shape[1] if everyone is not None else 0
        if refitted is not None and refitted.folds[0].identities is not None:
            identities = len(refitted.folds[0].identities)
        if identities:
            self.members = np.arange(identities)
        self.member_group = draw_groups(len(self.members), most, seed)
        self.number = int(self.member_group.max()) + 1
        group = self.member_group[np.searchsorted(self.members, names)]
        self.group = group[speaker]
        self.recordings = RecordingNumbers.of(trials, group, self.number)
        self.shares = self.recordings.shares
        self.weights = 1.0 / trials[speaker]
        columns = disclosure.trial_columns(evidence, singled)
        sums = [np.bincount(self.group, weights=column, minlength=self.number) for column in columns.values()]
        self.columns, self.sums = tuple(columns), np.column_stack(sums)
        self.ranks = self._ranks()

    def _ranks(self) -> FloatArray | None:
        """Trials of each group at each rank; None where that table would not fit."""
        identities = self.evidence.identities
        if self.number * identities > _MOST_RANKS:
            return None
        ranks = np.zeros((self.number, identities))
        for g in range(self.number):
            rows = np.flatnonzero(self.group == g)
            if len(rows):
                greater, equal = self.evidence.greater[rows], self.evidence.equal[rows]
                ranks[g] = rank_distribution(greater, equal, identities) * len(rows)
        # Ranks that do not occur need no column.
        return ranks[:, ranks.any(axis=0)]

    @property
    def rules(self) -> dict[str, IntervalRule]:
        """By measure: how its interval is made."""
        rules = ((measure.name, measure.interval_of(None)) for measure in measures_of("search"))
        return {name: rule for name, rule in rules if rule is not None}

    @property
    def most_bits(self) -> float:
        """What the search can tell at most where everybody is as likely before."""
        return float(np.log2(self.evidence.identities))

    def left_out(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Values without each group of one batch."""
        groups = range(batch * BATCH, batch * BATCH + size)
        if self.refitted is not None:
            return _joined([self._refitted(self.refitted, self.members[self.member_group == g]) for g in groups])
        if self.everyone is None:
            return self.of(np.arange(self.number) != np.array(groups)[:, None])
        return _joined([self._without(g, self.everyone) for g in groups])

    def developed(self) -> dict[str, FloatArray]:
        """Values without each group of the people whom calibrations were fitted on, and who are not searched."""
        if self.refitted is None:
            return {}
        others = np.setdiff1d(np.concatenate([fold.fitted for fold in self.refitted.folds]), self.members)
        group = draw_groups(len(others), self.most, self.seed)
        return _joined([self._refitted(self.refitted, others[group == g]) for g in np.unique(group)])

    def rivalries(self) -> dict[str, FloatArray]:
        """By measure of names: what each group (column) as the only rival takes from the trials of each group (row)."""
        if self.rivals is None:
            return {}
        lost = np.flatnonzero(self.rivals >= 0)
        share = np.zeros((self.number, self.number))
        np.add.at(share, (self.group[lost], self.member_group[self.rivals[lost]]), 1.0 / len(self.rivals))
        return {"top1": share, "link_probability": share}

    def _refitted(self, search: RefittedSearch, people: IntArray) -> dict[str, FloatArray]:
        view = search.without(np.isin(np.arange(search.people), people))
        return {} if view is None else _compute(view)

    def _without(self, group: int, everyone: IdentityEvidence) -> dict[str, FloatArray]:
        rows = np.flatnonzero(self.group != group)
        if len(rows) == 0 or np.count_nonzero(self.member_group != group) < 2:
            return {}
        evidence, singled = everyone.without(np.flatnonzero(self.member_group == group), rows, self.evidence)
        return _compute(search_view(evidence, None if self.singled is None else singled))

    def per_person(self) -> dict[str, float]:
        """Values where everybody counts the same, however many trials are theirs; none where these numbers are even."""
        if not self.recordings.uneven:
            return {}
        columns = disclosure.trial_columns(self.evidence, self.singled)
        sums: dict[str, Any] = {name: np.array([(self.weights * column).sum()]) for name, column in columns.items()}
        view = SearchView(self.evidence.identities, ranks=None, **sums)
        return {name: float(value[0]) for name, value in _compute(view).items()}

    def halves(self, pairs: int) -> dict[str, FloatArray]:
        """Values on random halves of the groups and their complements; none where there are fewer than four."""
        return self.of(draw_halves(self.number, pairs, self.seed)) if self.number >= 4 else {}

    def of(self, taken: BoolArray) -> dict[str, FloatArray]:
        """Values over the trials of some groups, shape (values, groups)."""
        counted = taken.astype(np.float64)
        sums = dict(zip(self.columns, (counted @ self.sums).T, strict=True))
        trials = sums["trials"]
        with np.errstate(invalid="ignore", divide="ignore"):
            ranks = None if self.ranks is None else (counted @ self.ranks) / trials[:, None]
            view = SearchView(self.evidence.identities, ranks=ranks, **sums)
            return {name: np.where(trials > 0, values, np.nan) for name, values in _compute(view).items()}

    def unseen(self) -> dict[str, tuple[float, float]]:
        """How each measure changes, per share of people, if some are not recognised at all, or in every recording.

        The evidence about the former misleads as much as that of any trial did, but by no more than log2 N bits. The
        latter are named first, by evidence that leaves no doubt. Either share is the largest that could be among all
        people and in no sample. Ranks that are all shared do not tell what another kind of person would look like.
        """
        if (self.evidence.equal == self.evidence.identities - 1).all():
            return {}
        share = unseen_share(self.people)
        whole = replace(search_view(self.evidence, self.singled), refitted=self.refitted is not None)
        if self.ranks is None:
            whole = replace(whole, ranks=None)
        n = whole.identities
        most = float(np.log2(n))
        misled = min(0.0, max(float(self.evidence.lid.min()), -most))
        ratio = disclosure.log_ratio_from_lid(np.array([misled]), 1.0 / n)
        no_evidence = {"lid": misled, "positive": 0.5, "lid_positive": 0.0, "first": 1.0 / n, "linked": 1.0 / n,
                       "prior_free": float(disclosure.prior_free(ratio)[0]),
                       "singled": float(singling_out_by_chance(n))}  # fmt: skip
        certain = {"lid": most, "positive": 1.0, "lid_positive": most, "first": 1.0, "linked": 1.0,
                   "prior_free": disclosure.PRIOR_FREE_MAX, "singled": 1.0}  # fmt: skip
        kinds = (no_evidence, np.full(n, 1.0 / n)), (certain, np.eye(1, n)[0])
        before = _compute(whole)
        after = [_compute(_mixture(whole, share, sums, ranks)) for sums, ranks in kinds]
        return {
            name: (float((after[0][name][0] - value[0]) / share), float((after[1][name][0] - value[0]) / share))
            for name, value in before.items()
        }


def _mixture(whole: SearchView, share: float, kind: Mapping[str, float], ranks: FloatArray) -> SearchView:
    """The trials with a share of another kind among them, given what each of these adds to sums, and their ranks."""
    sums: dict[str, Any] = {
        name: None if total is None else (1.0 - share) * total + share * kind[name] * whole.trials
        for name, total in ((name, getattr(whole, name)) for name in kind)
    }
    mixed = None if whole.ranks is None else (1.0 - share) * whole.ranks + share * ranks
    return replace(whole, ranks=mixed, **sums)


def _compute(view: SearchView) -> dict[str, FloatArray]:
    """Values of the measures that have intervals."""
    measures = (measure for measure in measures_of("search") if measure.interval_of(view) is not None)
    values = ((measure.name, measure.compute(view)) for measure in measures)
    return {name: value for name, value in values if value is not None}


def _joined(parts: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    """Concatenate values, NaN where a part has none."""
    names = {name: None for part in parts for name in part}
    return {name: np.concatenate([part.get(name, np.array([np.nan])) for part in parts]) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class HypotheticalRanks:
    """Scores of a search, or of one part of it, and the rank of each identity as if it were the true one.

    Parameters
    ----------
    scores
        Scores of trials against identities.
    mated
        The column of the true identity of each trial.
    greater
        Number of identities that score higher than each.
    equal
        Number of other identities that score the same as each.
    first
        The identity that scores strictly above all others, -1 where none does, by the identity that is searched for.
    folds
        The calibrations.
    candidates
        The identities that each is searched among; all of them unless given.
    prior
        Probability of each identity beforehand; None where they are equal.
    """

    scores: FloatArray
    mated: IntArray
    greater: CountArray
    equal: CountArray
    first: IntArray
    folds: Sequence[Fold]
    candidates: IntArray | None = None
    prior: FloatArray | None = None

    @classmethod
    def among_all(cls, rows: ScoreMatrix, folds: Sequence[Fold], prior: FloatArray | None = None) -> HypotheticalRanks:
        """Return the ranks of a matrix whose trials are all searched among all identities."""
        ordered = np.sort(rows.scores, axis=1)
        n = rows.scores.shape[1]
        greater, equal = (np.empty(rows.scores.shape, dtype=np.int32) for _ in range(2))
        for i, (row, sorted_row) in enumerate(zip(rows.scores, ordered, strict=True)):
            right = np.searchsorted(sorted_row, row, "right")
            greater[i] = n - right
            equal[i] = right - np.searchsorted(sorted_row, row, "left") - 1
        first = np.broadcast_to(first_identity(rows.scores)[:, None], rows.scores.shape)
        return cls(rows.scores, rows.mated, greater, equal, first, folds, prior=prior)

    @classmethod
    def among(cls, rows: ScoreMatrix, folds: Sequence[Fold], candidates: IntArray) -> HypotheticalRanks:
        """Return the ranks of a matrix where each identity, the first of its candidates, is searched among these."""
        searched = [rows.scores[:, columns] for columns in candidates]
        greater, equal = (
            np.column_stack([compare(part[:, 1:], part[:, :1]).sum(axis=1) for part in searched])
            for compare in (np.greater, np.equal)
        )
        tops = [first_identity(part) for part in searched]
        first = [np.where(top >= 0, columns[top], -1) for top, columns in zip(tops, candidates, strict=True)]
        return cls(rows.scores, rows.mated, greater, equal, np.column_stack(first), folds, candidates)

    def ranks(self, mated: IntArray) -> tuple[IntArray, IntArray]:
        """Return how many identities score higher than these, as the true ones, and how many others the same."""
        at = np.arange(len(mated))
        return self.greater[at, mated].astype(np.int64), self.equal[at, mated].astype(np.int64)

    def names(self, mated: IntArray) -> NameCounts:
        """Return how often the name of each person came first if these are the true identities."""
        people, compared = np.unique(mated), None
        if self.candidates is not None:
            among = np.bincount(self.candidates[mated].ravel(), minlength=self.scores.shape[1])
            compared = (among - np.bincount(mated, minlength=self.scores.shape[1]))[people]
        return count_names(mated, self.first[np.arange(len(mated)), mated], people, compared)


class _ExchangedFold:
    """Disclosure of the trials of one fold, with people exchanged and the calibration fitted again.

    Parameters
    ----------
    part
        The search.
    fold
        The calibration to be fitted again.
    exchanges
        Permutations of the people whom it was fitted on, one in each row.
    """

    def __init__(self, part: HypotheticalRanks, fold: Fold, exchanges: IntArray) -> None:
        self.part, self.rows = part, fold.rows
        how = fold.calibration.fit
        if how is None:
            self.calibrations = [fold.calibration] * len(exchanges)
        else:
            self.calibrations = refit_rows(fold.threshold_scores, fold.mated_elsewhere, exchanges, how)
        self.log_prior = None if part.prior is None else np.log(part.prior)
        self.z = None if part.candidates is not None else self._scaled(part.scores[fold.rows])
        self.log_totals: Callable[[float], FloatArray] | None = None
        if self.z is not None and self.z.shape[1] > _COLUMNS:
            weights = [fit.weight for fit in self.calibrations if isinstance(fit, AffineCalibration)]
            if len(weights) > _COLUMNS:
                self.log_totals = tabulate(self._log_totals, min(weights), max(weights))

    def _scaled(self, scores: FloatArray) -> FloatArray:
        calibration = self.calibrations[0]
        return scale_rows(scores.astype(np.float64), calibration.scaling, ddof=calibration.ddof)

    def _log_totals(self, weight: float) -> FloatArray:
        assert self.z is not None
        blocks = row_blocks(*self.z.shape)
        return np.concatenate([disclosure.log_totals(weight * self.z[rows], self.log_prior) for rows in blocks])

    def lid(self, number: int, mated: IntArray) -> FloatArray:
        """Disclosure in bits after one of the exchanges, given the true identities of all trials of the search."""
        calibration, columns = self.calibrations[number], mated[self.rows]
        if self.log_totals is not None and self.z is not None and isinstance(calibration, AffineCalibration):
            true = self.z[np.arange(len(columns)), columns]
            return (calibration.weight * true - self.log_totals(calibration.weight)) / LN2
        z = self.z
        if z is None:
            assert self.part.candidates is not None
            z = self._scaled(np.take_along_axis(self.part.scores[self.rows], self.part.candidates[columns], axis=1))
            columns = np.zeros_like(columns)
        return disclosure.lid_of_llrs(calibration.llr(z), columns, self.log_prior) / LN2


class SearchNull:
    """One-to-N measures with people exchanged, those that the calibration is fitted on too, and a new fit each time.

    People whom a calibration was fitted on are exchanged in the same way as the searched people where they are these,
    also in another search, and for themselves where they are others.

    Parameters
    ----------
    parts
        Searches within which people are exchanged.
    identities
        Number of identities that each trial is searched among.
    people
        Who may be exchanged with whom.
    times
        Number of permutations.
    seed
        Seed of the permutations.
    """

    def __init__(
        self,
        parts: Sequence[HypotheticalRanks],
        identities: int,
        people: ExchangedPeople,
        times: int,
        seed: int = 0,
    ) -> None:
        self.parts, self.identities, self.people = parts, identities, people
        self.exchanges, self.elsewhere = _permutations(people, times, seed, 1)
        if not self.elsewhere:
            others = _within_searches([part.folds[0].scores.shape[1] for part in parts])
            self.elsewhere, _ = _permutations(others, times, seed, 6)
        self.folds = [
            [_ExchangedFold(part, fold, other if fold.rest is None else own) for fold in part.folds]
            for part, own, other in zip(parts, self.exchanges, self.elsewhere, strict=True)
        ]

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Measures under the permutations of one batch."""
        measures = measures_with_null("search")
        values: dict[str, FloatArray] = {measure.name: np.empty(size) for measure in measures}
        for r in range(size):
            view = self._view(batch * BATCH + r)
            for measure in measures:
                value = measure.compute(view)
                values[measure.name][r] = np.nan if value is None else value[0]
        return values

    def _view(self, number: int) -> SearchView:
        """The search after one of the exchanges."""
        evidence, names, speakers = [], [], []
        for part, folds, exchanges, people in zip(
            self.parts, self.folds, self.exchanges, self.people.columns, strict=True
        ):
            mated = exchanges[number][part.mated]
            lid = np.empty(len(mated))
            for fold in folds:
                lid[fold.rows] = fold.lid(number, mated)
            evidence.append(RowEvidence(lid, *part.ranks(mated), self.identities))
            names.append(part.names(mated))
            speakers.append(people[np.unique(mated)])
        folds = [fold for of_part in self.folds for fold in of_part]
        line = mean_line([fold.calibrations[number] for fold in folds], [len(fold.rows) for fold in folds])
        return search_view(disclosure.join_evidence(evidence), names=join_names(names, speakers), line=line)


def _within_searches(sizes: Sequence[int]) -> ExchangedPeople:
    """Return so many people in each search, who are exchanged within it."""
    ends = np.cumsum(sizes)
    people = tuple(np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True))
    return ExchangedPeople(people, people)


def _permutations(
    people: ExchangedPeople, times: int, seed: int, purpose: int
) -> tuple[list[IntArray], list[IntArray]]:
    """Return permutations of the people of each search, and of its development people, shape (times, people)."""
    drawn = []
    for batch, number in batches(times):
        rng = generator(seed, purpose, batch)
        drawn += [people.draw(rng) for _ in range(number)]
    searched, development = (zip(*side, strict=True) for side in zip(*drawn, strict=True))
    return list(map(np.array, searched)), list(map(np.array, development))

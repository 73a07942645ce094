"""One-to-one measures without one person at a time, and on halves of the people, without sorting scores again.

Leaving a person out takes away every score that has the person on either side. What a measure needs is the number of
targets and non-targets in each cell (see `cells`); the scores of one person are counted and taken off. Memory is that
of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from zeroevidence._typing import BoolArray, CountArray, FloatArray, IntArray
from zeroevidence.calibrate.pav import Blocks, Counts, pool
from zeroevidence.data.scores import Pairs
from zeroevidence.measure.measures import IntervalRule, Measure, ScoreCost, measures_of
from zeroevidence.measure.pairs import linkability
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.views import PairSettings, PairView
from zeroevidence.uncertainty.groups import BATCH, Groups, GroupTables, Places, draw_halves, find_groups, number_codes
from zeroevidence.uncertainty.lists import PreparedScores, certain_runs
from zeroevidence.uncertainty.spread import unseen_share

_SCALE = 1e6  # mixtures of classes as whole numbers, which the EER is found with


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums over scores of one class.

    Parameters
    ----------
    cells
        Number of scores in each cell.
    bins
        Number of scores in each bin of a histogram.
    costs
        Sum of the costs of each measure.
    size
        Number of scores.
    linked
        Sum of what each score adds to linkability, by the model of all scores.
    """

    cells: CountArray
    bins: CountArray | None
    costs: dict[str, float]
    size: float
    linked: float = 0.0

    def less(self, other: _Sums) -> _Sums:
        """Return these sums without others."""
        return _Sums(
            self.cells - other.cells,
            None if self.bins is None or other.bins is None else self.bins - other.bins,
            {name: _difference(cost, other.costs[name]) for name, cost in self.costs.items()},
            self.size - other.size,
            self.linked - other.linked,
        )


def _difference(cost: float, other: float) -> float:
    """Subtract costs; the difference of two infinite costs is unknown."""
    return cost - other if np.isfinite(other) or np.isfinite(cost) else float("nan")


class _Class:
    """The scores of one class: cell, groups on both sides, and sums of costs over each pair of groups."""

    def __init__(
        self,
        places: Sequence[Places],
        groups: Pairs,
        number: int,
        costs: dict[str, FloatArray],
        terms: FloatArray | None,
    ) -> None:
        """`places` are cells and, where linkability needs them, bins of a histogram."""
        self.tables = [GroupTables(place, groups, number) for place in places]
        self.pairs = pairs = _GroupPairs.of(groups, number)
        self.costs = {name: _GroupSums(pairs, cost) for name, cost in costs.items()}
        self.sizes = _GroupSums(pairs, None)
        self.linked = None if terms is None else _GroupSums(pairs, terms[places[0].of])
        self.all = self._sums([table.all for table in self.tables], _GroupSums.total)

    def _sums(self, counts: Sequence[CountArray], sum_of: Callable[[_GroupSums], float]) -> _Sums:
        return _Sums(
            counts[0],
            counts[1] if len(counts) > 1 else None,
            {name: sum_of(cost) for name, cost in self.costs.items()},
            sum_of(self.sizes),
            0.0 if self.linked is None else sum_of(self.linked),
        )

    def without(self, first: int, last: int) -> Iterator[_Sums]:
        """Sums over the scores that do not involve a group, for each from the first to before the last."""
        tables = [table.involving(first, last) for table in self.tables]
        for group in range(first, last):
            involved = self._sums([table[group - first] for table in tables], partial(_GroupSums.involving, group))
            yield self.all.less(involved)

    def changes(self, costs: FloatArray) -> FloatArray:
        """By how much the mean of these costs of cells changes without each group; NaN where nothing is left."""
        table = self.tables[0]
        size, total = self.sizes.total(), float((table.all * costs).sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            return (total - table.sums(costs)) / (size - self.sizes.by_group) - total / size

    def within(self, halves: BoolArray) -> Iterator[_Sums]:
        """Sums over the scores whose both sides are in each half, and then over those with both in its complement."""
        taken = (part for half in halves for part in (half, ~half))
        counts = zip(*(table.within(halves) for table in self.tables), strict=True)
        for half, in_half in zip(taken, counts, strict=True):
            yield self._sums(in_half, partial(_GroupSums.among, half[self.pairs.first] & half[self.pairs.second]))


@dataclass(frozen=True, slots=True, eq=False)
class _GroupPairs:
    """The pairs of groups that were compared, and the pair of each score."""

    index: IntArray
    first: IntArray
    second: IntArray
    number: int

    @classmethod
    def of(cls, groups: Pairs, number: int) -> _GroupPairs:
        """The pairs of these groups, of which there are `number`."""
        used, index = number_codes(groups.enrolment * number + groups.trial, number**2)
        return cls(index, used // number, used % number, number)


class _GroupSums:
    """Sums of values of scores over each pair of groups; numbers of scores without values."""

    def __init__(self, pairs: _GroupPairs, values: FloatArray | None) -> None:
        self.sums = np.bincount(pairs.index, weights=values, minlength=len(pairs.first)).astype(np.float64)
        apart = np.where(pairs.first != pairs.second, self.sums, 0.0)
        of_first = np.bincount(pairs.first, self.sums, pairs.number)
        self.by_group = of_first + np.bincount(pairs.second, apart, pairs.number)

    def total(self) -> float:
        """Return the sum over all scores."""
        return float(self.sums.sum())

    @staticmethod
    def involving(group: int, sums: _GroupSums) -> float:
        """Return the sum over the scores that have a group on either side."""
        return float(sums.by_group[group])

    @staticmethod
    def among(taken: BoolArray, sums: _GroupSums) -> float:
        """Return the sum over the scores of some pairs."""
        return float(sums.sums[taken].sum())


def _mean_of_targets(cost: ScoreCost, values: FloatArray, settings: PairSettings) -> float:
    """The mean cost of scores as if they were targets."""
    if cost.mean is not None:
        return cost.mean(values, values[:1], settings)[0]
    return float(cost.target(values, settings).mean())


class _Subset(PairView):
    """A subset of the scores; the model of linkability is that of all scores, or fitted again."""

    def __init__(self, source: PairResampler, target: _Sums, nontarget: _Sums, *, refit: bool = False) -> None:
        self.settings = source.settings
        self.source, self.target, self.nontarget, self.refit = source, target, nontarget, refit
        self.closed_set = self.counts if source.closed_set else None

    @cached_property
    def counts(self) -> Counts:  # type: ignore[override]  # made where it is asked for: most measures need blocks alone
        """Targets and non-targets of the cells that hold any."""
        keep = (self.target.cells + self.nontarget.cells) > 0
        return Counts(self.target.cells[keep], self.nontarget.cells[keep])

    @cached_property
    def blocks(self) -> Blocks:
        """PAV blocks, of cells that are pooled in every subset."""
        return pool(Counts(self.target.cells, self.nontarget.cells), self.source.runs)

    def class_means(self, name: str) -> tuple[float, float] | None:
        """Means over the scores of the subset."""
        return self.target.costs[name] / self.target.size, self.nontarget.costs[name] / self.nontarget.size

    def linkability(self) -> float:
        """Linkability by the estimator of the settings."""
        source, target, nontarget = self.source, self.target, self.nontarget
        if source.terms is not None:
            if source.separated:
                return 1.0  # classes that do not overlap do so in every subset
            if self.refit:
                return linkability.linkability_of_counts(self.counts, source.settings, self.blocks)
            return float(np.clip(target.linked / target.size + nontarget.linked / nontarget.size, 0.0, 1.0))
        if self.settings.linkability == "pav":
            return linkability.linkability_of_blocks(self.blocks, omega=self.settings.omega)
        if source.edges is None or target.bins is None or nontarget.bins is None:
            return 0.0  # too few mated scores for a bin, where the tools return 0
        return linkability.histogram_linkability(target.bins, nontarget.bins, self.settings.omega)[0]


def _with_rules(view: ScoreView) -> list[tuple[Measure, IntervalRule]]:
    """Return the measures that have an interval, and how it is made."""
    rules = ((measure, measure.interval_of(view)) for measure in measures_of("one-to-one"))
    return [(measure, rule) for measure, rule in rules if rule is not None]


class PairResampler:
    """Values of the one-to-one measures on fewer people, from tables that are computed once."""

    def __init__(
        self,
        prepared: PreparedScores,
        settings: PairSettings | None = None,
        *,
        most: int = 200,
        closed_set: bool = False,
        names: Collection[str] | None = None,
    ) -> None:
        """Leave out at most `most` groups of people, or of single scores without these.

        With `closed_set` the scores are the pairs of a closed-set search, and the measures those of these alone. Where
        `names` are given and some measures have them, only these are computed.
        """
        self.prepared, scores, ranked = prepared, prepared.scores, prepared.ranked
        self.settings, self.closed_set = settings or PairSettings(), closed_set
        self.groups: Groups = find_groups(scores, most, self.settings.seed, prepared.clusters)
        self.measures = _with_rules(ScoreView(ranked, self.settings))
        if closed_set:
            everywhere = {entry.name for entry, _ in self.measures}
            of_search = _with_rules(ScoreView(ranked, self.settings, ranked.counts))
            self.measures = [(entry, rule) for entry, rule in of_search if entry.name not in everywhere]
        if names is not None:
            self.measures = [(entry, rule) for entry, rule in self.measures if entry.name in names] or self.measures
        view = ScoreView(ranked, self.settings, ranked.counts if closed_set else None)
        self.whole = {entry.name: entry.compute(view) for entry, _ in self.measures if entry.atom_costs is not None}
        self.costs = {entry.name: entry.per_score for entry, _ in self.measures if entry.per_score is not None}
        self.placed = prepared.cells
        self.runs = certain_runs(self.placed.counts)
        method, omega, seed = self.settings.linkability, self.settings.omega, self.settings.seed
        smoothed, binned = (method == name and not closed_set for name in ("density", "histogram"))
        self.terms = linkability.linkability_terms(ranked.counts, omega, seed) if smoothed else None
        self.edges = linkability.histogram_edges(ranked.target, ranked.nontarget) if binned else None
        self.separated = bool(ranked.target[0] > ranked.nontarget[-1])
        ends = {float(scores[place]) for scores in (ranked.target, ranked.nontarget) for place in (0, -1)}
        self.constant = len(ends) == 1
        self.target, self.nontarget = self._class("target"), self._class("nontarget")
        # costs of targets that look like non-targets, and of such that score as high as any does
        classes = zip((scores.target, scores.nontarget), prepared.llrs, strict=True)
        _, highest = max((values[at], llrs[at]) for values, llrs in classes for at in [values.argmax()])
        self.alike, self.highest = (
            {name: _mean_of_targets(cost, llrs, self.settings) for name, cost in self.costs.items()}
            for llrs in (prepared.llrs[1], np.array([highest]))
        )

    @property
    def rules(self) -> dict[str, IntervalRule]:
        """By measure: how its interval is made."""
        return {measure.name: rule for measure, rule in self.measures}

    def _columns(
        self, side: Literal["target", "nontarget"]
    ) -> tuple[list[Places], dict[str, FloatArray], FloatArray | None]:
        """Places of the scores of one class, their costs, and what a score in each cell adds to linkability."""
        prepared = self.prepared
        values, llrs = getattr(prepared.scores, side), prepared.llrs[side == "nontarget"]
        places = [Places(getattr(self.placed, side), len(self.placed.middle))]
        if self.edges is not None:
            n_bins = len(self.edges) - 1
            places += [Places(np.clip(np.searchsorted(self.edges, values, "right") - 1, 0, n_bins - 1), n_bins)]
        costs = {name: getattr(cost, side)(llrs, self.settings) for name, cost in self.costs.items()}
        return places, costs, None if self.terms is None else self.terms[side == "nontarget"][self.placed.middle]

    def _class(self, side: Literal["target", "nontarget"]) -> _Class:
        places, costs, terms = self._columns(side)
        return _Class(places, getattr(self.groups, side), self.groups.number, costs, terms)

    def per_person(self) -> dict[str, float]:
        """Values where everybody who is heard counts the same; none where numbers of recordings are even."""
        clusters = self.prepared.clusters
        if clusters is None or not self.groups.recordings.uneven:
            return {}
        view = _Subset(
            self, self._weighted("target", clusters.target.trial), self._weighted("nontarget", clusters.nontarget.trial)
        )
        return {measure.name: float(measure.compute(view)) for measure, _ in self.measures}

    def _weighted(self, side: Literal["target", "nontarget"], heard: IntArray) -> _Sums:
        """Sums over the scores of one class, each weighed by the number that its speaker has of them."""
        places, costs, terms = self._columns(side)
        weights = 1.0 / np.bincount(heard)[heard]
        weights *= _SCALE * len(heard) / weights.sum()
        counts = [np.round(np.bincount(place.of, weights, place.number)) for place in places]
        return _Sums(
            counts[0],
            counts[1] if len(counts) > 1 else None,
            {name: float((weights * cost).sum()) for name, cost in costs.items()},
            float(weights.sum()),
            0.0 if terms is None else float((weights * terms[places[0].of]).sum()),
        )

    def left_out(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Values without each group of one batch.

        Measures at a threshold that the scores choose are values at this threshold, which moves with the people.
        """
        first = batch * BATCH
        span = first, first + size
        parts = zip(self.target.without(*span), self.nontarget.without(*span), strict=True)
        values = self._values(parts, size, [measure for measure, _ in self.measures if measure.name not in self.linear])
        return values | {name: change[slice(*span)] for name, change in self.linear.items()}

    @cached_property
    def linear(self) -> dict[str, FloatArray]:
        """Values without each group of the measures at a threshold that the scores choose."""
        counts = Counts(self.target.all.cells, self.nontarget.all.cells)
        values = {}
        for measure, _ in self.measures:
            if measure.atom_costs is not None:
                costs = measure.atom_costs(counts, self.settings, self.groups.people)
                changes = [of.changes(cost) for of, cost in zip((self.target, self.nontarget), costs, strict=True)]
                values[measure.name] = self.whole[measure.name] + sum(changes)
        return values

    def halves(self, pairs: int) -> dict[str, FloatArray]:
        """Values on random halves of the groups and their complements; none where there are fewer than four."""
        if self.groups.number < 4:
            return {}
        halves = draw_halves(self.groups.number, pairs, self.settings.seed)[::2]
        within = zip(self.target.within(halves), self.nontarget.within(halves), strict=True)
        return self._values(within, 2 * pairs, [measure for measure, _ in self.measures], refit=True)

    def _values(
        self, parts: Iterable[tuple[_Sums, _Sums]], n: int, measures: Sequence[Measure], *, refit: bool = False
    ) -> dict[str, FloatArray]:
        values = {measure.name: np.full(n, np.nan) for measure in measures}
        for row, (target, nontarget) in enumerate(parts):
            if target.size == 0 or nontarget.size == 0:
                continue  # without one of the classes there is no value
            view = _Subset(self, target, nontarget, refit=refit)
            for measure in measures:
                values[measure.name][row] = measure.compute(view)
        return values

    def unseen(self) -> dict[str, tuple[float, ...]]:
        """How each measure changes, per share of people, if some are not recognised at all, or in every recording.

        Targets of the former look like non-targets; those of the latter score above all of these, as high as any score
        does. Either share is the largest that could be among all people and in no sample. Scores that are all equal do
        not tell what another kind of person would look like.
        """
        if self.constant:
            return {}
        share = unseen_share(self.groups.people)
        # One more cell, above all scores, for targets that nobody else's are like.
        target, nontarget = (
            replace(sums.all, cells=np.append(sums.all.cells, 0)) for sums in (self.target, self.nontarget)
        )
        above_all = np.zeros(len(nontarget.cells))
        above_all[-1] = 1.0
        whole = _Subset(self, target, nontarget)
        views = [
            _Mixture(whole, share, nontarget.cells / nontarget.size, self.alike, linked=0.0),
            _Mixture(whole, share, above_all, self.highest, linked=1.0),
        ]
        return {
            measure.name: tuple(float((measure.compute(view) - value) / share) for view in views)
            for measure, _ in self.measures
            for value in [measure.compute(whole)]
        }


class _Mixture(_Subset):
    """Targets of which a share is those of people of another kind."""

    def __init__(
        self, whole: _Subset, share: float, cells: FloatArray, costs: Mapping[str, float], *, linked: float
    ) -> None:
        """Of the other kind: the share of their targets in each cell, mean costs of these, and their linkability."""
        target = whole.target
        size = round(_SCALE * target.size)
        mixed = (1.0 - share) * target.cells / target.size + share * cells
        mixed_costs = {
            name: size * ((1.0 - share) * cost / target.size + share * costs[name])
            for name, cost in target.costs.items()
        }
        super().__init__(whole.source, _Sums(np.round(size * mixed), None, mixed_costs, float(size)), whole.nontarget)
        self.whole, self.share, self.linked = whole, share, linked

    @cached_property
    def blocks(self) -> Blocks:
        """PAV blocks of the cells, in any of which there may be targets now."""
        return pool(self.counts)

    def linkability(self) -> float:
        """Linkability of either kind of targets by their shares."""
        return (1.0 - self.share) * self.whole.linkability() + self.share * self.linked

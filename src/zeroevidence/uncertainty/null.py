"""Nulls of measures: values of the same scores under permutation of the labels.

Where the scores form rows, or a list in which everybody was compared with everybody, speakers are permuted: all trials
of a person are given the identity of another, which keeps everything that trials of one person and comparisons with one
enrolment have in common. In a cross-validation people are exchanged within each fold, independently of other folds, and
where it is repeated in all splits at once, within blocks of people who are never apart.
Where a score belongs to one person and to no comparison (an attribute: all scores of a person are of one class),
classes are permuted over people. Other lists leave too few exchanges: see `lists`. Where speakers are not known,
labels are permuted over single scores. Whatever was fitted to the labels is fitted again to permuted ones; of a search
that is its calibration, on development people who are exchanged alike: see `search`. The p-value counts the observed
value among the permuted ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Counts, rank
from zeroevidence.data.matrix import ExchangedPeople, ScoreMatrix
from zeroevidence.measure.measures import Family, Measure, measures_of
from zeroevidence.measure.pairs.linkability import linkability_of, linkability_of_counts
from zeroevidence.measure.views import PairSettings, PairView
from zeroevidence.uncertainty.groups import Clusters, batches, find_owners, generator
from zeroevidence.uncertainty.lists import ListSimulator, PeopleTest, PreparedScores, people_test

# exchanged: the p-value counts permutations of this measure; list: it is that of the list as a whole, or the share of
# simulated lists where these often reach the value; area: the same by the area under the ROC, in files of earlier times
TestedBy: TypeAlias = Literal["exchanged", "list", "area"]
# speaker: people were exchanged; label: labels of single scores were; list: scores were simulated
NullUnit: TypeAlias = Literal["speaker", "label", "list"]
_HAIR = 1e-9
ROWS_LIMIT = 20_000_000  # scores; beyond, the evidence of every identity would not fit beside the matrix


class MatrixParts(Protocol):
    """Scores that form one matrix of trials and identities, or one for each fold of people."""

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrices."""

    @property
    def exchanged(self) -> ExchangedPeople:
        """Who may be exchanged with whom."""


@dataclass(frozen=True, slots=True)
class Null:
    """A measure under permutation.

    Parameters
    ----------
    mean
        Mean of the permuted values.
    quantile
        Quantile of the permuted values at the confidence level of the evaluation, on the side of the attacker.
    draws
        The permuted values in the order of their seeds, to six digits: what p-values are adjusted with.
    tested_by
        What the p-value is of.
    statistic
        What was observed in the place of the value, where the permuted values are of another statistic: that of a list.
    """

    mean: float
    quantile: float
    draws: tuple[float, ...] = ()
    tested_by: TestedBy = "exchanged"
    statistic: float | None = None

    @classmethod
    def from_draws(
        cls,
        draws: FloatArray,
        level: float,
        *,
        falling: bool = False,
    ) -> Null:
        """The null of a measure from its values under permutation.

        A `falling` measure falls as the attacker learns more, so that its quantile is a low one.
        """
        sign = -1.0 if falling else 1.0
        quantile = sign * float(np.quantile(sign * draws, level, method="higher"))
        return cls(float(draws.mean()), quantile, tuple(map(_rounded, draws.tolist())))


def permutation_p_value(value: float, draws: FloatArray) -> float:
    """Share of the values, the observed one among them, that reach the observed one."""
    # A hair of tolerance: the identity permutation must count as equal after other roundings.
    at_least = np.count_nonzero(draws >= value - 1e-12 * max(1.0, abs(value)))
    return float((1.0 + at_least) / (1.0 + len(draws)))


def list_null(measure: Measure, value: float, lists: FloatArray, test: PeopleTest, level: float) -> tuple[Null, float]:
    """The null of a measure from simulated lists, and its p-value.

    That is the p-value of the list, `test`. It stands for the measure that enters the test against chance whatever its
    simulated values. Where simulated lists reach the value of another measure too often for this level, it is at least
    their share: evidence of other scores is none of the strongest one.
    """
    null, p_value = Null.from_draws(lists, level), permutation_p_value(test.statistic, test.draws)
    if measure.tested:
        draws = tuple(map(_rounded, test.draws.tolist()))
        return replace(null, draws=draws, tested_by="list", statistic=_rounded(test.statistic)), p_value
    if value < null.quantile:
        p_value = max(p_value, permutation_p_value(value, lists))
    return replace(null, draws=(), tested_by="list"), p_value


def adjusted_p_values(tests: Sequence[tuple[float, Sequence[float]]]) -> list[float]:
    """P-values of several tests, adjusted for all of them: how often any of them shows as much by chance.

    Values are measured in standard deviations of the others, the observed one being one of the permutations, and each
    is compared with the largest of all tests under each permutation (max-T of Westfall and Young 1993). Ranks in the
    place of deviations (min-P) would find a leak of all people a little more often, and a single exposed person half as
    often. Permutations of the same number exchange the same people in all tests, which keeps the dependence between
    them.

    Parameters
    ----------
    tests
        The observed value of each and the permuted ones, of which more tell more; permutations beyond the shortest are
        left out.

    Examples
    --------
    >>> adjusted_p_values([(9.0, [1.0, 2.0, 3.0, 4.0]), (2.0, [3.0, 2.5, 1.0, 0.0])])
    [0.2, 0.6]
    """
    number = min((len(draws) for _, draws in tests), default=0)
    values = np.array([[*draws[:number], _rounded(observed)] for observed, draws in tests])
    values = values.reshape(len(tests), number + 1)
    # what is not defined is no sign of a leak where it was observed, and none of its absence elsewhere
    values = np.where(np.isnan(values), np.where(np.arange(number + 1) < number, np.inf, -np.inf), values)
    distances = _distances(values)
    largest = distances.max(axis=0, initial=-np.inf)
    return [float(np.mean(largest >= of_test[-1] - _HAIR)) for of_test in distances]


def _distances(values: FloatArray) -> FloatArray:
    """How many standard deviations of the others of its row each value is above their mean.

    Counts vary by whole steps, so that others may all be equal: the least deviation is that of one step of one value.
    """
    finite = np.isfinite(values)
    centred = np.where(finite, values - _row_medians(np.where(finite, values, np.nan)), 0.0)
    others = np.maximum(1, np.count_nonzero(finite, axis=1, keepdims=True) - 1)
    mean = (centred.sum(axis=1, keepdims=True) - centred) / others
    variance = np.maximum(0.0, ((centred**2).sum(axis=1, keepdims=True) - centred**2) / others - mean**2)
    steps = np.diff(np.sort(np.where(finite, values, np.nan), axis=1), axis=1)
    least = _row_medians(np.where(steps > 0.0, steps, np.nan)) / np.sqrt(values.shape[1])
    return np.where(finite, (centred - mean) / np.maximum(np.sqrt(variance), np.where(least > 0.0, least, 1.0)), values)


def _row_medians(values: FloatArray) -> FloatArray:
    """Medians of the rows, of which not a number is no part; 0 where nothing else is in one."""
    ordered, n = np.sort(values, axis=1), np.count_nonzero(~np.isnan(values), axis=1)[:, None]
    low, high = (np.take_along_axis(ordered, np.maximum(middle, 0), axis=1) for middle in ((n - 1) // 2, n // 2))
    return np.where(n > 0, (low + high) / 2.0, 0.0)


def _rounded(value: float) -> float:
    """To six digits: equal values stay equal, and files short."""
    return float(f"{value:.6g}")


class PooledLabels:
    """All scores sorted once; relabelling some of them gives counts without sorting again."""

    def __init__(self, pooled: FloatArray) -> None:
        _, self.group, self.per_group = np.unique(pooled, return_inverse=True, return_counts=True)
        self.before = np.concatenate(([0], np.cumsum(self.per_group)))

    def counts(self, targets: IntArray) -> Counts:
        """Counts when the scores at these positions are the targets."""
        groups, hits = np.unique(self.group[targets], return_counts=True)
        target = np.zeros(2 * len(groups) + 1, dtype=np.int64)
        nontarget = np.zeros_like(target)
        target[1::2] = hits
        nontarget[1::2] = self.per_group[groups] - hits
        ends = np.concatenate((self.before[groups], [self.before[-1]]))
        starts = np.concatenate(([0], self.before[groups + 1]))
        nontarget[0::2] = ends - starts
        keep = (target + nontarget) > 0
        return Counts(target[keep], nontarget[keep])


class _CountView(PairView):
    """Counts of scores, and the scores themselves where the settings need them."""

    def __init__(
        self, counts: Counts, settings: PairSettings, scores: tuple[FloatArray, FloatArray] | None = None
    ) -> None:
        super().__init__(counts, settings)
        self.scores = scores

    def class_means(self, name: str) -> tuple[float, float] | None:  # noqa: ARG002 (no such measure has a null)
        """None: measures of scores as LLRs have no null."""
        return None

    def linkability(self) -> float:
        """Linkability, with the model fitted again."""
        if self.scores is not None:
            return linkability_of(rank(*self.scores), self.settings)
        return linkability_of_counts(self.counts, self.settings, self.blocks)


def _needs_scores(settings: PairSettings) -> bool:
    return settings.linkability == "histogram"


class PairNull:
    """One-to-one measures under permuted speakers or labels."""

    def __init__(
        self,
        target: FloatArray,
        nontarget: FloatArray,
        rows: MatrixParts | None,
        settings: PairSettings | None = None,
        *,
        people: tuple[IntArray, IntArray] | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        """Exchange the speakers of `rows`, `people` or `clusters`, or else labels.

        Parameters
        ----------
        target
            Target scores.
        nontarget
            Non-target scores.
        rows
            The scores as a search, or as one in each fold.
        settings
            Settings of the measures.
        people
            The person of each target and each non-target, as numbers from 0, where nobody has both.
        clusters
            The people on both sides of a list in which everybody was compared with everybody.
        """
        self.settings = settings or PairSettings()
        self.parts = () if rows is None else rows.parts
        self.people_of_rows = None if rows is None else rows.exchanged
        self.exchanged = None if clusters is None else _on_both_sides(clusters)
        by_people = any(units is not None for units in (rows, people, clusters))
        self.unit: NullUnit = "speaker" if by_people else "label"
        self.n_target = len(target)
        self.people: IntArray | None = None
        if people is not None:
            self.people = np.concatenate(people)
            self.class_of = np.isin(np.arange(int(self.people.max()) + 1), people[0])
        if rows is None:
            self.pooled = np.concatenate((target, nontarget))
        else:
            # Scores outside the rows (trials of strangers, incomplete rows) are non-targets in every permutation.
            inside = np.concatenate([part.scores.ravel() for part in rows.parts])
            impostors = np.concatenate([_nontargets(part) for part in rows.parts])
            strangers = _without(np.sort(nontarget), np.sort(impostors))
            self.pooled = np.concatenate((inside, strangers.astype(inside.dtype)))
        self.labels = PooledLabels(self.pooled)

    def _targets(self, rng: np.random.Generator) -> IntArray:
        if self.people is not None:
            return np.flatnonzero(rng.permutation(self.class_of)[self.people])
        if self.exchanged is not None:
            enrolment, trial, n = self.exchanged
            return np.flatnonzero(np.append(rng.permutation(n), -1)[enrolment] == trial)
        if self.people_of_rows is None:
            return rng.permutation(len(self.pooled))[: self.n_target]
        before, targets = 0, []
        for part, exchange in zip(self.parts, self.people_of_rows.draw(rng)[0], strict=True):
            rows, columns = part.scores.shape
            targets.append(before + np.arange(rows) * columns + exchange[part.mated])
            before += rows * columns
        return np.concatenate(targets)

    def _thinned(self, targets: IntArray, rng: np.random.Generator) -> IntArray:
        """Return as many of the permuted targets as were observed, where a list has more.

        Comparisons of a recording with itself, or within a session, are missing among targets alone. With more targets
        than were observed, what is fitted to them would have too low a null.
        """
        if self.exchanged is None or len(targets) <= self.n_target:
            return targets
        return rng.choice(targets, self.n_target, replace=False)

    def _permuted(self, targets: IntArray) -> _CountView:
        scores = None
        if _needs_scores(self.settings):
            is_target = np.zeros(len(self.pooled), dtype=bool)
            is_target[targets] = True
            scores = self.pooled[is_target], self.pooled[~is_target]
        return _CountView(self.labels.counts(targets), self.settings, scores)

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Measures under the permutations of one batch."""
        # two generators: permutations of one seed exchange the same people in every row, whatever is thinned out
        rng, thinning = (generator(self.settings.seed, purpose, batch) for purpose in (1, 4))
        measures = measures_with_null("one-to-one")
        values: dict[str, FloatArray] = {measure.name: np.empty(size) for measure in measures}
        for r in range(size):
            view = self._permuted(self._thinned(self._targets(rng), thinning))
            for measure in measures:
                values[measure.name][r] = measure.compute(view)
        return values


class ListNull:
    """One-to-one measures of simulated lists with the same people behind them."""

    unit: NullUnit = "list"

    def __init__(self, prepared: PreparedScores, settings: PairSettings | None = None) -> None:
        assert prepared.clusters is not None
        self.settings = settings or PairSettings()
        self.prepared, self.clusters = prepared, prepared.clusters

    @cached_property
    def simulator(self) -> ListSimulator:
        """What draws the lists; nothing else needs it."""
        return ListSimulator(self.prepared.scores, self.clusters, self.prepared.cells)

    def test(self, times: int) -> PeopleTest:
        """Test the list by so many exchanges, the same ones in every list of these people."""

        def signs(people: int) -> FloatArray:
            drawn = [
                generator(self.settings.seed, 1, batch).integers(0, 2, (size, people)) for batch, size in batches(times)
            ]
            return 1.0 - 2.0 * np.concatenate(drawn)

        return people_test(self.prepared.cells, self.clusters, signs)

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Measures of the lists of one batch."""
        rng = generator(self.settings.seed, 1, batch)
        exact = _needs_scores(self.settings)
        views = [
            _CountView(drawn.counts, self.settings, drawn.scores if exact else None)
            for drawn in self.simulator.draw(rng, size, one_by_one=exact)
        ]
        measures = measures_with_null("one-to-one")
        return {measure.name: np.array([measure.compute(view) for view in views]) for measure in measures}


def pair_null(
    prepared: PreparedScores, rows: MatrixParts | None, settings: PairSettings | None = None
) -> PairNull | ListNull:
    """The null that suits the scores of these people."""
    owners = find_owners(prepared.clusters)
    compared = prepared.clusters if rows is None and owners is None else None
    if compared is not None and not _is_exchangeable(compared):
        return ListNull(prepared, settings)
    scores = prepared.scores
    return PairNull(scores.target, scores.nontarget, rows, settings, people=owners, clusters=compared)


def _on_both_sides(clusters: Clusters) -> tuple[IntArray, IntArray, int]:
    """Return for every score the numbers of its people among those with targets; -1 and -2 for the others."""
    with_targets = np.unique(clusters.target.enrolment)
    code = np.full(len(clusters.names), -1)
    code[with_targets] = np.arange(len(with_targets))
    enrolment = np.concatenate((clusters.target.enrolment, clusters.nontarget.enrolment))
    trial = np.concatenate((clusters.target.trial, clusters.nontarget.trial))
    return code[enrolment], np.where(code[trial] < 0, -2, code[trial]), len(with_targets)


def _is_exchangeable(clusters: Clusters) -> bool:
    """Whether all people with targets were compared with each other, about as often as with themselves."""
    if clusters.unit != "speaker" or (clusters.target.enrolment != clusters.target.trial).any():
        return False
    n = np.count_nonzero(np.bincount(clusters.target.enrolment))
    few = max(n * n, n * len(clusters.target) // 2)
    if n < 2 or len(clusters.target) + len(clusters.nontarget) < few:
        return False
    enrolment, trial, _ = _on_both_sides(clusters)
    inside = np.flatnonzero((enrolment >= 0) & (trial >= 0))
    if len(inside) < n * n:
        return False
    compared = np.bincount(enrolment[inside] * n + trial[inside], minlength=n * n)
    return bool((compared > 0).all() and 2 * len(inside) >= n * len(clusters.target))


def measures_with_null(family: Family) -> list[Measure]:
    """Return the measures of a family whose null is reported."""
    return [measure for measure in measures_of(family) if measure.null]


def _nontargets(rows: ScoreMatrix) -> FloatArray:
    """Return the scores of all identities but the true ones."""
    mask = np.ones(rows.scores.shape, dtype=bool)
    mask[np.arange(len(rows.mated)), rows.mated] = False
    scores: FloatArray = rows.scores[mask]
    return scores


def _without(many: FloatArray, some: FloatArray) -> FloatArray:
    """Return sorted values less other sorted values, each removed once."""
    if len(many) == len(some):
        return many[:0]
    values, counts = np.unique(many, return_counts=True)
    removed, times = np.unique(some, return_counts=True)
    at = np.searchsorted(values, removed)
    present = (at < len(values)) & (values[np.minimum(at, len(values) - 1)] == removed)
    counts[at[present]] -= times[present]
    return np.repeat(values, np.maximum(counts, 0))

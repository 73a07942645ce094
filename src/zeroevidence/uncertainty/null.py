"""Nulls of measures: values of the same scores under permutation of the labels.

Where the scores form rows, or a list in which everybody was compared with everybody, speakers are permuted: all trials
of a person are given the identity of another, which keeps everything that trials of one person and comparisons with one
enrolment have in common. In a cross-validation people are exchanged within each fold, independently of other folds.
Where a score belongs to one person and to no comparison (an attribute: all scores of a person are of one class),
classes are permuted over people. Other lists leave too few exchanges: see `lists`. Where speakers are not known,
labels are permuted over single scores. Whatever was fitted to the labels is fitted again to permuted ones; of a search
that is its calibration, on development people who are exchanged alike: see `search`. The p-value counts the observed
value among the permuted ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Counts, rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.measure.measures import Family, Measure, measures_of
from zeroevidence.measure.pairs.linkability import linkability_of, linkability_of_counts
from zeroevidence.measure.views import PairSettings, PairView
from zeroevidence.uncertainty.groups import Clusters, find_owners, generator
from zeroevidence.uncertainty.lists import ListSimulator, PreparedScores, people_test

# exchanged: the p-value counts permutations of this measure; area: it is that of the area under the ROC of a list, or
# the share of simulated lists where these often reach the value
TestedBy: TypeAlias = Literal["exchanged", "area"]
# speaker: people were exchanged; label: labels of single scores were; list: scores were simulated
NullUnit: TypeAlias = Literal["speaker", "label", "list"]
ROWS_LIMIT = 20_000_000  # scores; beyond, the evidence of every identity would not fit beside the matrix


class MatrixParts(Protocol):
    """Scores that form one matrix of trials and identities, or one for each fold of people."""

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The matrices."""


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
        The permuted values in the order of their seeds, kept where the measure enters the test against chance.
    tested_by
        What the p-value is of.
    """

    mean: float
    quantile: float
    draws: tuple[float, ...] = ()
    tested_by: TestedBy = "exchanged"

    @classmethod
    def from_draws(
        cls,
        draws: FloatArray,
        level: float,
        *,
        keep: bool = False,
        tested_by: TestedBy = "exchanged",
        falling: bool = False,
    ) -> Null:
        """The null of a measure from its values on permuted or simulated data.

        `keep` stores these; a `falling` measure falls as the attacker learns more, so that its quantile is a low one.
        """
        quantile = (
            float(np.quantile(draws, 1.0 - level, method="lower"))
            if falling
            else (float(np.quantile(draws, level, method="higher")))
        )
        return cls(float(draws.mean()), quantile, tuple(draws.tolist()) if keep else (), tested_by)


def permutation_p_value(value: float, draws: FloatArray) -> float:
    """Share of the values, the observed one among them, that reach the observed one."""
    # A hair of tolerance: the identity permutation must count as equal after other roundings.
    at_least = np.count_nonzero(draws >= value - 1e-12 * max(1.0, abs(value)))
    return float((1.0 + at_least) / (1.0 + len(draws)))


def list_null(value: float, draws: FloatArray, area: float, level: float) -> tuple[Null, float]:
    """The null of a measure from simulated lists, and its p-value.

    The p-value is that of the area under the ROC, `area`. Where simulated lists reach the value too often for this
    level, it is at least their share: a measure below its own quantile is not significant.

    Examples
    --------
    >>> draws = np.arange(20) / 20
    >>> [round(list_null(value, draws, 0.001, 0.95)[1], 3) for value in (0.5, 1.5)]
    [0.524, 0.001]
    """
    null = Null.from_draws(draws, level, tested_by="area")
    return null, area if value >= null.quantile else max(area, permutation_p_value(value, draws))


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
        if not self.parts:
            return rng.permutation(len(self.pooled))[: self.n_target]
        before, targets = 0, []
        for part in self.parts:
            rows, columns = part.scores.shape
            targets.append(before + np.arange(rows) * columns + rng.permutation(columns)[part.mated])
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
        self.simulator = ListSimulator(prepared.scores, prepared.clusters, prepared.cells)
        self.p_value = people_test(prepared.cells, prepared.clusters).p_value

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

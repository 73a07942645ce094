"""What a measure shows when there is nothing to show: the same scores with the truth exchanged.

Where the scores form rows, speakers are permuted: all trials of a person are given the identity of another, which keeps
everything that trials of one person and comparisons with one enrolment have in common. Where a score belongs to one
person and to no comparison (an attribute: all scores of a person are of one class), classes are permuted over people.
Otherwise labels are permuted over single scores. The p-value counts the observed value among the permuted ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Counts, Ranked
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.measure.disclosure import RowEvidence
from zeroevidence.measure.linkability import linkability, linkability_of
from zeroevidence.measure.registry import Family, Measure, of_family
from zeroevidence.measure.views import PairSettings, PairView
from zeroevidence.measure.whole import search_view
from zeroevidence.uncertainty.draws import generator

ROWS_LIMIT = 20_000_000  # scores; beyond, the evidence of every identity would not fit beside the matrix


@dataclass(frozen=True, slots=True)
class Null:
    """A measure under permutation.

    Parameters
    ----------
    mean, q95
        Mean of the permuted values, and the level that 95 % of them stay below.
    p_value
        Share of the values, the observed one among them, that reach the observed one.
    corrected
        The observed value less the mean.
    draws
        The permuted values in the order of their seeds, kept where the measure enters the test against chance.
    """

    mean: float
    q95: float
    p_value: float
    corrected: float
    draws: tuple[float, ...] = ()

    @classmethod
    def under(cls, value: float, permuted: FloatArray, *, keep: bool = False) -> Null:
        """Compare with values under permutation; the observed one counts as one of them."""
        # A hair of tolerance: the identity permutation must count as equal after other roundings.
        at_least = np.count_nonzero(permuted >= value - 1e-12 * max(1.0, abs(value)))
        mean = float(permuted.mean())
        return cls(
            mean,
            float(np.quantile(permuted, 0.95, method="higher")),
            float((1.0 + at_least) / (1.0 + len(permuted))),
            value - mean,
            tuple(permuted.tolist()) if keep else (),
        )


class PooledLabels:
    """All scores sorted once; relabelling some of them gives counts without sorting again."""

    def __init__(self, pooled: FloatArray) -> None:
        values, self.group, per_group = np.unique(pooled, return_inverse=True, return_counts=True)
        self.per_group = per_group
        self.before = np.concatenate(([0], np.cumsum(per_group)))
        self.values = values

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


class _Permuted(PairView):
    """Scores under exchanged labels."""

    def __init__(self, source: PairNull, targets: IntArray) -> None:
        super().__init__(source.labels.counts(targets), source.settings)
        self.source, self.targets = source, targets

    def class_means(self, name: str) -> tuple[float, float] | None:  # noqa: ARG002 (no such measure has a null)
        """Nothing: what scores mean as LLRs does not depend on who is who."""
        return None

    def linkability(self) -> float:
        """Linkability, with the model fitted again."""
        counts, settings = self.counts, self.settings
        if settings.linkability == "histogram":
            is_target = np.zeros(len(self.source.pooled), dtype=bool)
            is_target[self.targets] = True
            return linkability(self.source.pooled[is_target], self.source.pooled[~is_target], method="histogram")
        # Only the class sizes of the scores are looked at beside the counts.
        ranked = Ranked(np.empty(counts.n_target), np.empty(counts.n_nontarget), counts)
        return linkability_of(ranked, self.blocks, method=settings.linkability, seed=settings.seed)


class PairNull:
    """One-to-one measures under permuted speakers or labels."""

    def __init__(
        self,
        target: FloatArray,
        nontarget: FloatArray,
        rows: ScoreMatrix | None,
        settings: PairSettings | None = None,
        *,
        people: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        """`people`: whose each target and each non-target is, as numbers from 0, where nobody has both."""
        self.settings = settings or PairSettings()
        self.rows = rows
        self.people: IntArray | None = None
        if people is not None:
            self.people = np.concatenate(people)
            self.class_of = np.isin(np.arange(int(self.people.max()) + 1), people[0])
        if rows is None:
            self.n_target = len(target)
            self.pooled = np.concatenate((target, nontarget))
        else:
            # Scores outside the rows (trials of strangers, incomplete rows) are others whatever the permutation.
            inside = rows.scores.ravel()
            strangers = _without(np.sort(nontarget), np.sort(_others(rows)))
            self.pooled = np.concatenate((inside, strangers.astype(inside.dtype)))
        self.labels = PooledLabels(self.pooled)

    def _targets(self, rng: np.random.Generator) -> IntArray:
        if self.people is not None:
            return np.flatnonzero(rng.permutation(self.class_of)[self.people])
        if self.rows is None:
            return rng.permutation(len(self.pooled))[: self.n_target]
        first = np.arange(len(self.rows.mated)) * self.rows.scores.shape[1]
        targets: IntArray = first + permuted_mated(self.rows, rng)
        return targets

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Measures under the permutations of one batch."""
        rng = generator(self.settings.seed, 1, batch)
        measures = with_null("one-to-one")
        values: dict[str, FloatArray] = {one.name: np.empty(size) for one in measures}
        for r in range(size):
            view = _Permuted(self, self._targets(rng))
            for one in measures:
                values[one.name][r] = one.compute(view)
        return values


def with_null(family: Family) -> list[Measure]:
    """The measures of a family whose null is reported."""
    return [one for one in of_family(family) if one.null]


def _others(rows: ScoreMatrix) -> FloatArray:
    mask = np.ones(rows.scores.shape, dtype=bool)
    mask[np.arange(len(rows.mated)), rows.mated] = False
    others: FloatArray = rows.scores[mask]
    return others


def _without(many: FloatArray, some: FloatArray) -> FloatArray:
    """Sorted values less other sorted values, each taken away once."""
    if len(many) == len(some):
        return many[:0]
    values, counts = np.unique(many, return_counts=True)
    taken, times = np.unique(some, return_counts=True)
    at = np.searchsorted(values, taken)
    known = (at < len(values)) & (values[np.minimum(at, len(values) - 1)] == taken)
    counts[at[known]] -= times[known]
    return np.repeat(values, np.maximum(counts, 0))


def permuted_mated(rows: ScoreMatrix, rng: np.random.Generator) -> IntArray:
    """Every trial's mated column after a permutation of all identities."""
    exchanged: IntArray = rng.permutation(rows.scores.shape[1])[rows.mated]
    return exchanged


class SearchNull:
    """One-to-N measures under permuted speakers, the calibration kept."""

    def __init__(self, rows: ScoreMatrix, lid: FloatArray, seed: int = 0) -> None:
        """`lid` is that of every identity, as if it were the true one: trials x identities."""
        self.rows = rows
        self.lid = lid
        self.seed = seed
        ordered = np.sort(rows.scores, axis=1)
        n = rows.scores.shape[1]
        self.greater = np.empty(rows.scores.shape, dtype=np.int32)
        self.equal = np.empty(rows.scores.shape, dtype=np.int32)
        for i, (row, sorted_row) in enumerate(zip(rows.scores, ordered, strict=True)):
            right = np.searchsorted(sorted_row, row, "right")
            self.greater[i] = n - right
            self.equal[i] = right - np.searchsorted(sorted_row, row, "left") - 1

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Measures under the permutations of one batch."""
        rng = generator(self.seed, 1, batch)
        measures = with_null("search")
        values: dict[str, FloatArray] = {one.name: np.empty(size) for one in measures}
        at = np.arange(len(self.rows.mated))
        for r in range(size):
            mated = permuted_mated(self.rows, rng)
            greater, equal = (part[at, mated].astype(np.int64) for part in (self.greater, self.equal))
            view = search_view(RowEvidence(self.lid[at, mated], greater, equal, self.rows.scores.shape[1]))
            for one in measures:
                values[one.name][r] = one.compute(view)[0]
        return values


def nulls(observed: Mapping[str, float], permuted: Mapping[str, FloatArray], tested: frozenset[str]) -> dict[str, Null]:
    """The null of each measure; those in `tested` keep their permuted values."""
    return {
        name: Null.under(observed[name], values, keep=name in tested)
        for name, values in permuted.items()
        if name in observed
    }

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
from zeroevidence.calibrate.pav import Blocks, Counts, Ranked, pool, pool_laplace
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.measure.linkability import LinkabilityMethod, linkability, linkability_of
from zeroevidence.measure.rank import rank_disclosure
from zeroevidence.measure.singling import link_probability
from zeroevidence.measure.zebra import d_ece_of, worst_case_of
from zeroevidence.uncertainty.draws import generator

ONE_TO_ONE = ("d_ece", "worst_case", "linkability")
ONE_TO_N = ("alid", "lid_max", "mean_rank_disclosure", "max_rank_disclosure", "link_probability")
ROWS_LIMIT = 20_000_000  # scores; beyond, the evidence of every identity would not fit beside the matrix


@dataclass(frozen=True, slots=True)
class Null:
    """A measure under permutation. `corrected` is the observed value less the null's mean."""

    mean: float
    q95: float
    p_value: float
    corrected: float

    @classmethod
    def of(cls, value: float, permuted: FloatArray) -> Null:
        """Compare with values under permutation; the observed one counts as one of them."""
        # A hair of tolerance: the identity permutation must count as equal after other roundings.
        at_least = np.count_nonzero(permuted >= value - 1e-12 * max(1.0, abs(value)))
        mean = float(permuted.mean())
        return cls(
            mean,
            float(np.quantile(permuted, 0.95, method="higher")),
            float((1.0 + at_least) / (1.0 + len(permuted))),
            value - mean,
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


class OneToOneNull:
    """One-to-one measures under permuted speakers or labels."""

    def __init__(
        self,
        target: FloatArray,
        nontarget: FloatArray,
        rows: ScoreMatrix | None,
        *,
        people: tuple[IntArray, IntArray] | None = None,
        linkability: LinkabilityMethod = "density",
        seed: int = 0,
    ) -> None:
        """`people`: whose each target and each non-target is, as numbers from 0, where nobody has both."""
        self.seed = seed
        self.linkability = linkability
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
        rng = generator(self.seed, 1, batch)
        values: dict[str, FloatArray] = {name: np.empty(size) for name in ONE_TO_ONE}
        for r in range(size):
            targets = self._targets(rng)
            counts = self.labels.counts(targets)
            blocks = pool(counts)
            values["d_ece"][r] = d_ece_of(blocks)
            values["worst_case"][r] = worst_case_of(pool_laplace(blocks))
            values["linkability"][r] = self._linked(targets, counts, blocks)
        return values

    def _linked(self, targets: IntArray, counts: Counts, blocks: Blocks) -> float:
        if self.linkability == "histogram":
            is_target = np.zeros(len(self.pooled), dtype=bool)
            is_target[targets] = True
            return linkability(self.pooled[is_target], self.pooled[~is_target], method="histogram")
        # Only the class sizes of the scores are looked at beside the counts.
        ranked = Ranked(np.empty(counts.n_target), np.empty(counts.n_nontarget), counts)
        return linkability_of(ranked, blocks, method=self.linkability, seed=self.seed)


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
        values: dict[str, FloatArray] = {name: np.empty(size) for name in ONE_TO_N}
        at = np.arange(len(self.rows.mated))
        for r in range(size):
            mated = permuted_mated(self.rows, rng)
            lid = self.lid[at, mated]
            greater = self.greater[at, mated].astype(np.int64)
            equal = self.equal[at, mated].astype(np.int64)
            ranks = rank_disclosure(greater, equal, self.rows.scores.shape[1])
            values["alid"][r] = lid.mean()
            values["lid_max"][r] = lid.max()
            values["mean_rank_disclosure"][r] = ranks.mean
            values["max_rank_disclosure"][r] = ranks.max
            values["link_probability"][r] = link_probability(greater, equal)
        return values


def nulls(observed: Mapping[str, float], permuted: Mapping[str, FloatArray]) -> dict[str, Null]:
    """The null of each measure."""
    return {name: Null.of(observed[name], values) for name, values in permuted.items() if name in observed}

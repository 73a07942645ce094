"""Replicates of the one-to-one measures, by speakers where they are known, without sorting scores again.

A pair of clusters e and t that were drawn c_e and c_t times counts c_e * c_t times, and c_e times when they are the
same: the copies of one person are not compared with each other. What a replicate needs is the weighted number of
targets and non-targets in each atom, a sparse matrix of counts (atoms x pairs of clusters) times the weights of the
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from zeroevidence._typing import CountArray, FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import Counts, Ranked
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.measure.linkability import (
    histogram_edges,
    histogram_linkability,
    linkability_of_blocks,
    linkability_terms,
)
from zeroevidence.measure.registry import of_family
from zeroevidence.measure.views import PairSettings, PairView
from zeroevidence.measure.whole import ScoreView
from zeroevidence.uncertainty.draws import BATCH, cluster_draws, generator, half_draws, leave_one_out

Unit: TypeAlias = Literal["speaker", "identifier", "score"]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Which clusters each score belongs to: its enrolment's and its trial's."""

    unit: Unit
    names: StrArray
    target: Pairs
    nontarget: Pairs


def find_clusters(scores: Scores) -> Clusters | None:
    """People where they are known, identifiers where only these are; None when nobody said who was compared.

    Trials of unknown speakers are clusters of their own.
    """
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return None
    assert scores.enrolments is not None
    assert scores.trials is not None
    people = scores.enrolment_speakers is not None and scores.trial_speakers is not None
    unit: Unit = "speaker" if people else "identifier"
    sides = []
    for ids, speakers in ((scores.enrolments, scores.enrolment_speakers), (scores.trials, scores.trial_speakers)):
        # The mark keeps an identifier that stands in for an unknown speaker apart from a speaker of that name.
        sides.append(
            ids if not people or speakers is None else np.where(speakers != "", speakers, np.char.add("?", ids))
        )
    names, codes = np.unique(np.concatenate(sides), return_inverse=True)
    enrolment, trial = codes[: len(sides[0])], codes[len(sides[0]) :]
    return Clusters(
        unit,
        names,
        *(
            Pairs(enrolment[pairs.enrolment], trial[pairs.trial])
            for pairs in (scores.target_pairs, scores.nontarget_pairs)
        ),
    )


def find_owners(scores: Scores) -> tuple[IntArray, IntArray] | None:
    """Whose each target and each non-target is, where scores are of people and not of comparisons between them.

    That is so where both sides of every pair are one person, and nobody has scores of both classes (an attribute).
    """
    clusters = find_clusters(scores)
    if clusters is None or clusters.unit != "speaker":
        return None
    target, nontarget = clusters.target, clusters.nontarget
    if any((pairs.enrolment != pairs.trial).any() for pairs in (target, nontarget)):
        return None
    if len(np.intersect1d(target.trial, nontarget.trial)):
        return None
    return target.trial, nontarget.trial


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """One class of scores, summed within units: pairs of clusters, or atoms of independent scores."""

    atoms: csr_matrix | None  # scores per (atom, pair); None where the units are the atoms
    size: CountArray  # scores per unit
    costs: dict[str, CountArray]  # by measure: the sum of its cost of single scores, per unit
    squares: dict[str, CountArray]  # the sum of the squares of that
    bins: CountArray | csr_matrix | None  # scores per histogram bin, or per (bin, pair)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """One class in a number of replicates."""

    atoms: FloatArray  # (replicates, atoms)
    size: FloatArray
    means: dict[str, FloatArray]  # by measure: the mean of its cost of single scores
    bins: FloatArray | None


class _Replicate(PairView):
    """One replicate: weighted counts, and what was summed beforehand."""

    def __init__(self, source: PairResampler, target: _Drawn, nontarget: _Drawn, row: int) -> None:
        tar, non = target.atoms[row], nontarget.atoms[row]
        keep = (tar + non) > 0
        # whole numbers in floating point, exact up to 2^53
        counts = Counts(tar[keep].astype(np.float64), non[keep].astype(np.float64))
        super().__init__(counts, source.settings, source.stepped[keep])
        self.source, self.target, self.nontarget, self.row = source, target, nontarget, row

    def class_means(self, name: str) -> tuple[float, float] | None:
        """Means of the scores drawn."""
        return float(self.target.means[name][self.row]), float(self.nontarget.means[name][self.row])

    def linkability(self) -> float:
        """Linkability with the model that was fitted on all scores, or of the scores drawn."""
        source, row = self.source, self.row
        if source.terms is not None:
            if source.separated:
                return 1.0
            linked = self.target.atoms[row] @ source.terms[0] / self.target.size[row]
            linked += self.nontarget.atoms[row] @ source.terms[1] / self.nontarget.size[row]
            return float(np.clip(linked, 0.0, 1.0))
        if self.settings.linkability == "pav":
            return linkability_of_blocks(self.blocks)
        if source.edges is None or self.target.bins is None or self.nontarget.bins is None:
            return 0.0  # too few mated scores for a bin: the tools' answer is 0, and stays so
        return histogram_linkability(self.target.bins[row], self.nontarget.bins[row], source.edges, 1.0)[0]


class PairResampler:
    """Everything that replicates of the one-to-one measures need, computed once."""

    def __init__(
        self,
        scores: Scores,
        ranked: Ranked,
        settings: PairSettings | None = None,
        *,
        by_score: bool = False,
    ) -> None:
        clusters = None if by_score else find_clusters(scores)
        self.unit: Unit = "score" if clusters is None else clusters.unit
        self.settings = settings or PairSettings()
        self.seed = self.settings.seed
        view = ScoreView(ranked, self.settings)
        self.measures = [one for one in of_family("one-to-one") if one.interval(view) is not None]
        # Targets right below non-targets are pooled by PAV in every replicate, so such neighbours are one atom here.
        counts = ranked.counts
        lower = np.flatnonzero((counts.nontarget[:-1] == 0) & (counts.target[1:] == 0))
        joined = np.zeros(len(counts.target), dtype=np.int64)
        joined[lower + 1] = 1
        self.atom = np.arange(len(counts.target)) - np.cumsum(joined)
        self.stepped = np.zeros(self.atom[-1] + 1, dtype=bool)
        self.stepped[self.atom[lower]] = True
        self.terms = self._linkability_terms(ranked) if self.settings.linkability == "density" else None
        binned = self.settings.linkability == "histogram"
        self.edges = histogram_edges(ranked.target, ranked.nontarget) if binned else None
        # Classes that do not overlap do so in every replicate, and are 1 by definition.
        self.separated = bool(ranked.target[0] > ranked.nontarget[-1])
        self.pairs: IntArray | None = None
        self.n_clusters = self.n_with_targets = len(scores)
        units: tuple[IntArray | None, IntArray | None] = (None, None)
        if clusters is not None:
            self.n_clusters = len(clusters.names)
            both = (clusters.target, clusters.nontarget)
            codes = [pairs.enrolment * self.n_clusters + pairs.trial for pairs in both]
            used, index = np.unique(np.concatenate(codes), return_inverse=True)
            self.n_with_targets = len(np.unique(clusters.target.enrolment))
            self.pairs = np.column_stack(np.divmod(used, self.n_clusters))
            units = index[: len(codes[0])], index[len(codes[0]) :]
        self.target = self._summed(scores.target, ranked.counts.target, units[0], "target")
        self.nontarget = self._summed(scores.nontarget, ranked.counts.nontarget, units[1], "nontarget")

    def _linkability_terms(self, ranked: Ranked) -> tuple[FloatArray, FloatArray]:
        # the term of a class is that of the neighbour which holds it
        gain, loss = linkability_terms(ranked, seed=self.seed)
        terms: tuple[FloatArray, FloatArray] = (
            np.bincount(self.atom, weights=np.where(ranked.counts.target > 0, gain, 0.0)).astype(np.float64),
            np.bincount(self.atom, weights=np.where(ranked.counts.nontarget > 0, loss, 0.0)).astype(np.float64),
        )
        return terms

    def _summed(
        self, values: FloatArray, per_atom: CountArray, pair: IntArray | None, side: Literal["target", "nontarget"]
    ) -> _Class:
        atom = np.empty(len(values), dtype=np.int64)
        atom[np.argsort(values, kind="stable")] = np.repeat(self.atom, per_atom)
        n_atoms = len(self.stepped)
        unit = atom if pair is None else pair
        n_units = n_atoms if self.pairs is None else len(self.pairs)
        bins: CountArray | csr_matrix | None = None
        if self.edges is not None:
            n_bins = len(self.edges) - 1
            bin_of = np.clip(np.searchsorted(self.edges, values, "right") - 1, 0, n_bins - 1)
            bins = np.bincount(bin_of, minlength=n_bins) if pair is None else _sparse(bin_of, pair, (n_bins, n_units))
        costs, squares = {}, {}
        for one in self.measures:
            if one.per_score is not None:
                cost = getattr(one.per_score, side)(values, self.settings)
                costs[one.name] = np.bincount(unit, weights=cost, minlength=n_units)
                squares[one.name] = np.bincount(unit, weights=cost**2, minlength=n_units)
        return _Class(
            None if pair is None else _sparse(atom, pair, (n_atoms, n_units)),
            np.bincount(unit, minlength=n_units).astype(np.float64),
            costs,
            squares,
            bins,
        )

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Replicates of one batch."""
        if self.pairs is not None:
            return self.replicates(cluster_draws(self.n_clusters, batch, size, self.seed))
        rng = generator(self.seed, 0, batch)
        return self._measured(*(self._independent(part, rng, size) for part in (self.target, self.nontarget)))

    def jackknife(self) -> dict[str, FloatArray] | None:
        """Leave-one-cluster-out values; None for independent scores, where they would cost too much."""
        return None if self.pairs is None else self.replicates(leave_one_out(self.n_clusters))

    def halves(self, size: int) -> dict[str, FloatArray] | None:
        """Values on random halves of the clusters, or of the scores of each class."""
        if self.pairs is not None:
            return self.replicates(half_draws(self.n_clusters, size, self.seed)) if self.n_clusters >= 4 else None
        rng = generator(self.seed, 2, 0)
        return self._measured(*(_halved(part, rng, size) for part in (self.target, self.nontarget)))

    def replicates(self, draws: IntArray) -> dict[str, FloatArray]:
        """Measures for given numbers of copies of each cluster, shape (replicates, clusters)."""
        assert self.pairs is not None
        parts: list[dict[str, FloatArray]] = []
        for start in range(0, len(draws), BATCH):
            columns = draws[start : start + BATCH].T.astype(np.float64)
            second = columns[self.pairs[:, 1]]
            second[self.pairs[:, 0] == self.pairs[:, 1]] = 1.0
            weights = columns[self.pairs[:, 0]] * second
            parts.append(self._measured(*(_weighed(part, weights) for part in (self.target, self.nontarget))))
        return {one.name: np.concatenate([part[one.name] for part in parts]) for one in self.measures}

    def _measured(self, target: _Drawn, nontarget: _Drawn) -> dict[str, FloatArray]:
        values = {one.name: np.full(len(target.size), np.nan) for one in self.measures}
        for row in range(len(target.size)):
            if target.size[row] == 0 or nontarget.size[row] == 0:
                continue  # a draw without one of the classes has no value
            view = _Replicate(self, target, nontarget, row)
            for one in self.measures:
                values[one.name][row] = one.compute(view)
        return values

    def _independent(self, part: _Class, rng: np.random.Generator, replicates: int) -> _Drawn:
        """One class drawn score by score: atoms exactly, means within them by the central limit theorem."""
        n = int(part.size.sum())
        atoms = rng.multinomial(n, part.size / n, size=replicates).astype(np.float64)
        held = np.maximum(part.size, 1.0)
        means = {}
        for one in self.measures:
            if one.per_score is None:
                continue
            mean = part.costs[one.name] / held
            with np.errstate(invalid="ignore"):
                spread = np.nan_to_num(np.maximum(part.squares[one.name] / held - mean**2, 0.0), posinf=0.0)
            drawn = (_sum(atoms, mean) + np.sqrt(atoms @ spread) * rng.standard_normal(replicates)) / n
            means[one.name] = np.clip(drawn, *one.per_score.limits)
        bins = None
        if part.bins is not None:
            bins = rng.multinomial(n, np.asarray(part.bins) / n, size=replicates).astype(np.float64)
        return _Drawn(atoms, np.full(replicates, float(n)), means, bins)


def _weighed(part: _Class, weights: FloatArray) -> _Drawn:
    """One class where each pair of clusters counts a number of times; weights are (pairs, replicates)."""
    assert part.atoms is not None
    size = part.size @ weights
    with np.errstate(invalid="ignore", divide="ignore"):
        return _Drawn(
            np.ascontiguousarray((part.atoms @ weights.astype(part.atoms.dtype)).T),
            size,
            {name: _sum(weights.T, cost) / size for name, cost in part.costs.items()},
            None if part.bins is None else (part.bins @ weights).T,
        )


def _sum(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Weighted sums; an infinite value counts where it was drawn, and only there."""
    infinite = np.isinf(values)
    if not infinite.any():
        return weights @ values
    total: FloatArray = weights @ np.where(infinite, 0.0, values)
    total[weights[:, infinite].any(axis=1)] = np.inf
    return total


def _halved(part: _Class, rng: np.random.Generator, replicates: int) -> _Drawn:
    """Half of a class without replacement, its atoms only: other sums are not those of oracle-calibrated measures."""
    n = int(part.size.sum())
    half = rng.multivariate_hypergeometric(
        part.size.astype(np.int64), (n + 1) // 2, size=replicates, method="marginals"
    )
    unknown = np.full(replicates, np.nan)
    return _Drawn(
        half.astype(np.float64),
        np.full(replicates, float((n + 1) // 2)),
        dict.fromkeys(part.costs, unknown),
        None,
    )


def _sparse(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> csr_matrix:
    # Weighted counts are whole numbers, so single precision is exact up to 2^24 and twice as fast. A pair of clusters
    # practically never weighs 256: that would take sixteen copies of both.
    counts = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    largest = int(np.bincount(rows).max(initial=0))
    return csr_matrix(counts, dtype=np.float32 if largest < 2**16 else np.float64)

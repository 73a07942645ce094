"""Lists of single comparisons in which people are on both sides: do they tell anything, and what would they if not?

Labels of such a list cannot be exchanged: trials of one person are alike, and most pairs were never compared. So the
test takes the area under the ROC less one half, leaves one person out at a time on both sides, and refers the quotient
to a t distribution for the effective number of people. What a measure shows where nothing leaks comes from simulated
scores with the same people behind them: effects of people, pairs of people, recordings and chance, as large as in the
list, and none of being the same person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_matrix
from scipy.special import ndtri

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.uncertainty.clusters import Clusters
from zeroevidence.uncertainty.spread import effective_number, t_tail

_LEAST_P = 1e-12  # tails of a t distribution that far out are a matter of faith


@dataclass(frozen=True, slots=True)
class PeopleTest:
    """The area under the ROC, and how often chance alone gives as much."""

    area: float
    p_value: float


def people_test(scores: Scores, clusters: Clusters) -> PeopleTest:
    """Whether targets score higher than non-targets by more than the people on both sides explain."""
    n = len(clusters.names)
    below = _share_below(scores.target, scores.nontarget)
    above = 1.0 - _share_below(scores.nontarget, scores.target)
    area = float(below.mean())
    parts = [(below - area, clusters.target), (above - area, clusters.nontarget)]
    sizes = [_by_cluster(np.ones(len(values)), pairs, n) for values, pairs in parts]
    # what is left of the area without each person
    rests = [len(values) - size for (values, _), size in zip(parts, sizes, strict=True)]
    change = np.zeros(n)
    for (values, pairs), rest in zip(parts, rests, strict=True):
        change -= np.divide(_by_cluster(values, pairs, n), rest, out=np.zeros(n), where=rest > 0.0)
    people = min(effective_number(size) for size in sizes)
    involved = change[sizes[0] + sizes[1] > 0.0]
    variance = float(((involved - involved.mean()) ** 2).sum())
    # A pair of people is left out with either of them and so counts twice. Taking off all of that rejects too often
    # with ten people, taking off nothing too seldom; half holds the level (benchmarks/validity.py).
    variance -= min(_of_pairs(parts, n), variance) / 2.0
    error = np.sqrt((len(involved) - 1.0) / len(involved) * variance)
    if people < 2.0 or error == 0.0:
        return PeopleTest(area, 1.0 if area <= 0.5 or people < 2.0 else _LEAST_P)
    return PeopleTest(area, max(_LEAST_P, t_tail((area - 0.5) / error, people - 1.0)))


def _of_pairs(parts: Sequence[tuple[FloatArray, Pairs]], n: int) -> float:
    """Sum of squares of what each pair of two people adds to the area."""
    codes, terms = [], []
    for values, pairs in parts:
        apart = np.flatnonzero(pairs.enrolment != pairs.trial)
        one, other = pairs.enrolment[apart], pairs.trial[apart]
        codes.append(np.minimum(one, other) * n + np.maximum(one, other))
        terms.append(values[apart] / len(values))
    _, index = np.unique(np.concatenate(codes), return_inverse=True)
    sums = np.bincount(index, weights=np.concatenate(terms)) if len(index) else np.zeros(1)
    return float((sums**2).sum())


def _share_below(values: FloatArray, others: FloatArray) -> FloatArray:
    """Share of the others that lie below each value, ties in equal parts."""
    ordered = np.sort(others)
    both = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    share: FloatArray = both / (2.0 * len(others))
    return share


def _by_cluster(weights: FloatArray, pairs: Pairs, n: int) -> FloatArray:
    """Sums over the scores that involve each cluster, once where it is on both sides."""
    apart = np.flatnonzero(pairs.enrolment != pairs.trial)
    first = np.bincount(pairs.enrolment, weights=weights, minlength=n)
    second = np.bincount(pairs.trial[apart], weights=weights[apart], minlength=n)
    return (first + second).astype(np.float64)


class SimulatedList:
    """Scores with the people of a list behind them that tell nothing about who is who."""

    def __init__(self, scores: Scores, clusters: Clusters) -> None:
        assert scores.target_pairs is not None
        assert scores.nontarget_pairs is not None
        people = [
            np.concatenate(side) for side in zip(*map(_sides, (clusters.target, clusters.nontarget)), strict=True)
        ]
        given = (scores.target_pairs, scores.nontarget_pairs)
        recordings = [np.concatenate(side) for side in zip(*map(_sides, given), strict=True)]
        pair = np.minimum(*people) * len(clusters.names) + np.maximum(*people)
        self.effects = [_Effect.of(*people), _Effect.of(pair), *map(_Effect.of, recordings)]
        self.n, self.n_target = len(scores), len(scores.target)
        pooled = np.concatenate((scores.target, scores.nontarget))
        order = np.empty(self.n)
        order[np.argsort(pooled, kind="stable")] = np.arange(self.n)
        self.deviations = self._deviations(ndtri((order + 0.5) / self.n))

    def _deviations(self, z: FloatArray) -> FloatArray:
        """Standard deviations of the effects and of chance, by moments: products of scores that share an effect."""
        incidence = [effect.incidence() for effect in self.effects]
        moments = [float((effect.T @ z) @ (effect.T @ z)) for effect in incidence] + [float(z @ z)]
        size = len(moments)
        shared = np.empty((size, size))
        for a, one in enumerate(incidence):
            for b, other in enumerate(incidence):
                shared[a, b] = float((one.T @ other).power(2).sum())
            shared[a, -1] = shared[-1, a] = float(one.power(2).sum())
        shared[-1, -1] = float(self.n)
        scale = np.diag(shared)
        found, _ = nnls(shared / scale[:, None], np.array(moments) / scale)
        deviations: FloatArray = np.sqrt(found if found.any() else np.eye(size)[-1])
        return deviations

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Targets and non-targets."""
        scores = rng.standard_normal(self.n)
        scores *= self.deviations[-1]
        for effect, deviation in zip(self.effects, self.deviations, strict=False):
            drawn = deviation * rng.standard_normal(effect.number)
            for place in effect.places:
                scores += drawn[place]
        return scores[: self.n_target], scores[self.n_target :]


def _sides(pairs: Pairs) -> tuple[IntArray, IntArray]:
    return pairs.enrolment, pairs.trial


@dataclass(frozen=True, slots=True, eq=False)
class _Effect:
    """What scores have in common: for each score the effect that it has, and a second one where it has two."""

    places: tuple[IntArray, ...]
    number: int

    @classmethod
    def of(cls, *codes: IntArray) -> _Effect:
        """One effect for each distinct code, on either side alike."""
        used, index = np.unique(np.concatenate(codes), return_inverse=True)
        return cls(tuple(np.split(index, len(codes))), len(used))

    def incidence(self) -> csr_matrix:
        """How often each score has each effect."""
        n = len(self.places[0])
        rows = np.tile(np.arange(n), len(self.places))
        index = np.concatenate(self.places)
        return csr_matrix((np.ones(len(index)), (rows, index)), shape=(n, self.number))

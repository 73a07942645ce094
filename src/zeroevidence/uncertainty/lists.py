"""Lists of comparisons with people on both sides: cells of their scores, test against chance, simulated null."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._scipy import ndtri, nnls
from zeroevidence._typing import CountArray, FloatArray, IntArray
from zeroevidence.calibrate.logistic import from_cosines, to_cosines
from zeroevidence.calibrate.pav import Blocks, Counts, RankedScores, block_lows, count, rank, searchsorted_in_threads
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.measure.views import Llrs
from zeroevidence.parallel import compute_beside
from zeroevidence.uncertainty.groups import Clusters, compact_codes, find_clusters, number_codes

CellArray: TypeAlias = NDArray[np.uint16]
CELLS = 1 << 15
_BUCKETS = 1 << 20  # of which few have a cell begin in them
_BUCKETED_FROM = 1 << 18  # scores that are worth the buckets
_BLOCK = 1 << 16  # scores that stay in the cache together
_END = 1 / 8  # share of the cells at either end that hold one atom each
_ROUNDS = 8  # in which effects of people settle, or earlier:
_SETTLED = 1e-3  # change of a normal score in a round
_SHRUNK = 1.0  # variance of a pair's mean, over that of an effect
_MOMENTS = 1 << 18  # scores that deviations are estimated from
_EXACT = 1 << 16  # scores of a simulated list that are sorted; those of longer ones are counted in cells
_SPARSE = 16  # times as many cells as there are numbers to be counted: more are sorted instead
_PART = 1 << 15  # scores that are drawn at a time
_REACH = 6.5  # standard deviations on either side that cells cover


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCells:
    """Scores by cell.

    Values on fewer people are counted from the cells, without sorting scores again. Values of a long list from all its
    atoms and from tens of thousands of cells differ by less than the last printed digit, and the atoms at both ends,
    which decide the worst case, are kept apart.

    Parameters
    ----------
    counts
        Targets and non-targets in each cell, in ascending order of score.
    target
        The cell of each target, in the order of the scores.
    nontarget
        The cell of each non-target.
    middle
        The atom in the middle of each cell.
    """

    counts: Counts
    target: CellArray
    nontarget: CellArray
    middle: IntArray


def assign_cells(target: FloatArray, nontarget: FloatArray, ranked: RankedScores, most: int = CELLS) -> ScoreCells:
    """Return the cell of each score, one of at most `most` (no more than 65 536); `ranked` has the same scores."""
    starts = cell_starts(ranked.counts, most)
    middle = (starts + np.append(starts[1:], len(ranked.counts.target)) - 1) // 2
    counts = Counts(np.add.reduceat(ranked.counts.target, starts), np.add.reduceat(ranked.counts.nontarget, starts))
    lows = block_lows(ranked, Blocks(counts.target, counts.nontarget, np.zeros(len(starts))))
    return ScoreCells(counts, _places(lows, target), _places(lows, nontarget), middle)


class PreparedScores:
    """Scores with the people behind each and the cell that each lies in, computed when first asked for."""

    def __init__(self, scores: Scores, ranked: RankedScores | None = None, llrs: Llrs | None = None) -> None:
        """`llrs` are those of the same pairs in the same order; the scores themselves unless given."""
        self.scores, self.ranked = scores, ranked or rank(scores.target, scores.nontarget)
        self.llrs = llrs or (scores.target, scores.nontarget)

    def prepare(self) -> None:
        """Compute both now, before several threads ask."""
        compute_beside(lambda: self.clusters, lambda: self.cells)

    @cached_property
    def clusters(self) -> Clusters | None:
        """The people behind each score."""
        return find_clusters(self.scores)

    @cached_property
    def cells(self) -> ScoreCells:
        """The cell of each score."""
        return assign_cells(self.scores.target, self.scores.nontarget, self.ranked)


def cell_starts(counts: Counts, most: int = CELLS) -> IntArray:
    """Return the first atom of each of at most `most` cells.

    Neighbours of one and the same class are put together first, which changes no measure. Cells between the ends hold
    about the same share of the scores, either class counting half.
    """
    target, nontarget = counts.target > 0, counts.nontarget > 0
    mixed = target & nontarget
    begins = mixed.copy()
    begins[1:] |= mixed[:-1] | (target[1:] != target[:-1])
    begins[0] = True
    starts = np.flatnonzero(begins)
    if len(starts) <= most:
        return starts
    share = counts.target / counts.n_target + counts.nontarget / counts.n_nontarget
    before = np.cumsum(share)[starts] - share[starts]
    ends = int(most * _END)
    first, last = ends, len(starts) - ends
    inner = (before[first:last] - before[first]) / (before[last] - before[first])
    cell = np.minimum((inner * (most - 2 * ends)).astype(np.int64), most - 2 * ends - 1)
    changes = np.concatenate(([True], cell[1:] != cell[:-1]))
    return np.concatenate((starts[:first], starts[first:last][changes], starts[last:]))


def certain_runs(counts: Counts) -> IntArray:
    """Return where runs of cells begin that PAV pools whatever scores are left out.

    A cell of targets alone has at least the share of targets of any other, and one of non-targets alone has none. So a
    cell is always pooled with the one before it where that holds nothing but targets, or this one nothing but
    non-targets; fewer scores may empty a cell, but change neither.

    Examples
    --------
    >>> certain_runs(Counts(np.array([0, 2, 1, 0, 1]), np.array([3, 0, 1, 2, 0]))).tolist()
    [0, 1, 4]
    """
    begins = np.ones(len(counts.target), dtype=bool)
    begins[1:] = (counts.nontarget[:-1] > 0) & (counts.target[1:] > 0)
    return np.flatnonzero(begins)


def _places(lows: FloatArray, scores: FloatArray) -> CellArray:
    """The last of the ascending `lows` that does not lie above each score."""
    if len(scores) < _BUCKETED_FROM:
        return (searchsorted_in_threads(lows, scores, "right") - 1).astype(np.uint16)
    # Even buckets over the range are found by one product. Rounding cannot put a score into a lower bucket than a
    # smaller one, so where no cell begins in its bucket, as is so for most, that bucket alone gives the cell.
    low, high = np.float64(lows[0]), np.float64(scores.max())
    with np.errstate(over="ignore", divide="ignore"):
        scale = (_BUCKETS - 1) / (high - low)
    if not (np.isfinite(low) and 0.0 < scale < np.inf):
        return (searchsorted_in_threads(lows, scores, "right") - 1).astype(np.uint16)
    begin = np.bincount(((lows - low) * scale).astype(np.int64), minlength=_BUCKETS)
    last = (np.cumsum(begin) - 1).astype(np.uint16)
    begins = begin > 0
    places = np.empty(len(scores), dtype=np.uint16)
    unsure = []
    for start in range(0, len(scores), _BLOCK):
        part = scores[start : start + _BLOCK] - low
        part *= scale
        bucket = part.astype(np.int64)
        last.take(bucket, out=places[start : start + len(bucket)])
        unsure.append(np.flatnonzero(begins.take(bucket)) + start)
    rest = np.concatenate(unsure)
    places[rest] = searchsorted_in_threads(lows, scores[rest], "right") - 1
    return places


@dataclass(frozen=True, slots=True, eq=False)
class PeopleTest:
    """How far targets score above what the people on both sides explain, and the same under exchanges."""

    statistic: float
    draws: FloatArray


def people_test(placed: ScoreCells, clusters: Clusters, signs: Callable[[int], FloatArray]) -> PeopleTest:
    """Test whether targets score higher than non-targets by more than the people on both sides explain.

    Labels of such a list cannot be exchanged: most pairs of people were never compared. So non-targets say how high
    each person scores on either side, and targets how far above that they lie, in normal scores. Where nothing leaks,
    this excess of a person is as likely to be above 0 as below. The test exchanges the signs of people: all targets of
    a person together, which keeps what they have in common. The sum over people weighs each by the precision of the
    mean of their targets, and is divided by the root of the sum of squares, which no exchange changes.

    Parameters
    ----------
    placed
        The cells of the scores.
    clusters
        The people on both sides.
    signs
        Signs of so many people under each exchange, shape (exchanges, people).
    """
    counts, n = placed.counts, len(clusters.names)
    normal_score = ndtri(_share_below(counts.target + counts.nontarget))
    mean, as_enrolled, as_heard = _PairSums.of(clusters.nontarget, normal_score[placed.nontarget], n).fit_sides()
    person = clusters.target.enrolment
    excess = normal_score[placed.target] - mean - as_enrolled[person] - as_heard[clusters.target.trial]
    number = np.bincount(person, minlength=n)
    of_person = np.bincount(person, excess, n) / np.maximum(number, 1)
    within = float(((excess - of_person[person]) ** 2).sum()) / max(1, len(excess) - int(np.count_nonzero(number)))
    of_person, number = of_person[number > 0], number[number > 0]
    between = max(0.0, float((of_person**2).mean() - within * (1.0 / number).mean()))
    variance = between + within / number
    weighted = np.divide(of_person, variance, out=np.zeros_like(of_person), where=variance > 0.0)
    scale = float(np.sqrt((weighted**2).sum())) or 1.0
    return PeopleTest(float(weighted.sum()) / scale, signs(len(weighted)) @ weighted / scale)


@dataclass(frozen=True, slots=True, eq=False)
class _PairSums:
    """Number of scores, and sum of their values, for each pair of clusters."""

    first: IntArray
    second: IntArray
    numbers: FloatArray
    sums: FloatArray
    clusters: int

    @classmethod
    def of(cls, pairs: Pairs, values: FloatArray, n: int) -> _PairSums:
        """Sum the values of these pairs of `n` clusters."""
        used, index = number_codes(pairs.enrolment * n + pairs.trial, n * n)
        numbers = np.bincount(index, minlength=len(used)).astype(np.float64)
        sums = np.bincount(index, values, len(used)).astype(np.float64)
        occurring = np.flatnonzero(numbers)
        first, second = np.divmod(used[occurring], n)
        return cls(first, second, numbers[occurring], sums[occurring], n)

    def fit_sides(self) -> tuple[float, FloatArray, FloatArray]:
        """Return the mean, and the effects of clusters as enrolled and as heard, that explain the sums best.

        What a pair has in common varies about as much as single scores, and effects about as much as either, which
        says how pairs are weighted and effects shrunk.
        """
        weights, values = self.numbers / (1.0 + self.numbers), self.sums / self.numbers
        total, n = float(weights.sum()), self.clusters
        first, second = (np.bincount(side, weights, n) + _SHRUNK for side in (self.first, self.second))
        mean, enrolled, heard = float(weights @ values) / total, np.zeros(n), np.zeros(n)
        for _ in range(_ROUNDS):
            enrolled = np.bincount(self.first, weights * (values - mean - heard[self.second]), n) / first
            rest, before = values - enrolled[self.first], heard
            heard = np.bincount(self.second, weights * (rest - mean), n) / second
            mean = float(weights @ (rest - heard[self.second])) / total
            if np.abs(heard - before).max() < _SETTLED:
                break
        return mean, enrolled, heard


def _share_below(counts: CountArray) -> FloatArray:
    """Return the share of scores below each cell, those in the same cell counting half."""
    share: FloatArray = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    return share


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedScores:
    """Counts of a simulated list, and its single scores where they were not counted in cells."""

    counts: Counts
    scores: tuple[FloatArray, FloatArray] | None = None


class ListSimulator:
    """Simulator of lists with the same people but without evidence about who is who."""

    def __init__(self, scores: Scores, clusters: Clusters, placed: ScoreCells) -> None:
        people = _joined(clusters.target, clusters.nontarget)
        assert scores.target_pairs is not None
        assert scores.nontarget_pairs is not None
        recordings = _joined(scores.target_pairs, scores.nontarget_pairs)
        n = len(clusters.names)
        pairs, pair = number_codes(np.minimum(*people) * n + np.maximum(*people), n * n)  # unordered pairs
        self.effects = [_Effect(people, n), _Effect((pair,), len(pairs))]
        self.effects += [_Effect((side,), int(side.max()) + 1) for side in recordings]
        self.n, self.n_target = len(scores), len(scores.target)
        self.deviations = self._deviations(placed)

    def _deviations(self, placed: ScoreCells) -> FloatArray:
        """Estimate the standard deviations of effects and chance by moments: products of scores that share an effect.

        They hold for any scores of the list, so that a part of a long one is enough.
        """
        sample = np.arange(self.n)
        if self.n > _MOMENTS:
            sample = np.sort(np.random.default_rng(self.n).choice(self.n, _MOMENTS, replace=False, shuffle=False))
        targets = int(np.searchsorted(sample, self.n_target))
        # ranks within either class: what targets have in common must not pass for an effect of people
        counts = placed.counts
        deviates = [ndtri(_share_below(of_class)) for of_class in (counts.target, counts.nontarget)]
        cells = placed.target[sample[:targets]], placed.nontarget[sample[targets:] - self.n_target]
        z = np.concatenate([of_class[cell] for of_class, cell in zip(deviates, cells, strict=True)])
        effects = [effect.on(sample) for effect in self.effects]
        moments = [*(effect.sum_of_squares(z) for effect in effects), float(z @ z)]
        size = len(moments)
        shared = np.empty((size, size))
        for a, effect in enumerate(effects):
            for b, other in enumerate(effects[: a + 1]):
                shared[a, b] = shared[b, a] = effect.shared_with(other)
            shared[a, -1] = shared[-1, a] = effect.shared_with_itself()
        shared[-1, -1] = float(len(z))
        scale = np.diag(shared)
        variances, _ = nnls(shared / scale[:, None], np.array(moments) / scale)
        deviations: FloatArray = np.sqrt(variances if variances.any() else np.eye(size)[-1])
        return deviations

    def draw(self, rng: np.random.Generator, lists: int, *, one_by_one: bool = False) -> list[SimulatedScores]:
        """Draw several lists; long ones are counted in cells of an even grid unless `one_by_one`."""
        # a row for each level of an effect, with a column for each list
        drawn = [
            (effect, rng.standard_normal((effect.number, lists), dtype=np.float32) * np.float32(deviation))
            for effect, deviation in zip(self.effects, self.deviations, strict=False)
            if deviation > 0.0
        ]
        chance = float(self.deviations[-1])
        if self.n <= _EXACT or one_by_one:
            scores = _sum_effects(drawn, slice(0, self.n), lists)
            scores += rng.standard_normal(scores.shape, dtype=np.float32) * np.float32(chance)
            classes = ((values[: self.n_target], values[self.n_target :]) for values in scores.T)
            return [SimulatedScores(count(*both), both) for both in classes]
        ends = (0, self.n_target, self.n)
        effects = [_count_effects(drawn, first, last, lists) for first, last in itertools.pairwise(ends)]
        kernel = _scattering_kernel(chance)
        counts = np.array([[_scatter(of_list, kernel, rng) for of_list in of_class] for of_class in effects])
        return [SimulatedScores(Counts(*of_list[:, of_list.any(axis=0)])) for of_list in counts.transpose(1, 0, 2)]


def _sum_effects(drawn: _Drawn, span: slice, lists: int) -> NDArray[np.float32]:
    """Return the sum of all effects on some scores, shape (scores, lists)."""
    sums = np.zeros((span.stop - span.start, lists), dtype=np.float32)
    for effect, values in drawn:
        for place in effect.places:
            sums += values.take(place[span], axis=0)
    return sums


def _count_effects(drawn: _Drawn, first: int, last: int, lists: int) -> IntArray:
    """Return the number of scores in each cell by their effects alone, shape (lists, cells)."""
    counted = np.zeros(lists * CELLS, dtype=np.int64)
    if not drawn:
        counted[CELLS // 2 :: CELLS] = last - first
        return counted.reshape(lists, CELLS)
    for start in range(first, last, _PART):
        scores = _sum_effects(drawn, slice(start, min(start + _PART, last)), lists)
        scores += np.float32(_REACH)
        scores *= np.float32(CELLS / (2.0 * _REACH))
        cells = np.clip(scores, 0.0, CELLS - 1.0, out=scores).astype(np.int64)
        cells += np.arange(lists) * CELLS
        counted += np.bincount(cells.ravel(), minlength=len(counted))
    return counted.reshape(lists, CELLS)


def _scattering_kernel(chance: float) -> FloatArray | None:
    """Return the Gaussian of chance in the cosine domain; None where it is narrower than a cell."""
    width = chance * CELLS / (2.0 * _REACH)
    kernel: FloatArray = np.exp(-0.5 * (np.pi * np.arange(CELLS) / CELLS * width) ** 2)
    return None if width < 1.0 else kernel


def _scatter(counts: IntArray, kernel: FloatArray | None, rng: np.random.Generator) -> IntArray:
    """Return the number of scores in each cell after chance has moved each of them.

    They are drawn from the smoothed shares of all cells. This lets their effects vary by chance once more, which in a
    list of that length is negligible, and saves a random number for each score.
    """
    if kernel is None:
        return counts
    shares = np.maximum(0.0, from_cosines(to_cosines(counts) * kernel))
    return rng.multinomial(int(counts.sum()), shares / shares.sum())


def _joined(first: Pairs, second: Pairs) -> tuple[IntArray, IntArray]:
    """Concatenate enrolments, and trials, of two classes of pairs."""
    return np.concatenate((first.enrolment, second.enrolment)), np.concatenate((first.trial, second.trial))


@dataclass(frozen=True, slots=True, eq=False)
class _Effect:
    """A random effect: the level of each score, and a second one where it has two (the people on both sides)."""

    places: tuple[IntArray, ...]
    number: int

    def on(self, sample: IntArray) -> _Effect:
        """Return the effect on some of the scores; only levels that occur are numbered."""
        index = np.concatenate([place[sample] for place in self.places])
        used, index = compact_codes(index, self.number)
        return _Effect(tuple(index.reshape(len(self.places), -1)), len(used))

    def sum_of_squares(self, values: FloatArray) -> float:
        """Return the sum over levels of the squared sum of their values."""
        sums = sum(np.bincount(place, values, self.number) for place in self.places)
        return float(np.square(sums).sum())

    def shared_with(self, other: _Effect) -> float:
        """Return the number of pairs of scores that share a level of this effect and one of another."""
        if other is self and len(self.places) == 1:
            return float((np.bincount(self.places[0]) ** 2).sum())
        products = itertools.product(self.places, other.places)
        codes = np.concatenate([level * other.number + level_of_other for level, level_of_other in products])
        limit = self.number * other.number
        times = np.bincount(codes) if limit <= _SPARSE * len(codes) else np.unique(codes, return_counts=True)[1]
        return float((times**2).sum())

    def shared_with_itself(self) -> float:
        """Return the same of scores with themselves: one for each level, four where both levels are equal."""
        if len(self.places) == 1:
            return float(len(self.places[0]))
        return float(2 * len(self.places[0]) + 2 * np.count_nonzero(self.places[0] == self.places[1]))


_Drawn: TypeAlias = Sequence[tuple[_Effect, NDArray[np.float32]]]

"""Groups of people that are left out: how they are drawn, and which scores are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, CountArray, FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.uncertainty.recordings import RecordingNumbers
from zeroevidence.uncertainty.spread import effective_number

BATCH = 64
_SPARSE = 16  # possible codes for each given one, beyond which sorting is quicker than a table
_TABLE = 1 << 16  # codes that have a place each, however few are given
_COUNTED = 1 << 23  # places of groups that are held at a time
_BLOCK = 1 << 17  # scores that are looked at together
_FIELD = 17  # bits of a number of scores; three such fields are a whole number that floating point keeps
_FIELDS = 3
_AT_ONCE = 30  # halves that a word of 32 bits has room for, three by three
_LOWEST = (1 << _FIELD) - 1


def generator(seed: int, purpose: int, batch: int) -> np.random.Generator:
    """Return the generator of one batch; `purpose` keeps what is drawn for the null, halves and groups apart."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(purpose, batch)))


def batches(total: int) -> list[tuple[int, int]]:
    """Return number and size of each batch; each has its generator, so that draws do not depend on who draws them."""
    return [(number, min(BATCH, total - start)) for number, start in enumerate(range(0, total, BATCH))]


def draw_groups(n: int, most: int, seed: int) -> IntArray:
    """Return the group of each of `n` people: everybody alone, or at random in `most` groups of nearly equal size."""
    return np.arange(n) if n <= most else generator(seed, 3, 0).permutation(np.arange(n) % most)


def draw_halves(n: int, pairs: int, seed: int) -> BoolArray:
    """Return random halves of `n` people, each followed by its complement, shape (2 pairs, n)."""
    half = np.argsort(generator(seed, 2, 0).random((pairs, n)), axis=1) < (n + 1) // 2
    return np.stack((half, ~half), axis=1).reshape(2 * pairs, n)


Unit: TypeAlias = Literal["speaker", "identifier", "score"]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The clusters of the enrolment and of the trial of each score."""

    unit: Unit
    names: StrArray
    target: Pairs
    nontarget: Pairs


def find_clusters(scores: Scores) -> Clusters | None:
    """Return people where they are known, identifiers where only these are; None where neither is.

    Trials of unknown speakers are clusters of their own. Without any speakers, identifiers that targets say to be of
    one person are one cluster.
    """
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return None
    assert scores.enrolments is not None
    assert scores.trials is not None
    if scores.enrolment_speakers is None or scores.trial_speakers is None:
        return _of_identifiers(scores, scores.enrolments, scores.trials)
    # The mark keeps an identifier that stands in for an unknown speaker apart from a speaker of that name.
    sides = [
        np.where(speakers != "", speakers, np.char.add("?", ids))
        for ids, speakers in ((scores.enrolments, scores.enrolment_speakers), (scores.trials, scores.trial_speakers))
    ]
    names, codes = np.unique(np.concatenate(sides), return_inverse=True)
    return _clusters("speaker", scores, names, codes)


def _of_identifiers(scores: Scores, enrolments: StrArray, trials: StrArray) -> Clusters:
    """Identifiers, those of mated pairs joined.

    An identifier on both sides is one recording, unless that would make one person of non-targets: then both sides
    count in their own way.
    """
    assert scores.target_pairs is not None
    first, second = scores.target_pairs.enrolment, len(enrolments) + scores.target_pairs.trial
    both = np.concatenate((enrolments, trials))
    joined = np.unique(both, return_inverse=True)
    for names, codes in (joined, (both, np.arange(len(both)))):
        merged = _clusters("identifier", scores, *_merge(names, codes, first, second))
        if not (merged.nontarget.enrolment == merged.nontarget.trial).any():
            return merged
    return _clusters("identifier", scores, *joined)


def _clusters(unit: Unit, scores: Scores, names: StrArray, codes: IntArray) -> Clusters:
    """Clusters from a code for every enrolment and then every trial."""
    assert scores.enrolments is not None
    assert scores.target_pairs is not None
    assert scores.nontarget_pairs is not None
    enrolment, trial = codes[: len(scores.enrolments)], codes[len(scores.enrolments) :]
    target, nontarget = (pairs.renumbered(enrolment, trial) for pairs in (scores.target_pairs, scores.nontarget_pairs))
    return Clusters(unit, names, target, nontarget)


def _merge(names: StrArray, codes: IntArray, first: IntArray, second: IntArray) -> tuple[StrArray, IntArray]:
    """Merge clusters that are the same person; each has the first of its names."""
    from scipy.sparse import coo_matrix  # slow to import, and needed only where speakers are not named
    from scipy.sparse.csgraph import connected_components

    n = len(names)
    same = coo_matrix((np.ones(len(first)), (codes[first], codes[second])), shape=(n, n))
    _, person = connected_components(same, directed=False)
    _, lowest = np.unique(person, return_index=True)
    return names[lowest], person.astype(np.int64)[codes]


def number_codes(codes: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the codes below `limit` that may be used, ascending, and the place of each code among them.

    All of them, which spares sorting, unless they are far more than there are codes.
    """
    if limit <= max(len(codes), _TABLE):
        return np.arange(limit), codes
    return compact_codes(codes, limit)


def compact_codes(codes: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the codes below `limit` that are used, ascending, and the place of each code among them.

    Examples
    --------
    >>> used, place = compact_codes(np.array([7, 2, 7]), 10)
    >>> used.tolist(), place.tolist()
    ([2, 7], [1, 0, 1])
    """
    if limit > _SPARSE * len(codes):
        return np.unique(codes, return_inverse=True)
    is_used = np.zeros(limit, dtype=bool)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    places = np.empty(limit, dtype=np.int64)
    places[used] = np.arange(len(used))
    return used, places[codes]


def find_owners(clusters: Clusters | None) -> tuple[IntArray, IntArray] | None:
    """Return the person of each target and non-target where scores are of people and not of comparisons.

    That is so where both sides of every pair are one person, and nobody has scores of both classes (an attribute).
    """
    if clusters is None or clusters.unit != "speaker":
        return None
    target, nontarget = clusters.target, clusters.nontarget
    if any((pairs.enrolment != pairs.trial).any() for pairs in (target, nontarget)):
        return None
    if len(np.intersect1d(target.trial, nontarget.trial)):
        return None
    return target.trial, nontarget.trial


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of clusters that are left out: one by one, or several together where there are very many.

    Parameters
    ----------
    unit
        What a cluster is.
    number
        How many groups there are.
    target
        The groups on both sides of each target.
    nontarget
        The groups on both sides of each non-target.
    clusters
        Number of clusters with scores of the class that fewer clusters have.
    people
        Effective number of clusters: of how many of equal size they are worth.
    shares
        The share of the scores that each group contributes, of the class to which it contributes more.
    recordings
        Numbers of targets of these people.
    """

    unit: Unit
    number: int
    target: Pairs
    nontarget: Pairs
    clusters: int
    people: float
    shares: FloatArray
    recordings: RecordingNumbers


def find_groups(scores: Scores, most: int, seed: int, clusters: Clusters | None = None) -> Groups:
    """Return at most `most` groups of people, recordings or single scores."""
    if clusters is None:
        return _of_scores(len(scores.target), len(scores.nontarget), most, seed)
    n = len(clusters.names)
    sizes = [_sizes(pairs, n) for pairs in (clusters.target, clusters.nontarget)]
    group = draw_groups(n, most, seed)
    number = int(group.max()) + 1
    shares = [np.bincount(group, weights=size, minlength=number) / size.sum() for size in sizes]
    target, nontarget = clusters.target, clusters.nontarget
    if number < n:
        target, nontarget = (pairs.renumbered(group, group) for pairs in (target, nontarget))
    people = min(effective_number(size) for size in sizes)
    fewest = min(int(np.count_nonzero(size)) for size in sizes)
    return Groups(
        clusters.unit,
        number,
        target,
        nontarget,
        fewest,
        people,
        np.maximum(*shares),
        RecordingNumbers.of(sizes[0], group),
    )


def _sizes(pairs: Pairs, n: int) -> FloatArray:
    """Return the number of scores of each cluster, half of a score on either side."""
    return (np.bincount(pairs.enrolment, minlength=n) + np.bincount(pairs.trial, minlength=n)) / 2.0


def _of_scores(n_target: int, n_nontarget: int, most: int, seed: int) -> Groups:
    """Deal scores of unknown origin to groups of nearly equal size."""
    number = min(most, n_target, n_nontarget)
    rng = generator(seed, 3, 1)
    groups = [rng.permutation(np.arange(n) % number) for n in (n_target, n_nontarget)]
    pairs = [Pairs(group, group) for group in groups]
    people = min(n_target, n_nontarget)
    equal = RecordingNumbers.of(np.ones(number))
    return Groups("score", number, pairs[0], pairs[1], people, float(people), equal.shares, equal)


_LAST_HALVES = np.uint32((1 << _FIELDS) - 1)
PlaceArray: TypeAlias = IntArray | NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The cell, or the bin of a histogram, of each score, and the number of cells."""

    of: PlaceArray
    number: int


class GroupTables:
    """Numbers of scores in each cell: of each group, of all, and of halves of the groups.

    Counting is the cost of leaving people out of long lists: each score is counted once for each of its groups, and
    once for every three halves of the people.
    """

    def __init__(self, places: Places, groups: Pairs, number: int) -> None:
        """`groups` has the two groups of each score, of which there are `number`."""
        self.places, self.groups, self.number = places, groups, number
        self.all: CountArray = np.bincount(places.of, minlength=places.number)
        self.within_group = np.flatnonzero(groups.enrolment == groups.trial)  # one group on both sides
        self._most = max(1, _COUNTED // places.number // BATCH) * BATCH
        self._cached: tuple[int, CountArray] | None = None

    def involving(self, first: int, last: int) -> CountArray:
        """Return the number of scores with each group on either side, shape (groups, cells); the last are cached."""
        if first // self._most != (last - 1) // self._most:
            return self._involving(first, last)
        start, cached = first // self._most * self._most, self._cached  # which another thread may exchange
        if cached is None or cached[0] != start:
            self._cached = cached = start, self._involving(start, min(start + self._most, self.number))
        return cached[1][first - start : last - start]

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of values of cells over the scores with each group on either side."""
        spans = ((first, min(first + self._most, self.number)) for first in range(0, self.number, self._most))
        # not a product of matrices, whose sums depend on the number of threads
        return np.concatenate([np.einsum("gc,c->g", self.involving(*span), values) for span in spans])

    def _involving(self, first: int, last: int) -> CountArray:
        table = np.zeros((last - first) * self.places.number, dtype=np.int64)
        # A score with one group on both sides is counted once.
        sides = [self.groups.enrolment] + [self.groups.trial] * (len(self.within_group) < len(self.places.of))
        for side, span in ((side, span) for side in sides for span in _spans(len(self.places.of))):
            group, place = side[span], self.places.of[span]
            keep = None
            if side is self.groups.trial and len(self.within_group):
                keep = group != self.groups.enrolment[span]
            if last - first < self.number:
                inside = (group >= first) & (group < last)
                keep = inside if keep is None else keep & inside
            if keep is not None:
                group, place = group[keep], place[keep]
            codes = (group - first) * self.places.number
            codes += place
            np.add.at(table, codes, 1)
        return table.reshape(last - first, self.places.number)

    def within(self, halves: BoolArray) -> Iterator[CountArray]:
        """Yield the number of scores with both sides in each half, and then with both sides in its complement."""
        both = self._both(halves, slice(None))
        same = both if len(self.within_group) == len(self.places.of) else self._both(halves, self.within_group)
        any_side: FloatArray = np.zeros((len(halves), self.places.number))
        for first in range(0, self.number, self._most):
            last = min(first + self._most, self.number)
            any_side += halves[:, first:last].astype(np.float64) @ self.involving(first, last)
        # Sides in the half are counted once for each score that has one there, and once more for those with two groups.
        for in_half, in_one_group, touching in zip(both, same, any_side, strict=True):
            yield in_half
            yield self.all - touching.astype(np.int64) - in_one_group + in_half

    def _both(self, halves: BoolArray, sample: slice | IntArray) -> CountArray:
        """Return the number of scores, in a sample, whose both sides are in each half, shape (halves, places)."""
        enrolment, trial, of = self.groups.enrolment[sample], self.groups.trial[sample], self.places.of[sample]
        counted = np.zeros((len(halves), self.places.number), dtype=np.int64)
        for first in range(0, len(halves), _AT_ONCE):
            some_halves, sums = halves[first : first + _AT_ONCE], counted[first : first + _AT_ONCE]
            bits = (some_halves << np.arange(len(some_halves))[:, None]).sum(axis=0).astype(np.uint32)
            for span in _spans(len(of)):
                inside = bits[enrolment[span]]
                inside &= bits[trial[span]]
                place = of[span].astype(np.int64)
                for start in range(0, len(sums), _FIELDS):
                    fields = _PACKED_FIELDS.take(inside & _LAST_HALVES)
                    packed = np.bincount(place, fields, self.places.number).astype(np.int64)
                    for half in sums[start : start + _FIELDS]:
                        half += packed & _LOWEST
                        packed >>= _FIELD
                    inside >>= _FIELDS
        return counted


# What a score adds to three fields, by the halves that it is in.
_PACKED_FIELDS: FloatArray = np.array(
    [float(sum((inside >> i & 1) << (_FIELD * i) for i in range(_FIELDS))) for inside in range(1 << _FIELDS)]
)


def _spans(n: int) -> Iterator[slice]:
    """Yield stretches of so few scores that their number fits into a field."""
    return (slice(start, min(start + _BLOCK - 1, n)) for start in range(0, n, _BLOCK - 1))

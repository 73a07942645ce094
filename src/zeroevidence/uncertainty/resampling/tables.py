"""Numbers of scores in each cell by the groups of people on their two sides.

Counting is the cost of leaving people out of long lists: each score is counted once for each of its groups, and once
for every three halves of the people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, CountArray, FloatArray, IntArray
from zeroevidence.data.scores import Pairs
from zeroevidence.uncertainty.resampling.draws import BATCH

_COUNTED = 1 << 23  # places of groups that are held at a time
_BLOCK = 1 << 17  # scores that are looked at together
_FIELD = 17  # bits of a number of scores; three such fields are a whole number that floating point keeps
_FIELDS = 3
_AT_ONCE = 30  # halves that a word of 32 bits has room for, three by three
_LAST_HALVES = np.uint32((1 << _FIELDS) - 1)
PlaceArray: TypeAlias = IntArray | NDArray[np.uint16]


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The cell, or the bin of a histogram, of each score, and the number of cells."""

    of: PlaceArray
    number: int


class GroupTables:
    """Numbers of scores in each cell: of each group, of all, and of halves of the groups."""

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
        start = first // self._most * self._most
        if self._cached is None or self._cached[0] != start:
            self._cached = start, self._involving(start, min(start + self._most, self.number))
        return self._cached[1][first - start : last - start]

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


_LOWEST = (1 << _FIELD) - 1
# What a score adds to three fields, by the halves that it is in.
_PACKED_FIELDS: FloatArray = np.array(
    [float(sum((inside >> i & 1) << (_FIELD * i) for i in range(_FIELDS))) for inside in range(1 << _FIELDS)]
)


def _spans(n: int) -> Iterator[slice]:
    """Yield stretches of so few scores that their number fits into a field."""
    return (slice(start, min(start + _BLOCK - 1, n)) for start in range(0, n, _BLOCK - 1))

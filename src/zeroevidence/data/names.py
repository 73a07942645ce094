"""Names looked up by hashing: for many names several times faster than sorting them."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from zeroevidence._typing import IntArray, StrArray

_FEW = 1 << 12  # names that are sorted as quickly


@overload
def ranked_names(names: StrArray) -> tuple[StrArray, IntArray]: ...


@overload
def ranked_names(names: StrArray | IntArray) -> tuple[StrArray | IntArray, IntArray]: ...


def ranked_names(names: StrArray | IntArray) -> tuple[StrArray | IntArray, IntArray]:
    """The distinct names, sorted, and the place of each given one among them.

    Examples
    --------
    >>> distinct, place = ranked_names(np.array(["eve", "ann", "eve", "bob"]))
    >>> distinct.tolist(), place.tolist()
    (['ann', 'bob', 'eve'], [2, 0, 2, 1])
    """
    found: Any
    if len(names) <= _FEW or names.dtype.kind != "U":
        found, place = np.unique(names, return_inverse=True)
        return found, place.astype(np.int64)
    listed = names.tolist()
    known = sorted(set(listed))
    places = dict(zip(known, range(len(known)), strict=True))
    found = np.array(known, dtype=names.dtype.str)
    return found, np.fromiter(map(places.__getitem__, listed), np.int64, len(listed))


def rows_of(names: StrArray, wanted: StrArray) -> IntArray:
    """The row of each wanted name among names that occur once, -1 where it is not among them.

    Examples
    --------
    >>> rows_of(np.array(["eve", "ann"]), np.array(["ann", "bob"])).tolist()
    [1, -1]
    """
    places = dict(zip(names.tolist(), range(len(names)), strict=True))
    return np.fromiter((places.get(name, -1) for name in wanted.tolist()), np.int64, len(wanted))


def find_twice(names: StrArray) -> tuple[int, int] | None:
    """Rows of the first name in alphabetical order that occurs more than once: where it does first, and again.

    Examples
    --------
    >>> find_twice(np.array(["eve", "bob", "ann", "eve", "bob"])), find_twice(np.array(["eve", "bob"]))
    ((1, 4), None)
    """
    if len(set(names.tolist())) == len(names):
        return None
    order = np.argsort(names, kind="stable")
    same = np.flatnonzero(names[order][1:] == names[order][:-1])
    return int(order[same[0]]), int(order[same[0] + 1])

"""Scores counted by place and group, against counting them one by one."""

import numpy as np
import pytest

from zeroevidence.data.scores import Pairs
from zeroevidence.uncertainty import groups
from zeroevidence.uncertainty.groups import GroupTables, Places, compact_codes


def some_tables(own: str, n: int = 700, number: int = 9) -> GroupTables:
    rng = np.random.default_rng(3)
    one, other = rng.integers(number, size=n), rng.integers(number, size=n)
    if own == "all":
        other = one
    if own == "none":
        other = (one + rng.integers(1, number, size=n)) % number
    return GroupTables(Places(rng.integers(20, size=n).astype(np.uint16), 20), Pairs(one, other), number)


@pytest.mark.parametrize("own", ["some", "all", "none"])
@pytest.mark.parametrize("held", [1, 1 << 23])
def test_scores_of_groups(own, held, monkeypatch):
    """In one table of all groups, and in several."""
    monkeypatch.setattr(groups, "_COUNTED", held)
    monkeypatch.setattr(groups, "BATCH", 4)
    monkeypatch.setattr(groups, "_BLOCK", 64)
    found = some_tables(own)
    one, other, of = found.groups.enrolment, found.groups.trial, found.places.of
    for first, last in ((0, 4), (4, 8), (8, 9), (2, 7)):
        for group, row in enumerate(found.involving(first, last), first):
            assert row.tolist() == np.bincount(of[(one == group) | (other == group)], minlength=20).tolist()


@pytest.mark.parametrize("own", ["some", "all", "none"])
@pytest.mark.parametrize("pairs", [1, 3, 16, 31])
def test_scores_of_halves_and_their_complements(own, pairs, monkeypatch):
    monkeypatch.setattr(groups, "_BLOCK", 64)
    found = some_tables(own)
    one, other, of = found.groups.enrolment, found.groups.trial, found.places.of
    halves = np.random.default_rng(0).random((pairs, found.number)) < 0.5
    parts = [part for half in halves for part in (half, ~half)]
    expected = [np.bincount(of[part[one] & part[other]], minlength=20).tolist() for part in parts]
    assert [row.tolist() for row in found.within(halves)] == expected


def test_as_many_scores_in_one_place_as_there_can_be():
    """Three numbers share a word: none may run over into its neighbour."""
    n = 3 * (1 << 17)
    groups = Pairs(np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64))
    found = GroupTables(Places(np.zeros(n, dtype=np.uint16), 1), groups, 3)
    halves = np.array([[True, True, False], [True, False, True], [True, True, True]])
    assert [int(row[0]) for row in found.within(halves)] == [n, 0, 0, 0, n, 0]


@pytest.mark.parametrize("limit", [40, 700, 10**9])
def test_used_codes_are_those_of_a_sort(limit):
    codes = np.random.default_rng(0).integers(40, size=50) * (limit // 40)
    used, place = compact_codes(codes, limit)
    expected, where = np.unique(codes, return_inverse=True)
    assert (used.tolist(), place.tolist()) == (expected.tolist(), where.tolist())

"""Folds of people: everybody evaluated once, whatever the order of files."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from zeroevidence.data.corpus import Corpus, Utterance
from zeroevidence.data.folds import FEW_PEOPLE, default_folds, default_splits, draw_folds
from zeroevidence.errors import UsageError


def corpus(people, each=4, sexes=False, **words):
    return Corpus(
        tuple(
            Utterance(
                f"p{i:02d}-{j}", f"p{i:02d}", Path(f"p{i:02d}/{j}.wav"),
                attributes={"sex": "FM"[i % 2]} if sexes else {}, **words,
            )
            for i in range(people)
            for j in range(each)
        )
    )  # fmt: skip


def people(one, place):
    return {u.speaker for u in one if (u.role if place == "train" else u.split) == place}


@pytest.mark.parametrize(("number", "folds"), [(6, 3), (7, 3), (9, 3), (8, 2), (29, 3), (23, 5)])
def test_everybody_is_evaluated_once(number, folds):
    drawn = draw_folds(corpus(number), folds)
    times = Counter(name for one in drawn for name in people(one, "eval"))
    assert times == Counter({f"p{i:02d}": 1 for i in range(number)})
    for one in drawn:
        groups = [people(one, place) for place in ("train", "dev", "eval")]
        assert sum(map(len, groups)) == number == len(set().union(*groups))
        assert min(map(len, groups)) >= 2
        assert abs(len(groups[0]) - len(groups[1])) <= 1
    sizes = [len(people(one, "eval")) for one in drawn]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("number", [6, 12, 17, 18, 20, 29])
def test_repeated_splits(number):
    """Everybody is evaluated once in each; from 18 people on, blocks of three or more meet every other block once."""
    given = corpus(number, sexes=True)
    drawn = draw_folds(given, 3, splits=5)
    assert [one.utterances for one in draw_folds(given, 3, seed=1, splits=5)] == [one.utterances for one in drawn]
    names = sorted({u.speaker for u in given})
    evaluated = [people(one, "eval") for one in drawn]
    for split in range(5):
        assert sorted(name for fold in evaluated[3 * split : 3 * split + 3] for name in fold) == names
    blocks = {}
    for name in names:
        blocks.setdefault(tuple(name in fold for fold in evaluated), set()).add(name)
    assert len(blocks) == (6 if number >= 18 else 3)
    if number >= 18:
        for first, second in combinations(blocks.values(), 2):
            assert sum(first | second <= fold for fold in evaluated) == 1
        assert all(
            block <= (dev := people(one, "dev")) or not block & dev for one in drawn for block in blocks.values()
        )
    assert len({tuple(sorted(people(one, "dev"))) for one in drawn[::3]}) > 1
    for one in drawn:
        assert min(len(people(one, place)) for place in ("train", "dev", "eval")) >= 2
    roles = {(u.id, u.role) for one in drawn for u in one if u.role != "train"}
    assert len(roles) == len(given)


def test_the_order_of_files_is_nothing_and_the_seed_is_not():
    given = corpus(9)
    mixed = Corpus(tuple(given.utterances[i] for i in np.random.default_rng(0).permutation(len(given))))
    assert [one.utterances for one in draw_folds(mixed, 3)] == [one.utterances for one in draw_folds(given, 3)]
    other = draw_folds(given, 3, seed=1)
    assert [people(one, "eval") for one in other] != [people(one, "eval") for one in draw_folds(given, 3)]


def test_a_person_is_enrolled_by_the_same_recordings_everywhere():
    roles = {}
    for one in draw_folds(corpus(9), 3):
        for u in one:
            if u.role != "train":
                roles.setdefault(u.id, set()).add(u.role)
    assert all(len(found) == 1 for found in roles.values())
    assert Counter(next(iter(found)) for found in roles.values()) == {"enrol": 18, "trial": 18}


def test_sexes_are_shared_out():
    for one in draw_folds(corpus(18, sexes=True), 3):
        for place in ("train", "dev", "eval"):
            sexes = Counter(int(name[1:]) % 2 for name in people(one, place))
            assert abs(sexes[0] - sexes[1]) <= 1


def test_which_corpora_get_folds():
    assert [default_folds(corpus(n)) for n in (4, 5, 6, FEW_PEOPLE - 1, FEW_PEOPLE, 40)] == [0, 0, 3, 3, 0, 0]
    assert default_folds(corpus(9, role="train")) == 0
    assert [default_splits(corpus(n)) for n in (6, FEW_PEOPLE - 1, FEW_PEOPLE)] == [5, 5, 1]
    with pytest.raises(UsageError, match="names roles"):
        draw_folds(corpus(9, split="dev"), 3)
    for number, folds in ((4, 2), (6, 2), (9, 5), (9, 1)):
        with pytest.raises(UsageError, match=f"{folds} folds of {number} people"):
            draw_folds(corpus(number), folds)

"""The scores of attackers, written and read again; damaged archives are refused by name."""

import json

import numpy as np
import pytest

from zeroevidence.data.formats.attack_scores import (
    FILE,
    AttackScores,
    has_attack_scores,
    read_attack_scores,
    write_attack_scores,
)
from zeroevidence.data.matrix import FoldedScores, ScoreMatrix
from zeroevidence.errors import InputError


def matrix(people="ab", seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(len(people)), 2)
    trials = [f"{people[i]}{k}" for k, i in enumerate(mated)]
    names = list(people)
    scores = rng.normal(size=(len(mated), len(people))).astype(dtype)
    return ScoreMatrix(scores, mated, trials, names, [people[i] for i in mated], names)


def assert_same(first, second):
    np.testing.assert_array_equal(first.scores, second.scores)
    assert first.scores.dtype == second.scores.dtype
    for name in ("mated", "trials", "enrolments", "trial_speakers", "enrolment_speakers"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_what_is_written_is_read(tmp_path):
    folded = FoldedScores.from_folds([matrix("ab"), matrix("cd")], [matrix("ef"), matrix("gh")])
    sides = (matrix("abc", 1), matrix("xyz", 2)), (matrix("abc", 3, np.float32), matrix("xyz", 4)), (matrix("abc", 5),)
    written = [*(AttackScores(*each) for each in sides), AttackScores(folded)]
    assert not has_attack_scores(tmp_path)
    path = write_attack_scores(written, tmp_path)
    assert path.name == FILE
    assert has_attack_scores(tmp_path)
    read = read_attack_scores(tmp_path)
    assert len(read) == 4
    for first, second in zip(written, read, strict=True):
        for side, other in zip(first.sides, second.sides, strict=True):
            assert len(side) == len(other)
            for part, again in zip(side, other, strict=True):
                assert_same(part, again)
    with np.load(path) as arrays:  # names are stored once
        assert sum(name.startswith("trials.") for name in arrays.files) == 6


def test_the_same_scores_give_the_same_bytes(tmp_path):
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        contents.append(write_attack_scores([AttackScores(matrix())], tmp_path / name).read_bytes())
    assert contents[0] == contents[1]


def damaged(change):
    def write(folder):
        path = write_attack_scores([AttackScores(matrix("abc"), matrix("xyz"))], folder)
        with np.load(path) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        change(arrays)
        np.savez(path, **arrays)

    return write


def index(value):
    return lambda arrays: arrays.update(index=np.array(json.dumps(value)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / FILE).write_bytes(b"PK\x03\x04 nothing"),
        damaged(lambda arrays: arrays.pop("index")),
        damaged(lambda arrays: arrays.pop("mated.0")),
        damaged(lambda arrays: arrays.pop("0.evaluated.0")),
        damaged(lambda arrays: arrays.update({"trials.0": np.array(["one"])})),
        damaged(lambda arrays: arrays.update({"0.evaluated.0": np.full((6, 3), np.nan)})),
        damaged(lambda arrays: arrays.update({"0.development.0": np.full((6, 3), -np.inf)})),
        damaged(index([{"evaluated": [0]}])),
        damaged(index([{"evaluated": [], "development": []}])),
        damaged(index([{"evaluated": [0], "development": [1, 1]}])),
        damaged(index([{"evaluated": [7], "development": []}])),
        damaged(index("abc")),
    ],
)
def test_a_damaged_archive_is_refused_by_name(tmp_path, damage):
    damage(tmp_path)
    with pytest.raises(InputError) as refused:
        read_attack_scores(tmp_path)
    assert str(refused.value.path).endswith(FILE)

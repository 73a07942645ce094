"""Embeddings are checked once, row by row, and never change; names looked up by hashing, against sorting them."""

import numpy as np
import pytest

from zeroevidence.data import embeddings as module
from zeroevidence.data.embeddings import Embeddings, find_duplicate, mated_rows, rank_names, row_numbers
from zeroevidence.errors import InputError


def test_everything_is_read_only_and_named():
    found = Embeddings(np.eye(3), ["a", "b", "c"], ["x", "y", "x"], {"sex": ["f", "m", "f"]})
    assert repr(found) == "Embeddings(3 x 3 float64 of 2 speakers)"
    assert len(found) == 3
    for array in (found.vectors, found.ids, found.speakers, found.attributes["sex"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    assert Embeddings(np.eye(2)).ids.tolist() == ["0", "1"]


def test_memory_mapped_vectors_stay_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    np.save(tmp_path / "v.npy", np.arange(60.0).reshape(20, 3))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    assert isinstance(Embeddings(mapped).vectors, np.memmap)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_row_that_is_not_finite_is_named(value, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 64)
    vectors = np.zeros((20, 3))
    vectors[17, 2] = value
    with pytest.raises(InputError, match=rf"row 17 \('u17'\): entry 2 is {'NaN' if np.isnan(value) else value}"):
        Embeddings(vectors, [f"u{i}" for i in range(20)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.zeros(3),), "expected one vector per row"),
        ((np.zeros((0, 3)),), "expected one vector per row"),
        ((np.array([["a"]]),), "expected float16"),
        ((np.eye(3), ["a", "b"]), "ids: expected 3, one per vector"),
        ((np.eye(3), ["a", "b", "a"]), "row 2: identifier 'a' is already that of row 0"),
        ((np.eye(3), ["a", "", "c"]), "ids: row 1 is empty"),
        ((np.eye(3), ["a", "b", "c"], ["x"]), "speakers: expected 3"),
        ((np.eye(3), ["a", "b", "c"], ["x", "", "y"]), "speakers: row 1 is empty"),
        ((np.eye(3), ["a", "b", "c"], None, {"sex": ["f"]}), "sex: expected 3"),
    ],
)
def test_what_is_wrong_is_said(arguments, words):
    with pytest.raises(InputError, match=words):
        Embeddings(*arguments)


def test_profiles_are_means_and_for_cosine_of_unit_vectors():
    vectors = np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 0.0]])
    found = Embeddings(vectors, ["a", "b", "c"], ["y", "x", "y"])
    assert found.profiles().ids.tolist() == ["x", "y"]
    np.testing.assert_allclose(found.profiles().vectors, [[0.0, 3.0], [1.5, 0.0]])
    np.testing.assert_allclose(found.profiles(cosine=True).vectors, [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(InputError, match=r"row 1 \('b'\): a zero vector"):
        Embeddings(vectors * [[1.0], [0.0], [1.0]], ["a", "b", "c"], ["y", "x", "y"]).profiles(cosine=True)
    with pytest.raises(InputError, match="speakers are not known"):
        Embeddings(vectors).profiles()


def test_trials_find_their_speakers():
    enrol = Embeddings(np.eye(3), ["a", "b", "c"], ["z", "x", "y"])
    trial = Embeddings(np.eye(4), None, ["x", "nobody", "z", "x"])
    assert mated_rows(trial, enrol).tolist() == [1, -1, 0, 1]
    with pytest.raises(InputError, match="enrolled more than once"):
        mated_rows(trial, Embeddings(np.eye(2), ["a", "b"], ["x", "x"]))
    with pytest.raises(InputError, match="trial vectors: speakers"):
        mated_rows(Embeddings(np.eye(2)), enrol)


rng = np.random.default_rng(0)


def drawn(number, of):
    letters = np.array(["", "a", "b", "B", "ä", "\U0001f600", "0"])
    return np.array(["".join(letters[rng.integers(0, 7, 5)]) + str(i) for i in rng.integers(of, size=number)])


@pytest.mark.parametrize("number", [1, 50, 5000])
def test_ranks_are_those_of_sorting(number):
    names = drawn(number, 40)
    found, place = rank_names(names)
    expected, inverse = np.unique(names, return_inverse=True)
    assert found.dtype == names.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(place, inverse)


def test_rows_of_names():
    names = np.unique(drawn(3000, 900))
    wanted = np.concatenate((rng.permutation(names)[:200], ["nobody"]))
    found = row_numbers(names, wanted)
    np.testing.assert_array_equal(names[found[:-1]], wanted[:-1])
    assert found[-1] == -1


@pytest.mark.parametrize("number", [10, 6000])
def test_a_name_that_occurs_twice(number):
    names = np.array([f"n{i}" for i in range(number)])
    assert find_duplicate(names) is None
    names[7] = names[3]
    assert find_duplicate(names) == (3, 7)

"""Names looked up by hashing, against sorting them."""

import numpy as np
import pytest

from zeroevidence.data.embeddings import find_duplicate, rank_names, row_numbers

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

"""Least squares without negative unknowns, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from zeroevidence.uncertainty.numerics.nonnegative import nonnegative_least_squares


@pytest.mark.parametrize("seed", range(40))
def test_solutions_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    rows, size = int(rng.integers(5, 9)), int(rng.integers(1, 6))
    matrix = rng.random((rows, size)) * 10.0 ** rng.uniform(-3.0, 3.0, size)
    values = rng.normal(size=rows) + 0.5
    np.testing.assert_allclose(nonnegative_least_squares(matrix, values), nnls(matrix, values)[0], rtol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_unknowns_that_leave_and_return(seed):
    """Nearly dependent columns: steps towards a solution stop several times at the border."""
    rng = np.random.default_rng(seed)
    matrix = np.cumsum(rng.normal(size=(30, 14)), axis=1) + 2.0
    values = matrix @ np.maximum(0.0, rng.normal(size=14)) + rng.normal(size=30)
    np.testing.assert_allclose(nonnegative_least_squares(matrix, values), nnls(matrix, values)[0], atol=1e-8)


def test_of_equal_columns_the_first_is_used():
    matrix = np.array([[1.0, 0.3, 0.3], [0.3, 1.0, 1.0], [0.3, 1.0, 1.0]])
    found = nonnegative_least_squares(matrix, matrix @ np.array([1.0, 2.0, 0.0]))
    assert found == pytest.approx([1.0, 2.0, 0.0])


def test_values_that_nothing_explains():
    assert nonnegative_least_squares(np.array([[1.0], [2.0]]), np.array([-1.0, -1.0])).tolist() == [0.0]
    assert nonnegative_least_squares(np.zeros((2, 1)), np.array([1.0, 1.0])).tolist() == [0.0]

"""The fast means of ln(1 + e^x) against the obvious ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroevidence.measure.softplus import mean_softplus, mean_softplus_shifted, softplus_blockwise

SHIFTS = np.linspace(-10, 10, 41)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40).map(np.array))
def test_small_arrays(x):
    assert mean_softplus(x) == pytest.approx(np.logaddexp(0, x).mean(), rel=1e-12, abs=1e-15)
    expected = np.logaddexp(0, x[:, None] + SHIFTS).mean(axis=0)
    np.testing.assert_allclose(mean_softplus_shifted(x, SHIFTS), expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("scale", [0.1, 3.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_many_chunks(scale, dtype):
    x = (np.random.default_rng(0).normal(size=100_003) * scale).astype(dtype)
    exact = np.asarray(x, np.float64)
    assert mean_softplus(x) == pytest.approx(np.logaddexp(0, exact).mean(), rel=1e-13)
    np.testing.assert_allclose(softplus_blockwise(x), np.logaddexp(0, exact), rtol=1e-15, atol=1e-15)
    expected = [np.logaddexp(0, exact + s).mean() for s in SHIFTS[::10]]
    np.testing.assert_allclose(mean_softplus_shifted(x, SHIFTS)[::10], expected, rtol=1e-11, atol=1e-12)


def test_infinities():
    assert mean_softplus(np.array([-np.inf, 0.0])) == pytest.approx(np.log(2) / 2)
    assert mean_softplus(np.array([np.inf, 0.0])) == np.inf
    assert (mean_softplus_shifted(np.array([np.inf, 0.0]), SHIFTS) == np.inf).all()
    assert softplus_blockwise(np.array([-np.inf, 0.0, np.inf])).tolist() == [0.0, np.log(2.0), np.inf]

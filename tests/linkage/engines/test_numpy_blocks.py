"""Powers of two: every method within its bound of double precision, and the choice among them."""

import numpy as np
import pytest

from tests.linkage.searches import check, draw, linked
from zeroevidence.linkage.engines import numpy_blocks
from zeroevidence.linkage.engines.numpy_blocks import LARGEST_ERROR, by_torch
from zeroevidence.measure.softplus import by_exp, by_exp2

pytest.importorskip("torch")


@pytest.mark.parametrize("method", [by_exp2, by_exp, by_torch])
def test_within_the_bound_of_double_precision(method):
    powers = np.concatenate((np.linspace(-60.0, 60.0, 300_008), np.arange(-59.5, 60.0))).astype(np.float32)
    expected = np.exp2(powers.astype(np.float64))
    method(powers.reshape(-1, 2))
    assert np.abs(powers / expected - 1.0).max() < LARGEST_ERROR
    tiny = np.array([-1e4, -200.0, -127.5], np.float32)
    method(tiny)
    assert ((tiny >= 0.0) & (tiny < 2e-38)).all()


@pytest.mark.parametrize("weight", [3.0, -2.0, 40.0])
def test_a_search_by_torch(weight, monkeypatch):
    monkeypatch.setattr(numpy_blocks, "powers_of_two", lambda _: by_torch)
    x, y, mated = draw(trials=300, identities=500, dtype=np.float32)
    check(linked(x, y, mated, weight=weight, engine="numpy"), x, y, mated, weight, bits=2e-5)

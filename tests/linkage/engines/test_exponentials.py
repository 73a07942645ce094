"""Powers of two: every way within its bound of double precision, and the choice among them."""

import numpy as np
import pytest

from zeroevidence.linkage import link
from zeroevidence.linkage.engines import exponentials, numpy_blocks
from zeroevidence.linkage.engines.exponentials import LARGEST_ERROR, by_exp, by_exp2, by_torch, powers_of_two
from zeroevidence.measure import exponentials as numpy_exponentials
from zeroevidence.measure.exponentials import powers_by_numpy

WAYS = (by_exp2, by_exp, by_torch)


@pytest.mark.parametrize("way", WAYS)
def test_within_the_bound_of_double_precision(way, need):
    if way is by_torch:
        need("torch")
    found = (
        np.concatenate((np.linspace(-60.0, 60.0, 300_008), np.arange(-59.5, 60.0))).astype(np.float32).reshape(-1, 2)
    )
    expected = np.exp2(found.astype(np.float64))
    way(found)
    assert np.abs(found / expected - 1.0).max() < LARGEST_ERROR


@pytest.mark.parametrize("way", WAYS)
def test_far_below_nothing_is_left(way, need):
    if way is by_torch:
        need("torch")
    found = np.array([-1e4, -200.0, -127.5, 0.0], np.float32)
    way(found)
    assert (found[:3] >= 0.0).all()
    assert (found[:3] < 2e-38).all()
    assert found[3] == pytest.approx(1.0, rel=LARGEST_ERROR)


@pytest.mark.parametrize(
    ("with_exp2", "with_exp", "way"), [(True, True, by_exp2), (False, True, by_exp), (False, False, by_exp2)]
)
def test_the_choice_of_numpy(monkeypatch, with_exp2, with_exp, way):
    monkeypatch.setattr(numpy_exponentials, "HAS_EXP2", with_exp2)
    monkeypatch.setattr(numpy_exponentials, "HAS_EXP", with_exp)
    assert powers_by_numpy() is way


def test_the_choice(monkeypatch):
    monkeypatch.setattr(exponentials, "present", lambda _: True)
    monkeypatch.setattr(exponentials, "_VECTORISED", True)
    assert powers_of_two(1e12) is powers_by_numpy()
    monkeypatch.setattr(exponentials, "_VECTORISED", False)
    assert powers_of_two(1e12) is by_torch
    assert powers_of_two(1e6) is powers_by_numpy()  # not worth importing torch
    monkeypatch.setattr(exponentials, "present", lambda _: False)
    assert powers_of_two(1e12) is powers_by_numpy()


@pytest.mark.parametrize("weight", [3.0, -2.0, 40.0])
def test_a_search_by_torch(weight, monkeypatch, draw, check, need):
    need("torch")
    monkeypatch.setattr(numpy_blocks, "powers_of_two", lambda _: by_torch)
    x, y, mated = draw(trials=300, identities=500, dtype=np.float32)
    check(link(x, y, mated, weight=weight, engine="numpy"), x, y, mated, weight, bits=2e-5)

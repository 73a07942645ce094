"""Lp norms of the evidence: closed forms, an independent computation, order, limits."""

from math import inf, log10, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeroevidence as ze
from zeroevidence.calibrate.pav import pav_llrs
from zeroevidence.errors import UsageError
from zeroevidence.measure.pairs.zebra import lp_disclosure

scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)
orders = st.one_of(st.floats(1.0, 60.0), st.just(inf))


def by_hand(target, nontarget, p):
    """The mean over each class of the power of every score's own LLR."""
    llrs = pav_llrs(np.array(target), np.array(nontarget), laplace=True)
    means = [np.mean((np.abs(llr) / np.log(10.0)) ** p) for llr in llrs]
    return ((means[0] + means[1]) / 2.0) ** (1.0 / p)


def test_equally_strong_evidence_has_one_norm_of_every_order():
    """Separated classes of n scores each: by Laplace's rule, every score is n + 1 to 1."""
    for n in (1, 10, 1000):
        norms = [lp_disclosure(np.ones(n), np.zeros(n), p=p) for p in (1.0, 1.5, 2.0, 300.0, inf)]
        assert norms == pytest.approx([log10(n + 1)] * 5, abs=1e-12)


def test_two_strengths_by_hand():
    """Three targets alone on top, then two of either class, then three non-targets alone: 4 to 1 or nothing."""
    target, nontarget = [2.0] * 3 + [1.0] * 2, [0.0] * 3 + [1.0] * 2
    for p in (1.0, 2.0, 7.0):
        assert lp_disclosure(target, nontarget, p=p) == pytest.approx(log10(4.0) * (3.0 / 5.0) ** (1.0 / p), abs=1e-12)
    assert lp_disclosure(target, nontarget, p=inf) == pytest.approx(log10(4.0))


@given(scores, scores, st.lists(orders, min_size=2, max_size=2).map(sorted))
def test_norms_rise_from_the_mean_to_the_worst_case(target, nontarget, powers):
    low, high = (lp_disclosure(target, nontarget, p=p) for p in powers)
    worst = ze.worst_case(target, nontarget)
    assert by_hand(target, nontarget, 1.0) - 1e-12 <= low <= high + 1e-12
    assert high <= worst + 1e-12
    assert lp_disclosure(target, nontarget, p=inf) == worst
    if powers[0] < inf:
        assert low == pytest.approx(by_hand(target, nontarget, powers[0]), rel=1e-9, abs=1e-12)
    increased = np.exp(np.array(target)), np.exp(np.array(nontarget))  # only the order of scores matters
    assert lp_disclosure(*increased, p=powers[0]) == pytest.approx(low, abs=1e-12)


def test_large_orders_neither_overflow_nor_vanish():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(2.0, 1.0, 300), rng.normal(0.0, 1.0, 3000)
    worst = ze.worst_case(target, nontarget)
    norms = [lp_disclosure(target, nontarget, p=p) for p in (10.0, 1e3, 1e6, 1e300)]
    assert norms == sorted(norms)
    assert norms[-1] == pytest.approx(worst, rel=1e-12)
    assert lp_disclosure([1.0, 1.0], [1.0, 1.0], p=3.0) == 0.0


@pytest.mark.parametrize("p", [0.0, 0.5, -1.0, nan])
def test_orders_below_one_are_refused(p):
    with pytest.raises(UsageError, match="p: expected a number from 1 on, or infinity"):
        lp_disclosure([1.0], [0.0], p=p)


def test_the_curve_of_a_result_goes_from_the_mean_to_the_worst_case():
    rng = np.random.default_rng(1)
    target, nontarget = rng.normal(1.0, 1.0, 60), rng.normal(0.0, 1.0, 200)
    row = ze.evaluate(target, nontarget, options=ze.Options(intervals=0, null=0))
    curve = row.curves["lp_disclosure"]
    assert (curve.x[0], curve.x[-1]) == (1.0, 0.0)
    assert curve.y[0] == pytest.approx(by_hand(target, nontarget, 1.0), rel=1e-9)
    assert curve.y[curve.x.index(0.5)] == lp_disclosure(target, nontarget, p=2.0)
    assert curve.y[-1] == row["worst_case"].value

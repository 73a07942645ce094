"""Tails and quantiles of Student's t, against scipy's and closed forms."""

from __future__ import annotations

import math

import pytest
from scipy.special import stdtr, stdtrit

from zeroevidence.uncertainty.numerics.student import t_quantile, t_tail

FREEDOM = (1.0, 1.5, 2.0, 3.0, 9.3, 29.0, 100.0, 199.0, 201.0, 1e3, 1e4, 1e6)


@pytest.mark.parametrize("freedom", FREEDOM)
def test_tails_are_those_of_scipy(freedom):
    for statistic in (0.0, 1e-3, 0.5, 1.7, 1.74, 2.0, 5.0, 8.0, -1.0, -2.0, -5.0):
        assert t_tail(statistic, freedom) == pytest.approx(float(stdtr(freedom, -statistic)), rel=1e-13)


@pytest.mark.parametrize("freedom", FREEDOM)
def test_quantiles_are_those_of_scipy(freedom):
    for tail in (0.5, 0.49, 0.31, 0.29, 0.1, 0.025, 1e-3, 1e-6, 1e-12):
        assert t_quantile(tail, freedom) == pytest.approx(-float(stdtrit(freedom, tail)), rel=1e-14, abs=1e-300)


def test_one_degree_of_freedom_is_cauchys_distribution():
    for statistic in (0.5, 1.7, 1.74, 3.0, 20.0, -5.0):
        assert t_tail(statistic, 1.0) == pytest.approx(math.atan2(1.0, statistic) / math.pi, rel=2e-15)


def test_without_end_it_is_normal():
    assert t_tail(2.0, math.inf) == pytest.approx(0.5 * math.erfc(math.sqrt(2.0)), rel=1e-15)
    assert t_quantile(0.025, math.inf) == pytest.approx(1.959963984540054, rel=1e-15)
    assert t_quantile(0.4, math.inf) == pytest.approx(0.2533471031357997, rel=1e-14)


def test_no_tail_is_infinitely_far_away():
    assert t_quantile(0.0, 5.0) == math.inf


@pytest.mark.parametrize("given", [(math.nan, 5.0), (1.0, math.nan)])
def test_what_is_not_known_stays_so(given):
    assert math.isnan(t_tail(*given))
    assert math.isnan(t_quantile(*given))

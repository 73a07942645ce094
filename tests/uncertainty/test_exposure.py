"""Shares of exposed people against the binomial distribution."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaincinv

from zeroevidence.uncertainty.exposure import exposure_shares, upper_share_limit


@pytest.mark.parametrize("people", [1, 7, 30, 400])
def test_the_limit_is_that_of_clopper_and_pearson(people):
    for seen in {0, 1, people // 3, people}:
        exact = stats.binomtest(seen, people, alternative="less").proportion_ci(0.95, method="exact").high
        assert float(upper_share_limit(seen, people)) == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("people", [1, 2, 7, 29, 120, 300, 301])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_limits_are_those_of_scipy(people, level):
    """Our own up to 300 people, and scipy's of more."""
    seen = np.arange(people + 1.0)
    expected = np.append(betaincinv(seen[:-1] + 1.0, people - seen[:-1], level), 1.0)
    np.testing.assert_allclose(upper_share_limit(seen, people, level), expected, rtol=5e-13)


def test_shares_are_of_people_strictly_above():
    found = exposure_shares(np.array([2.0, 1.0, 1.0, -np.inf]))
    assert found.level.tolist() == [-np.inf, 1.0, 2.0]
    assert found.share.tolist() == [0.75, 0.25, 0.0]
    assert (found.bound > found.share).all()


def test_limits_hold_for_19_of_20_samples_whatever_the_distribution():
    rng = np.random.default_rng(0)
    level, truth, held = 2.0, float(np.exp(-2.0)), 0
    for _ in range(400):
        found = exposure_shares(rng.exponential(size=25))
        at = np.searchsorted(found.level, level, "right") - 1
        held += (1.0 if at < 0 else found.bound[at]) >= truth
    assert held / 400 >= 0.95


def test_order_of_people_does_not_matter():
    values = np.random.default_rng(1).normal(size=40).round(1)
    one, other = exposure_shares(values), exposure_shares(values[::-1])
    np.testing.assert_array_equal(one.bound, other.bound)

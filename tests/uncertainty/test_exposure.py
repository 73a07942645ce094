"""Shares of exposed people against the binomial distribution."""

import numpy as np
import pytest
from scipy import stats

from zeroevidence.uncertainty.spread import exposure_shares, upper_share_limit


@pytest.mark.parametrize("people", [1, 7, 30, 400])
def test_the_limit_is_that_of_clopper_and_pearson(people):
    for seen in {0, 1, people // 3, people}:
        exact = stats.binomtest(seen, people, alternative="less").proportion_ci(0.95, method="exact").high
        assert float(upper_share_limit(seen, people)) == pytest.approx(exact, abs=1e-9)


def test_shares_are_of_people_strictly_above():
    level, share, bound = exposure_shares(np.array([2.0, 1.0, 1.0, -np.inf]))
    assert level.tolist() == [-np.inf, 1.0, 2.0]
    assert share.tolist() == [0.75, 0.25, 0.0]
    assert (bound > share).all()


def test_limits_hold_for_19_of_20_samples_whatever_the_distribution():
    rng = np.random.default_rng(0)
    level, truth, held = 2.0, float(np.exp(-2.0)), 0
    for _ in range(400):
        levels, _, bound = exposure_shares(rng.exponential(size=25))
        at = np.searchsorted(levels, level, "right") - 1
        held += (1.0 if at < 0 else bound[at]) >= truth
    assert held / 400 >= 0.95

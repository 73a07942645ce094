"""Rank disclosure and CMC."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from zeroevidence.errors import UsageError
from zeroevidence.measure.search.rank import cmc, rank_disclosure, rank_distribution


def zeros(greater):
    return np.zeros(len(greater), dtype=np.int64)


def test_all_first_discloses_everything():
    greater = np.zeros(10, dtype=np.int64)
    result = rank_disclosure(greater, zeros(greater), 16)
    assert (result.mean, result.max, result.identification_rate) == (4.0, 4.0, 1.0)
    assert result.share_above_chance == 1 / 16


@pytest.mark.parametrize("method", ["histogram", "beta-binomial"])
def test_evenly_spread_ranks_disclose_nothing(method):
    result = rank_disclosure(np.arange(8), zeros(range(8)), 8, method=method)
    assert result.mean == pytest.approx(0.0, abs=1e-6)
    assert result.max == pytest.approx(0.0, abs=1e-3)
    constant = rank_disclosure(zeros(range(5)), np.full(5, 7), 8)
    assert constant.mean == pytest.approx(0.0, abs=1e-12)
    assert constant.share_above_chance == 0.0


def test_histogram_by_its_formula():
    greater = np.array([0, 0, 0, 1, 3, 3])
    result = rank_disclosure(greater, zeros(greater), 4)
    gamma = np.array([3, 1, 0, 2]) / 6
    assert result.gamma.tolist() == pytest.approx(gamma.tolist())
    used = gamma[gamma > 0]
    assert result.mean == pytest.approx((used * np.log2(4 * used)).sum())
    assert result.max == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_distribution_sums_to_one_and_keeps_the_mean_rank(pairs):
    greater = np.array([g for g, _ in pairs])
    equal = np.array([min(e, 10 - g) for g, e in pairs])
    share = rank_distribution(greater, equal, 11)
    assert share.sum() == pytest.approx(1.0)
    assert (share >= 0).all()
    assert share @ np.arange(1, 12) == pytest.approx((1 + greater + equal / 2).mean())
    curve = cmc(greater, equal, 11)
    assert curve[-1] == pytest.approx(1.0)
    assert (np.diff(curve) >= -1e-12).all()
    for k in (1, 3, 11):  # ties in equal parts
        assert curve[k - 1] == pytest.approx(np.clip((k - greater) / (equal + 1.0), 0.0, 1.0).mean())


def test_beta_binomial_recovers_its_parameters():
    rng = np.random.default_rng(0)
    greater = stats.betabinom.rvs(49, 0.5, 2.0, size=20_000, random_state=rng)
    result = rank_disclosure(greater, zeros(greater), 50, method="beta-binomial")
    truth = stats.betabinom.pmf(np.arange(50), 49, 0.5, 2.0)
    np.testing.assert_allclose(result.gamma, truth, atol=6e-3)
    assert result.mean == pytest.approx((truth * np.log2(50 * truth)).sum(), rel=0.05)


def test_beta_binomial_is_finite_when_all_are_first():
    greater = np.zeros(30, dtype=np.int64)
    result = rank_disclosure(greater, greater, 10, method="beta-binomial")
    assert result.identification_rate == pytest.approx(1.0, abs=1e-3)


def test_wrong_choices():
    with pytest.raises(UsageError, match="unknown rank method"):
        rank_disclosure(np.zeros(1, dtype=int), np.zeros(1, dtype=int), 2, method="x")

"""Intervals against closed forms and an independent implementation."""

import numpy as np
import pytest
from scipy import stats

from zeroevidence.errors import UsageError
from zeroevidence.uncertainty.intervals import interval, isotonic_bias


def test_percentile_is_the_quantiles_of_the_replicates():
    replicates = np.arange(1.0, 1001.0)
    assert interval(500.0, replicates, method="percentile") == (25.0, 975.0)
    assert interval(500.0, replicates, method="percentile", level=0.9) == (50.0, 950.0)


def test_bca_equals_scipy():
    rng = np.random.default_rng(0)
    sample = rng.exponential(size=40)
    reference = stats.bootstrap((sample,), np.mean, n_resamples=5000, method="BCa", rng=np.random.default_rng(1))
    jackknife = np.array([np.delete(sample, i).mean() for i in range(len(sample))])
    low, high = interval(sample.mean(), reference.bootstrap_distribution, jackknife, method="bca")
    assert low == pytest.approx(reference.confidence_interval.low, abs=2e-3)
    assert high == pytest.approx(reference.confidence_interval.high, abs=2e-3)


def test_bca_of_symmetric_replicates_is_the_percentile():
    replicates = np.linspace(-1, 1, 2001)
    assert interval(0.0, replicates, method="bca") == pytest.approx(
        interval(0.0, replicates, method="percentile"), abs=2e-3
    )


def test_centred_moves_by_the_bias_and_stays_within_limits():
    replicates = np.linspace(0.4, 0.6, 1001)
    low, high = interval(0.3, replicates, method="centred", bias=0.1)
    assert (low + high) / 2 == pytest.approx(0.2)
    assert high - low == pytest.approx(0.19, abs=1e-3)
    assert interval(0.3, replicates, method="centred", bias=0.25, limits=(0.0, 1.0))[0] == 0.0


def test_replicates_without_variation_or_value():
    assert interval(0.2, np.full(10, 0.2)) == (0.2, 0.2)
    assert interval(0.2, np.array([np.nan, 0.2, np.nan]), method="percentile") == (0.2, 0.2)
    assert np.isnan(interval(0.2, np.full(3, np.nan))).all()
    assert interval(1.0, np.array([np.inf, np.inf, 1.0]), method="percentile")[1] == np.inf


def test_isotonic_bias_is_exact_for_its_rate():
    n, bias = 50, 0.3
    value, halves = 1.0 + bias * n ** (-2 / 3), np.full(8, 1.0 + bias * (n / 2) ** (-2 / 3))
    assert value - isotonic_bias(value, halves) == pytest.approx(1.0)
    assert isotonic_bias(1.0, np.full(3, np.nan)) == 0.0


def test_unknown_method():
    with pytest.raises(UsageError, match="expected percentile, bca or centred"):
        interval(0.0, np.zeros(2), method="magic")

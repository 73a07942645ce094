"""Shares and quantiles of the normal distribution, against scipy's."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from zeroevidence.calibrate.normal import normal_quantile, normal_share


def test_quantiles_are_those_of_scipy():
    shares = np.concatenate(([1e-300, 1e-20, 1e-11, 1e-9], np.linspace(1e-4, 1.0 - 1e-4, 2001), [1.0 - 1e-12]))
    np.testing.assert_allclose(normal_quantile(shares), ndtri(shares), rtol=1e-14, atol=1e-16)


def test_nothing_and_everything_are_infinitely_far_away():
    assert normal_quantile(np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


def test_quantiles_keep_their_shape():
    shares = np.array([[0.1, 0.5], [0.7, 0.99]])
    np.testing.assert_allclose(normal_quantile(shares), ndtri(shares), rtol=1e-14, atol=1e-16)
    assert float(normal_quantile(np.array(0.8))) == float(normal_quantile(np.array([0.8]))[0])


def test_shares_are_those_of_scipy():
    deviates = np.linspace(-8.0, 8.0, 301)
    np.testing.assert_allclose(normal_share(deviates), ndtr(deviates), rtol=5e-14)

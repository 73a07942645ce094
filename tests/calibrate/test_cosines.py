"""Cosine transforms, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import dct, idct

from zeroevidence.calibrate.logistic import from_cosines, to_cosines


@pytest.mark.parametrize("shape", [(2,), (6,), (2, 5, 1024), (32_768,)])
def test_transforms_are_those_of_scipy(shape):
    values = np.random.default_rng(0).normal(size=shape)
    scale = np.abs(dct(values)).max()
    np.testing.assert_allclose(to_cosines(values), dct(values), rtol=0, atol=1e-14 * scale)
    np.testing.assert_allclose(from_cosines(values), idct(values), rtol=0, atol=1e-14)


def test_counts_come_back():
    counts = np.random.default_rng(1).integers(0, 100, (3, 64))
    assert from_cosines(to_cosines(counts)).round(10).tolist() == counts.tolist()

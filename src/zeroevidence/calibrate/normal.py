"""The normal distribution: shares and quantiles by Python's own library; importing SciPy would take its time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from zeroevidence._typing import FloatArray


def normal_share(deviates: FloatArray) -> FloatArray:
    """Share of a standard normal distribution below each of a few deviates.

    Examples
    --------
    >>> normal_share(np.array([-1.959963984540054, 0.0])).round(12).tolist()
    [0.025, 0.5]
    """
    return np.array([0.5 * math.erfc(-one / math.sqrt(2.0)) for one in deviates.tolist()])


def normal_quantile(shares: FloatArray | Sequence[float]) -> FloatArray:
    """The deviate below which each share of a standard normal distribution lies; infinite for 0 and 1.

    Examples
    --------
    >>> normal_quantile(np.array([0.025, 0.5, 1.0])).round(12).tolist()
    [-1.95996398454, 0.0, inf]
    """
    given, inverse = np.asarray(shares, dtype=np.float64), NormalDist().inv_cdf
    found = [inverse(one) if 0.0 < one < 1.0 else math.copysign(math.inf, one - 0.5) for one in given.ravel().tolist()]
    return np.array(found).reshape(given.shape)

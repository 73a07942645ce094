"""Normal distribution function and quantiles by the standard library, since importing SciPy is slow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from zeroevidence._typing import FloatArray


def normal_share(deviates: FloatArray) -> FloatArray:
    """Return the share of a standard normal distribution below each of a few deviates.

    Examples
    --------
    >>> normal_share(np.array([-1.959963984540054, 0.0])).round(12).tolist()
    [0.025, 0.5]
    """
    return np.array([0.5 * math.erfc(-deviate / math.sqrt(2.0)) for deviate in deviates.tolist()])


def normal_quantile(shares: FloatArray | Sequence[float]) -> FloatArray:
    """Return the deviate below which each share of a standard normal distribution lies; infinite for 0 and 1.

    Examples
    --------
    >>> normal_quantile(np.array([0.025, 0.5, 1.0])).round(12).tolist()
    [-1.95996398454, 0.0, inf]
    """
    array, inverse = np.asarray(shares, dtype=np.float64), NormalDist().inv_cdf
    deviates = [inverse(p) if 0.0 < p < 1.0 else math.copysign(math.inf, p - 0.5) for p in array.ravel().tolist()]
    return np.array(deviates).reshape(array.shape)

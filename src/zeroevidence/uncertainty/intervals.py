"""Intervals from bootstrap replicates: percentile, BCa [Efron 1987], and centred on a bias-corrected value.

Measures after oracle calibration (D_ECE, min Cllr, ...) are too favourable to the attacker on few speakers, because PAV
fits the scores it is judged on, and bootstrap replicates are more so. Their bias falls with the number n of speakers as
n^(-2/3), the rate of isotonic regression, so the bias at n follows from the value at half the speakers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError

IntervalMethod = Literal["percentile", "bca", "centred"]
_ISOTONIC_GROWTH = 2.0 ** (2.0 / 3.0) - 1.0


def interval(
    value: float,
    replicates: FloatArray,
    jackknife: FloatArray | None = None,
    *,
    method: IntervalMethod = "bca",
    level: float = 0.95,
    bias: float = 0.0,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[float, float]:
    """Lower and upper bound of a two-sided interval.

    ``bca`` corrects the percentiles for the bias of the replicates and, given leave-one-out values, for their skew.
    ``centred`` puts the spread of the replicates around the value less its `bias`, within the `limits` of the measure.
    NaN replicates (draws without one of the classes) are left out; without variation the interval is a point.
    """
    finite = replicates[~np.isnan(replicates)]
    if len(finite) == 0:
        return float("nan"), float("nan")
    tail = np.round([(1.0 - level) / 2.0, (1.0 + level) / 2.0], 12)  # 1 - 0.95 is a little more than 0.05
    if method == "centred":
        around = value - bias + finite - finite.mean()
        low, high = np.clip(np.quantile(around, tail), *limits)
        return float(low), float(high)
    if method == "bca":
        tail = _bca_levels(value, finite, jackknife, tail)
    elif method != "percentile":
        raise UsageError(f"unknown interval {method!r}; expected percentile, bca or centred")
    # Quantiles that are replicates themselves: interpolating between infinite ones would give NaN.
    low, high = np.quantile(finite, tail, method="inverted_cdf")
    return float(low), float(high)


def _bca_levels(value: float, finite: FloatArray, jackknife: FloatArray | None, tail: FloatArray) -> FloatArray:
    below = float(np.mean(finite < value) + 0.5 * np.mean(finite == value))
    n = len(finite)
    # Where all replicates lie on one side the correction is as large as the number of replicates can show.
    bias = float(ndtri(np.clip(below, 0.5 / n, 1.0 - 0.5 / n)))
    acceleration = 0.0
    if jackknife is not None:
        known = jackknife[np.isfinite(jackknife)]
        deviation = known.mean() - known if len(known) else known
        scale = float((deviation**2).sum()) ** 1.5
        if scale > 0.0:
            acceleration = float((deviation**3).sum()) / (6.0 * scale)
    z = bias + ndtri(tail)
    levels: FloatArray = ndtr(bias + z / (1.0 - acceleration * z))
    return np.clip(levels, 0.0, 1.0)


def isotonic_bias(value: float, halves: FloatArray) -> float:
    """Bias of an oracle-calibrated measure, from its values on random halves of the speakers."""
    known = halves[np.isfinite(halves)]
    return float(known.mean() - value) / _ISOTONIC_GROWTH if len(known) else 0.0

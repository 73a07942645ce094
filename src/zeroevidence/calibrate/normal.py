"""The normal distribution: shares and quantiles, without the second that a library of special functions may take.

Reference: Wichura 1988 (AS 241), which is exact to about 16 digits.
"""

from __future__ import annotations

import math

import numpy as np

from zeroevidence._typing import FloatArray

_MIDDLE = 0.425  # distance from one half within which one quotient of polynomials holds
_NEAR_SHIFT, _FAR_SHIFT, _FAR = 1.6, 5.0, 5.0
# Coefficients of numerators and denominators, highest power first.
_INSIDE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_NEAR = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_BEYOND = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)


def normal_share(deviates: FloatArray) -> FloatArray:
    """Share of a standard normal distribution below each of a few deviates.

    Examples
    --------
    >>> normal_share(np.array([-1.959963984540054, 0.0])).round(12).tolist()
    [0.025, 0.5]
    """
    return np.array([0.5 * math.erfc(-one / math.sqrt(2.0)) for one in deviates.tolist()])


def normal_quantile(shares: FloatArray) -> FloatArray:
    """The deviate below which each share of a standard normal distribution lies; infinite for 0 and 1.

    Examples
    --------
    >>> normal_quantile(np.array([0.025, 0.5, 1.0])).round(12).tolist()
    [-1.95996398454, 0.0, inf]
    """
    shares = np.asarray(shares, dtype=np.float64)
    from_half = shares - 0.5
    found = np.empty_like(from_half)
    inside = np.abs(from_half) <= _MIDDLE
    some = from_half[inside]
    found[inside] = some * _quotient(_INSIDE, _MIDDLE**2 - some**2)
    outside = ~inside
    some = from_half[outside]
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = np.where(some < 0.0, shares[outside], 1.0 - shares[outside])
        depth = np.sqrt(-np.log(tail))
        near = _quotient(_NEAR, depth - _NEAR_SHIFT)
        beyond = _quotient(_BEYOND, depth - _FAR_SHIFT)
    size = np.where(np.isinf(depth), np.inf, np.where(depth <= _FAR, near, beyond))
    found[outside] = np.copysign(size, some)
    return found


def _quotient(of: tuple[tuple[float, ...], tuple[float, ...]], x: FloatArray) -> FloatArray:
    above, below = (np.polyval(np.array(one), x) for one in of)
    quotient: FloatArray = above / below
    return quotient

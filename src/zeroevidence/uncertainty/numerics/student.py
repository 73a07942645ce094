"""Student's t distribution: tails and quantiles of one number, without a library of special functions."""

from __future__ import annotations

import math

_SMALL = 3.0  # squared deviate up to which a series converges soon; a continued fraction does beyond
_PLAIN = 100.0  # half degrees of freedom of which gamma functions are numbers
_EPSILON = 2.0**-52


def t_tail(statistic: float, freedom: float) -> float:
    """Return the share of a t distribution above a statistic.

    Examples
    --------
    >>> round(t_tail(2.0, 1e6), 4), round(t_tail(-1.0, 1.0), 4)
    (0.0228, 0.75)
    """
    if math.isnan(statistic) or math.isnan(freedom):
        return math.nan
    if math.isinf(freedom):
        return 0.5 * math.erfc(statistic / math.sqrt(2.0))
    square = statistic * statistic
    if square <= _SMALL:
        return 0.5 - math.copysign(0.5 * _middle(square, freedom), statistic)
    beyond = 0.5 * _beyond(square, freedom)
    return beyond if statistic > 0.0 else 1.0 - beyond


def t_quantile(tail: float, freedom: float) -> float:
    """Return the statistic above which a share of at most one half lies.

    Examples
    --------
    >>> round(t_quantile(0.025, 9.0), 4), t_quantile(0.5, 9.0)
    (2.2622, 0.0)
    """
    if math.isnan(tail) or math.isnan(freedom):
        return math.nan
    if tail <= 0.0:
        return math.inf
    if tail >= 0.5:
        return 0.0
    if tail > 0.3:
        return _by_middle(tail, freedom)
    # The logarithm of the tail is a concave function of that of the statistic, on which Newton's method cannot fail.
    goal = math.log(tail)
    statistic = math.sqrt(1.0 - 2.0 * goal)
    for _ in range(60):
        share = t_tail(statistic, freedom)
        if share <= 0.0:  # far too far
            statistic = math.sqrt(statistic)
            continue
        slope = statistic * _density(statistic, freedom) / share
        step = (math.log(share) - goal) / slope
        statistic *= math.exp(min(step, 300.0))
        if abs(step) <= 4.0 * _EPSILON:
            break
    return statistic


def _by_middle(tail: float, freedom: float) -> float:
    """The same near one half, where the share between both deviates is the better known."""
    statistic = 0.0
    for _ in range(60):
        between = 0.5 * _middle(statistic * statistic, freedom)
        step = (0.5 - tail - between) / _density(statistic, freedom)
        statistic += step
        if abs(step) <= 2.0 * _EPSILON * statistic:
            break
    return statistic


def _density(statistic: float, freedom: float) -> float:
    if math.isinf(freedom):
        return math.exp(-0.5 * statistic * statistic) / math.sqrt(2.0 * math.pi)
    power = -0.5 * (freedom + 1.0) * math.log1p(statistic * statistic / freedom)
    return _gammas(0.5 * freedom) / math.sqrt(math.pi * freedom) * math.exp(power)


def _gammas(a: float) -> float:
    """Gamma of a half more, divided by gamma."""
    if a < _PLAIN:
        return math.gamma(a + 0.5) / math.gamma(a)
    b = 1.0 / (8.0 * a)  # the asymptotic series in 1/a; its next term is below 1e-15
    return math.sqrt(a) * (1.0 + b * (-1.0 + b * (0.5 + b * (2.5 + b * (-2.625 + b * (-49.875 + b * 55.0625))))))


def _middle(square: float, freedom: float) -> float:
    """Share between both deviates of this square, as a series of positive terms."""
    if math.isinf(freedom):
        return math.erf(math.sqrt(0.5 * square))
    a, inside = 0.5 * freedom, square / (freedom + square)
    term = total = 1.0
    n = 0
    while term > 0.1 * _EPSILON * total:
        term *= (a + 0.5 + n) / (1.5 + n) * inside
        total += term
        n += 1
    power = -a * math.log1p(square / freedom)
    return 2.0 * _gammas(a) / math.sqrt(math.pi) * math.sqrt(inside) * math.exp(power) * total


def _beyond(square: float, freedom: float) -> float:
    """Share outside both deviates of this square, as a continued fraction of the incomplete beta function.

    Its terms are written so that nothing cancels however many degrees of freedom there are (DiDonato and Morris 1992).
    """
    a, x = 0.5 * freedom, freedom / (freedom + square)
    outside = square / (freedom + square)
    above = 1.0 + a * (square - 1.0) / (freedom + square)
    # Lentz's method: numerators and denominators of successive approximations, as quotients
    value = c = a * above / (a + 1.0)
    d = 0.0
    for n in range(1, 10_000):
        odd = a + 2.0 * n - 1.0
        factor = (a + n - 1.0) * (a + n - 0.5) * n * (0.5 - n) * (x / odd) ** 2
        term = n + n * (0.5 - n) * x / odd + (a + n) / (odd + 2.0) * (above + n * (1.0 + outside))
        d = 1.0 / (term + factor * d)
        c = term + factor / c
        value *= c * d
        if abs(c * d - 1.0) <= _EPSILON:
            break
    power = -a * math.log1p(square / freedom)
    return _gammas(a) / math.sqrt(math.pi) * math.exp(power) * math.sqrt(outside) / value

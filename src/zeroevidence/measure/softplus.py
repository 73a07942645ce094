"""Exponentials and means of ln(1 + e^x) over many scores, by the fastest functions that NumPy has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray

LN2 = float(np.log(2.0))

_GROUP = 512  # factors per product: 512 values of at most 1 + e stay below the largest double
_CHUNK = _GROUP * 64  # fits the first-level cache several times over
_BINS_PER_UNIT = 16
_LINEAR_BEYOND = 60.0  # with shifts up to 20, x + shift > 40 there: ln(1 + e^x) is x (or 0) to the last bit


def softplus(x: FloatArray) -> FloatArray:
    """ln(1 + e^x) without overflow, infinities included."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def softplus_blockwise(x: FloatArray) -> FloatArray:
    """The same of many scores, part by part, with an absolute error of a few units of 1e-16; in double precision."""
    value = np.empty(len(x))
    for start in range(0, len(x), _CHUNK):
        part, into = x[start : start + _CHUNK], value[start : start + _CHUNK]
        np.abs(part, out=into)
        np.negative(into, out=into)
        np.exp(into, out=into)
        into += 1.0
        np.log(into, out=into)
        into += np.maximum(part, 0.0)
    return value


def mean_softplus(x: FloatArray) -> float:
    """Mean of ln(1 + e^x), infinities included.

    The logarithm is taken of products of 512 factors instead of each factor, which is what makes it fast.
    Absolute error is a few units of 1e-16.
    """
    total = 0.0
    ones = np.empty(_CHUNK)
    for start in range(0, len(x), _CHUNK):
        part = np.asarray(x[start : start + _CHUNK], dtype=np.float64)
        factors = ones[: len(part)]
        if part.max() <= 1.0:
            np.exp(part, out=factors)
        else:
            total += float(np.maximum(part, 0.0).sum())
            np.abs(part, out=factors)
            np.negative(factors, out=factors)
            np.exp(factors, out=factors)
        factors += 1.0
        if len(part) == _CHUNK:
            products = factors.reshape(_GROUP, -1).prod(axis=0)
            total += float(np.log(products).sum())
        else:
            total += float(np.log(factors).sum())
    return total / len(x)


def mean_softplus_shifted(x: FloatArray, shifts: FloatArray) -> FloatArray:
    """Mean over x of ln(1 + e^(x + shift)) for each shift (at most 20 in size), in one pass over x.

    Scores are put into bins of width 1/16 and each bin is represented by its first moments, so that a shift costs a few
    operations per bin and not per score. The remainder of the series is below 1e-12.
    """
    x = np.asarray(x, dtype=np.float64)
    above = x[x > _LINEAR_BEYOND]
    inside = x[np.abs(x) <= _LINEAR_BEYOND]
    total = np.full(len(shifts), 0.0)
    if len(above):
        total += above.sum() + len(above) * shifts
    if len(inside):
        position = (inside + _LINEAR_BEYOND) * _BINS_PER_UNIT
        index = position.astype(np.int64)
        offset = (position - index - 0.5) / _BINS_PER_UNIT
        n_bins = int(2 * _LINEAR_BEYOND * _BINS_PER_UNIT) + 1
        centres = (np.arange(n_bins) + 0.5) / _BINS_PER_UNIT - _LINEAR_BEYOND
        used = np.flatnonzero(np.bincount(index, minlength=n_bins))
        derivatives = _softplus_derivatives(centres[used][:, None] + shifts[None, :])
        power = np.ones_like(offset)
        factorial = 1.0
        for order, derivative in enumerate(derivatives):
            if order:
                power *= offset
                factorial *= order
            moment = np.bincount(index, weights=power, minlength=n_bins)[used]
            total += (moment / factorial) @ derivative
    return total / len(x)


def _softplus_derivatives(x: FloatArray) -> tuple[FloatArray, ...]:
    """ln(1 + e^x) and its first five derivatives."""
    value = np.logaddexp(0.0, x)
    p = np.exp(x - value)
    variance = p * (1.0 - p)
    skew = variance * (1.0 - 2.0 * p)
    return (value, p, variance, skew, variance * (1.0 - 6.0 * variance), skew * (1.0 - 12.0 * variance))


_LN2 = np.float32(np.log(2.0))


def _features() -> set[str]:
    """Vector instructions that NumPy uses on this processor."""
    config: Any = np.show_config(mode="dicts")
    extensions = config.get("SIMD Extensions", {}) if isinstance(config, dict) else {}
    return {*extensions.get("baseline", ()), *extensions.get("found", ())}


_FEATURES = _features()
HAS_EXP2 = bool(_FEATURES & {"AVX512_SKX", "X86_V4"})  # two names of one set, before and since NumPy 2.4
HAS_EXP = bool(_FEATURES & {"AVX2", "X86_V3"})


def by_exp2(powers: FloatArray) -> None:
    """By NumPy; also for double precision."""
    np.exp2(powers, out=powers)


def by_exp(powers: FloatArray) -> None:
    """By NumPy's exponential, in single precision."""
    powers *= _LN2
    np.exp(powers, out=powers)


def powers_by_numpy() -> Callable[[FloatArray], None]:
    """Return a function that replaces the numbers of an array in single precision by powers of two.

    On x86 it has vector instructions for `exp2` with AVX-512, and without it for `exp` alone. Elsewhere it computes one
    number at a time, and `exp2` is the faster.
    """
    return by_exp if HAS_EXP and not HAS_EXP2 else by_exp2

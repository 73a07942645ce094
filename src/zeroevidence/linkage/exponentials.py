"""Powers of two in single precision, in place, by the fastest way that this processor has.

NumPy has vector instructions for them on x86. Elsewhere it works out one at a time, and there torch, where it is
installed, or a polynomial in blocks that stay in cache is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.linkage.optional import optional, present

LARGEST_ERROR = 4e-6  # relative, for numbers from -60 to 60, of any of these ways
_LN2 = np.float32(np.log(2.0))
_BLOCK = 1 << 16  # numbers that a polynomial is worked out for at once: stay in a second-level cache
_TORCH_BLOCK = 1 << 14  # few enough for torch not to start threads of its own
_PAYS = 1 << 30  # exponentials that are worth importing torch
_WHOLE = np.float32(1.5 * 2**23)  # added to a number, it rounds it to a whole one, which its low bits then hold
_LOWEST = np.float32(-126.0)
# of 2**x for x from -1/2 to 1/2, the largest relative error being as small as can be; the highest power first
_COEFFICIENTS = tuple(map(np.float32, (0.00957010221, 0.0559178591, 0.240247443, 0.693121791, 0.999999285)))


def _features() -> set[str]:
    """Vector instructions that NumPy uses on this processor."""
    found: Any = np.show_config(mode="dicts")
    known = found.get("SIMD Extensions", {}) if isinstance(found, dict) else {}
    return {*known.get("baseline", ()), *known.get("found", ())}


_FOUND = _features()
_HAS_EXP2 = bool(_FOUND & {"AVX512_SKX", "X86_V4"})  # two names of one set, before and since NumPy 2.4
_HAS_EXP = bool(_FOUND & {"AVX2", "X86_V3"})


def powers_of_two(count: float) -> Callable[[FloatArray], None]:
    """What replaces single-precision numbers of a contiguous array by powers of two; `count` are expected in all.

    The choice depends on processor, installed packages and `count` alone, so that the same search gives the same
    digits.
    """
    if _HAS_EXP2:
        return by_exp2
    if _HAS_EXP:
        return by_exp
    return by_torch if count >= _PAYS and present("torch") else by_polynomial


def by_exp2(powers: FloatArray) -> None:
    """By NumPy; also for double precision."""
    np.exp2(powers, out=powers)


def by_exp(powers: FloatArray) -> None:
    """By NumPy's exponential."""
    powers *= _LN2
    np.exp(powers, out=powers)


def by_torch(powers: FloatArray) -> None:
    """By torch's exponential."""
    torch = optional("torch", "torch", "exponentials")
    powers *= _LN2
    flat = torch.from_numpy(powers.reshape(-1))
    for start in range(0, len(flat), _TORCH_BLOCK):
        flat[start : start + _TORCH_BLOCK].exp_()


def by_polynomial(powers: FloatArray) -> None:
    """By a polynomial of the part after the point; the whole part is added to the exponent bits of its value.

    Numbers below -126 count as -126, those above 127 are out of reach.
    """
    flat = powers.reshape(-1)
    size = min(_BLOCK, len(flat))
    whole, value = np.empty(size, np.float32), np.empty(size, np.float32)
    for start in range(0, len(flat), _BLOCK):
        x = flat[start : start + _BLOCK]
        n, y = whole[: len(x)], value[: len(x)]
        np.maximum(x, _LOWEST, out=x)
        np.add(x, _WHOLE, out=n)
        np.subtract(n, _WHOLE, out=y)
        x -= y
        np.multiply(x, _COEFFICIENTS[0], out=y)
        for coefficient in _COEFFICIENTS[1:-1]:
            y += coefficient
            y *= x
        y += _COEFFICIENTS[-1]
        bits = n.view(np.int32)
        bits <<= 23
        np.add(y.view(np.int32), bits, out=x.view(np.int32))

"""Powers of two in single precision, in place, by the fastest method on this processor.

NumPy has vector instructions for them on x86. Elsewhere it computes one at a time, and torch, where it is installed,
is faster. (A polynomial in NumPy, in blocks that stay in cache, was tried: its fourteen passes gain next to nothing.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.linkage.optional import optional, present

LARGEST_ERROR = 4e-6  # relative, for numbers from -60 to 60, of any of these methods
_LN2 = np.float32(np.log(2.0))
_TORCH_BLOCK = 1 << 14  # few enough for torch not to start threads of its own
_PAYS = 1 << 30  # exponentials that are worth importing torch


def _features() -> set[str]:
    """Vector instructions that NumPy uses on this processor."""
    config: Any = np.show_config(mode="dicts")
    extensions = config.get("SIMD Extensions", {}) if isinstance(config, dict) else {}
    return {*extensions.get("baseline", ()), *extensions.get("found", ())}


_FEATURES = _features()
_HAS_EXP2 = bool(_FEATURES & {"AVX512_SKX", "X86_V4"})  # two names of one set, before and since NumPy 2.4
_HAS_EXP = bool(_FEATURES & {"AVX2", "X86_V3"})


def powers_of_two(count: float) -> Callable[[FloatArray], None]:
    """Return a function that replaces the numbers of a contiguous array by powers of two; `count` are expected in all.

    The choice depends on processor, installed packages and `count` alone, so that the same search gives the same
    digits.
    """
    if _HAS_EXP2:
        return by_exp2
    if _HAS_EXP:
        return by_exp
    return by_torch if count >= _PAYS and present("torch") else by_exp


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

"""Powers of two in single precision, in place, by the fastest method on this processor.

NumPy has vector instructions for them on x86. Elsewhere it computes one at a time, and torch, where it is installed,
is faster. (A polynomial in NumPy, in blocks that stay in cache, was tried: its fourteen passes gain next to nothing.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.linkage.optional import optional, present
from zeroevidence.measure.exponentials import HAS_EXP, HAS_EXP2, by_exp, by_exp2, powers_by_numpy

__all__ = ["LARGEST_ERROR", "by_exp", "by_exp2", "by_torch", "powers_of_two"]

LARGEST_ERROR = 4e-6  # relative, for numbers from -60 to 60, of any of these methods
_LN2 = np.float32(np.log(2.0))
_TORCH_BLOCK = 1 << 14  # few enough for torch not to start threads of its own
_PAYS = 1 << 30  # exponentials that are worth importing torch
_VECTORISED = HAS_EXP or HAS_EXP2


def powers_of_two(count: float) -> Callable[[FloatArray], None]:
    """Return a function that replaces the numbers of a contiguous array by powers of two; `count` are expected in all.

    The choice depends on processor, installed packages and `count` alone, so that the same search gives the same
    digits.
    """
    return by_torch if not _VECTORISED and count >= _PAYS and present("torch") else powers_by_numpy()


def by_torch(powers: FloatArray) -> None:
    """By torch's exponential."""
    torch = optional("torch", "torch", "exponentials")
    powers *= _LN2
    flat = torch.from_numpy(powers.reshape(-1))
    for start in range(0, len(flat), _TORCH_BLOCK):
        flat[start : start + _TORCH_BLOCK].exp_()

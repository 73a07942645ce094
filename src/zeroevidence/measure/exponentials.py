"""Powers of two in place, by the fastest function that NumPy has on this processor.

On x86 it has vector instructions for `exp2` with AVX-512, and without it for `exp` alone. Elsewhere it computes one
number at a time, and `exp2` is the faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray

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
    """Return a function that replaces the numbers of an array in single precision by powers of two."""
    return by_exp if HAS_EXP and not HAS_EXP2 else by_exp2

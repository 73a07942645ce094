"""What a search will cost, before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from zeroevidence.linkage.engine import Backend

_AFTER = 1.5  # time with everything after the products, as a multiple of that of the products alone


@dataclass(frozen=True, slots=True)
class Estimate:
    """Pairs, memory in bytes and time in seconds; the time is measured on a small product and scaled."""

    pairs: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.pairs:.3g} pairs, about {_size(self.memory)} of memory, about {_time(self.seconds)}"


def estimate(
    trials: int, identities: int, dim: int, *, backend: Backend, itemsize: int = 4, workers: int = 1
) -> Estimate:
    """Estimate for a search on this machine, or on `workers` machines like it."""
    on_gpu = backend == "triton" or (backend == "torch" and _cuda())
    rate = _gpu_rate(dim) if on_gpu else _cpu_rate(dim, itemsize)
    pairs = trials * identities
    chunk = min(trials * dim, 1 << 23) * (8 + itemsize)
    kept = identities * dim * itemsize
    memory = chunk + (kept if on_gpu or kept <= 1 << 28 else 3 << 26) + (1 << 26) + 88 * trials
    return Estimate(pairs, int(memory), _AFTER * 2.0 * pairs * dim / rate / workers)


def _cuda() -> bool:
    from zeroevidence.linkage.torch_blocks import load_torch

    return bool(load_torch().cuda.is_available())


def _cpu_rate(dim: int, itemsize: int) -> float:
    """Operations per second of a product, the better of two tries."""
    dtype = np.float32 if itemsize == 4 else np.float64
    x, y = np.ones((512, dim), dtype), np.ones((2048, dim), dtype)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        x @ y.T
        times.append(time.perf_counter() - start)
    return 2.0 * 512 * 2048 * dim / min(times)


def _gpu_rate(dim: int) -> float:
    from zeroevidence.linkage.torch_blocks import load_torch

    torch = load_torch()
    x, y = (torch.ones((8192, dim), dtype=torch.float16, device="cuda") for _ in range(2))
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        x @ y.T
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 2.0 * 8192 * 8192 * dim / min(times)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} TB"


def _time(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.2g} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.2g} min"
    return f"{seconds / 3600.0:.3g} h"

"""Estimate of the memory and time of a search, before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from zeroevidence.linkage.engines.engine import Engine, EngineSettings
from zeroevidence.linkage.evidence.plan import SearchPlan

_AFTER = 1.5  # time with everything after the products, as a multiple of that of the products alone


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Pairs, memory in bytes and time in seconds; the time is that of a small product, scaled."""

    pairs: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.pairs:.3g} pairs, about {_size(self.memory)} of memory, about {format_duration(self.seconds)}"


def estimate(plan: SearchPlan, engine: Engine, settings: EngineSettings) -> CostEstimate:
    """Estimate the cost of a search by an engine on this machine."""
    trials, identities, dim, itemsize = plan.trials, plan.identities, plan.trial.dim, plan.dtype.itemsize
    on_device = engine.device_rate(dim, settings)
    rate = _cpu_rate(dim, itemsize) if on_device is None else on_device
    pairs = trials * identities
    run = min(trials * dim, 1 << 23) * (8 + itemsize)
    enrolment = identities * dim * itemsize
    memory = run + (enrolment if on_device is not None or enrolment <= 1 << 28 else 3 << 26) + (1 << 26) + 88 * trials
    return CostEstimate(pairs, int(memory), _AFTER * 2.0 * pairs * dim / rate)


def _cpu_rate(dim: int, itemsize: int) -> float:
    """Operations per second of a product, the best of three tries."""
    dtype = np.float32 if itemsize == 4 else np.float64
    x, y = np.ones((512, dim), dtype), np.ones((2048, dim), dtype)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        x @ y.T
        times.append(time.perf_counter() - start)
    return 2.0 * 512 * 2048 * dim / min(times)


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} TB"


def format_duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours.

    Examples
    --------
    >>> format_duration(42.3), format_duration(600.0)
    ('42 s', '10 min')
    """
    if seconds < 120.0:
        return f"{seconds:.2g} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.2g} min"
    return f"{seconds / 3600.0:.3g} h"

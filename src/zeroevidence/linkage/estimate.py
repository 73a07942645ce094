"""Estimate of the memory and time of a search, before it starts."""

from __future__ import annotations

import os
import resource
import sys
import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence.errors import OutOfMemory
from zeroevidence.linkage.engines import Engine
from zeroevidence.linkage.engines.numpy_blocks import by_torch, powers_of_two
from zeroevidence.linkage.plan import SearchPlan
from zeroevidence.run import Run

_PRODUCTS = 1 << 23  # held by a thread at once
_TRIAL_BYTES = 200  # of a trial during the search, without its vectors
_RESULT_BYTES = 1500  # of a trial in evidence, table and evaluation
_WRITING_BYTES = 50_000_000  # of libraries imported to write results
_TORCH_BYTES = 210_000_000
# Address space, without memory, that libraries reserve later: in all, and for each core.
_ADDRESS_BYTES, _CORE_ADDRESS_BYTES = 120_000_000, 30_000_000
_KEPT_SHARE = 0.4  # of the memory of a search, which the process does not return to the system
_WHOLE_TIME = 1.5  # of a search, as a multiple of that of its products


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Pairs, memory of the whole process in bytes, and seconds, scaled up from a small product."""

    pairs: int
    memory: int
    seconds: float

    def __str__(self) -> str:
        memory = f"about {_size(self.memory)} of memory"
        return f"{_number(self.pairs)} pairs, {memory}, about {format_duration(self.seconds)}"

    def check_address_space(self) -> None:
        """Refuse a search that would exceed the limit on the address space of this process.

        Raises
        ------
        OutOfMemory
            Before anything is searched.
        """
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        later = _ADDRESS_BYTES + _CORE_ADDRESS_BYTES * (os.cpu_count() or 1)
        needed = _pages_of_process(0) + self.memory - present_memory() + later
        if limit != resource.RLIM_INFINITY and needed > limit:
            raise OutOfMemory(f"{_size(limit)} of addresses are allowed (ulimit -v); expected about {_size(needed)}")


def estimate(plan: SearchPlan, engine: Engine, run: Run) -> CostEstimate:
    """Estimate the cost of a search by an engine on this machine."""
    trials, identities, dim, itemsize = plan.trials, plan.identities, plan.trial.dim, plan.dtype.itemsize
    on_device = engine.device_rate(dim, run)
    rate = _cpu_rate(dim, itemsize) if on_device is None else on_device
    pairs = trials * identities
    vector = dim * itemsize
    together = min(trials, engine.run_trials(dim)) * (2 * vector + _TRIAL_BYTES)
    enrolment = identities * vector
    panel = enrolment if on_device is not None or enrolment <= 1 << 28 else 3 << 26
    search = together + panel + run.workers * min(_PRODUCTS, pairs) * itemsize
    results = _WRITING_BYTES + _RESULT_BYTES * trials
    memory = present_memory() + _torch_memory(engine, plan) + max(search, _KEPT_SHARE * search + results)
    return CostEstimate(pairs, int(memory), _WHOLE_TIME * 2.0 * pairs * dim / rate)


def _torch_memory(engine: Engine, plan: SearchPlan) -> int:
    """Return the bytes of torch where a search will import it."""
    exponential = powers_of_two(plan.trials * plan.identities) if plan.dtype == np.float32 else None
    imported = "torch" in engine.modules or exponential is by_torch
    return _TORCH_BYTES if imported and "torch" not in sys.modules else 0


def present_memory() -> int:
    """Return the bytes that this process holds now: libraries, vectors and names; 0 where the system does not say."""
    return _pages_of_process(1)


def _pages_of_process(column: int) -> int:
    """Return the bytes of addresses (column 0) or memory (column 1) of this process; 0 where the system is silent."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0


def _cpu_rate(dim: int, itemsize: int) -> float:
    """Operations per second of a product, the best of three tries."""
    dtype = np.float32 if itemsize == 4 else np.float64
    x, y = np.ones((512, dim), dtype), np.ones((2048, dim), dtype)
    return 2.0 * 512 * 2048 * dim / min(timeit.repeat(lambda: x @ y.T, number=1, repeat=3))


def _number(count: int) -> str:
    """Return a number of things as people write it: all digits of thousands, three of more."""
    if count < 1_000_000:
        return f"{count:,}".replace(",", " ")
    return _scaled(count / 1e6, ("million", "billion", "trillion"))


def _size(count: float) -> str:
    return _scaled(count, ("B", "kB", "MB", "GB", "TB"))


def _scaled(count: float, units: Sequence[str]) -> str:
    """Return a number in the first unit that has less than a thousand of it, or the last, with three digits."""
    for unit in units[:-1]:
        if count < 999.5:  # more is written as 1000
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} {units[-1]}" if count < 999.5 else f"{count:.0f} {units[-1]}"


def format_duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, with two digits.

    Examples
    --------
    >>> format_duration(42.3), format_duration(104.0), format_duration(600.0)
    ('42 s', '100 s', '10 min')
    """
    scale, unit = (1.0, "s") if seconds < 120.0 else (60.0, "min") if seconds < 7200.0 else (3600.0, "h")
    return f"{float(f'{seconds / scale:.2g}'):.15g} {unit}"

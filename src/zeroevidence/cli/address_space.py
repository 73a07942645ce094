"""Limits on the address space (`ulimit -v`), at which libraries abort the process or hang."""

from __future__ import annotations

import os
import resource

from zeroevidence.errors import OutOfMemory

_LIBRARIES, _PER_CORE = 500_000_000, 50_000_000  # bytes of addresses that the libraries take, and their threads
_ARENA_MAX = -8  # the parameter of `mallopt`


def fit_address_space() -> None:
    """Let threads share one heap where the address space is limited.

    A heap for each thread would reserve more than all data take: a search that ends within 660 MB would abort there and
    hang at 1200 MB.

    Raises
    ------
    OutOfMemory
        When the libraries alone would not fit.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    needed = _LIBRARIES + _PER_CORE * (os.cpu_count() or 1)
    if limit < needed:
        raise OutOfMemory(f"{limit // 10**6} MB of addresses are allowed (ulimit -v); expected {needed // 10**6} MB")
    import ctypes

    try:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    except (OSError, AttributeError):  # another C library than GNU's, whose threads share a heap anyway
        return

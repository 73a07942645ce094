"""Limits on addresses, as `ulimit -v` sets them: libraries that meet one abort the process, or wait for ever."""

from __future__ import annotations

import os
import resource

from zeroevidence.errors import OutOfMemory

_LIBRARIES, _OF_CORE = 500_000_000, 50_000_000  # bytes of addresses that the libraries take, and their threads
_ARENA_MAX = -8  # the parameter of `mallopt`


def fit_address_space() -> None:
    """Let threads share one heap where addresses are limited; a heap for each would reserve more than all data take.

    Raises
    ------
    OutOfMemory
        When the libraries alone would not fit.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    needed = _LIBRARIES + _OF_CORE * (os.cpu_count() or 1)
    if limit < needed:
        raise OutOfMemory(f"{limit // 10**6} MB of addresses are allowed (ulimit -v); expected {needed // 10**6} MB")
    import ctypes

    try:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    except (OSError, AttributeError):  # another C library than GNU's, whose threads share a heap anyway
        return

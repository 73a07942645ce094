"""Digests of arrays, by which the same data are known again."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 24


def array_digest(*arrays: NDArray[Any] | None) -> str:
    """SHA-256 of arrays with their types and shapes, read in blocks so that memory-mapped ones stay on disk."""
    hasher = hashlib.sha256()
    for array in arrays:
        if array is None:
            hasher.update(b"none")
            continue
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        step = max(1, _BLOCK_BYTES // max(1, array.itemsize * (array.shape[1] if array.ndim > 1 else 1)))
        for start in range(0, len(array), step):
            hasher.update(np.ascontiguousarray(array[start : start + step]).data.cast("B"))
    return hasher.hexdigest()

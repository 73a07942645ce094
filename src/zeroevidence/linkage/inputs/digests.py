"""Digests of arrays, which identify the data of a search."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 24


def array_digest(*arrays: NDArray[Any] | None) -> str:
    """SHA-256 of arrays with their types and shapes, read in blocks so that memory-mapped ones stay on disk.

    Of an array of several blocks the digests of its blocks are hashed, which threads compute.
    """
    hasher = hashlib.sha256()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for array in arrays:
            if array is None:
                hasher.update(b"none")
                continue
            hasher.update(f"{array.dtype.str}{array.shape}".encode())
            blocks = list(_blocks(array))
            if len(blocks) == 1:
                hasher.update(_bytes(blocks[0]))
                continue
            for digest in pool.map(lambda block: hashlib.sha256(_bytes(block)).digest(), blocks):
                hasher.update(digest)
    return hasher.hexdigest()


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    step = max(1, _BLOCK_BYTES // max(1, array.itemsize * (array.shape[1] if array.ndim > 1 else 1)))
    for start in range(0, len(array), step):
        yield array[start : start + step]


def _bytes(block: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(block).data.cast("B")

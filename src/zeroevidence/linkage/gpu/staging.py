"""Vectors on a device: sent once, as they are stored, then checked and brought to double precision there.

Threads copy blocks of the host's array, which may be memory-mapped, into page-locked buffers, from which the copy
engine of the device fetches them while the device works on something else.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.linkage.inputs.vectors import LARGEST, SMALLEST, VectorSet
from zeroevidence.linkage.optional import optional

_STORED = ("float16", "float32", "float64")  # sent as they are; everything else as float64
_BUFFER_BYTES = 1 << 23  # of each thread
_THREADS = 8
_DOUBLE_BYTES = 1 << 28  # vectors in double precision on the device at once
_KEPT_SHARE = 0.3  # of a GPU's memory that enrolment vectors may take, as stored and again as prepared
_KEPT_BYTES = 1 << 28  # of the host's, where that is the device


def load_torch() -> Any:
    """Import torch."""
    return optional("torch", "torch", "the engine torch")


def pick_device(device: str | None) -> Any:
    """Return the device of that name, by default a GPU if there is one."""
    torch = load_torch()
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return torch.device("cuda", torch.cuda.current_device()) if chosen == torch.device("cuda") else chosen


def on_device(device: Any) -> AbstractContextManager[object]:
    """Make a GPU the current device, on which kernels are launched, for a block of code."""
    context: AbstractContextManager[object] = (
        load_torch().cuda.device(device) if device.type == "cuda" else nullcontext()
    )
    return context


@cache
def _copy_stream(device: Any) -> Any:
    return load_torch().cuda.Stream(device)  # one for all: memory that was allocated for a stream stays with it


def staged(vectors: FloatArray, device: Any) -> Any:
    """Return vectors on the device as they are stored; work on the device waits for copies that are under way."""
    torch = load_torch()
    name = vectors.dtype.name if vectors.dtype.name in _STORED else "float64"
    if device.type != "cuda":
        return torch.from_numpy(np.array(vectors, dtype=name, order="C")).to(device)
    main, copies = torch.cuda.current_stream(device), _copy_stream(device)
    with torch.cuda.stream(copies):
        out = torch.empty(vectors.shape, dtype=getattr(torch, name), device=device)
    rows = max(1, _BUFFER_BYTES // (vectors.shape[1] * out.element_size()))
    starts = range(0, len(vectors), rows)
    threads = max(1, min(_THREADS, len(starts), os.cpu_count() or 1))

    def copy(first: int) -> None:
        buffer = torch.empty((rows, vectors.shape[1]), dtype=out.dtype, pin_memory=True)
        host, fetched = buffer.numpy(), torch.cuda.Event()
        with torch.cuda.stream(copies):
            for start in starts[first::threads]:
                part = vectors[start : start + rows]
                fetched.synchronize()
                np.copyto(host[: len(part)], part)
                out[start : start + len(part)].copy_(buffer[: len(part)], non_blocking=True)
                fetched.record(copies)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(copy, range(threads)))
    main.wait_stream(copies)
    out.record_stream(main)
    return out


def sent(array: Any, device: Any) -> Any:
    """Return a small array on the device, without waiting for the device."""
    torch = load_torch()
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def fetched(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return tensors on the host; synchronise with the device before they are read."""
    torch = load_torch()

    def fetch(tensor: Any) -> Any:
        if tensor.device.type != "cuda":
            return tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)

    return {name: fetch(tensor) for name, tensor in tensors.items()}


def doubled(raw: Any, *, cosine: bool) -> tuple[Any, Any]:
    """Return vectors in double precision, for cosine of length one, and which are known to be in range."""
    torch = load_torch()
    x = raw.to(torch.float64)
    largest = torch.linalg.vector_norm(x, ord=torch.inf, dim=1, keepdim=True)
    good = ((largest >= SMALLEST) & (largest <= LARGEST))[:, 0]
    if not cosine:
        good |= largest[:, 0] == 0.0
    else:
        x = x / largest
        x /= torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return x, good


def parts(rows: int, dim: int) -> list[slice]:
    """Runs of rows whose vectors fit the device's memory in double precision, several times."""
    step = max(1, _DOUBLE_BYTES // (8 * dim))
    return [slice(start, min(rows, start + step)) for start in range(0, rows, step)]


def upload(side: VectorSet, rows: IntArray, device: Any) -> Any:
    """Vectors in double precision on the device, checked and, for cosine, of length one."""
    x, good = doubled(staged(side.vectors[rows], device), cosine=side.cosine)
    # reading them on the host raises an error that says what is wrong, if anything is
    return x if bool(good.all()) else load_torch().from_numpy(side.take(rows)).to(device)


def room(size: int, device: Any) -> bool:
    """Return whether that many bytes of vectors may stay on the device."""
    if device.type != "cuda":
        return size <= _KEPT_BYTES
    return bool(size <= _KEPT_SHARE * load_torch().cuda.mem_get_info(device)[1])


class DeviceVectors:
    """The vectors of one side on a device: all of them as they are stored where they fit, else sent when asked for."""

    def __init__(self, side: VectorSet, device: Any) -> None:
        self.side, self.device = side, device
        self._raw: Any = None
        if self.fits():
            self._raw = staged(side.vectors, device)

    def fits(self) -> bool:
        """Return whether they may stay on the device and leave room for the computation."""
        if self.device.type != "cuda":
            return False
        itemsize = self.side.vectors.dtype.itemsize if self.side.vectors.dtype.name in _STORED else 8
        return room(self.side.count * self.side.dim * itemsize, self.device)

    def read(self, rows: slice) -> tuple[Any, Any]:
        """A run of vectors in double precision, and which of them are good."""
        raw = staged(self.side.vectors[rows], self.device) if self._raw is None else self._raw[rows]
        return doubled(raw, cosine=self.side.cosine)

    def take(self, rows: Any) -> Any:
        """Some vectors in double precision; `rows` are on the device."""
        raw = staged(self.side.vectors[rows.cpu().numpy()], self.device) if self._raw is None else self._raw[rows]
        return doubled(raw, cosine=self.side.cosine)[0]

    def check(self) -> None:
        """Read all vectors on the host, which raises an error that says what is wrong, if anything is."""
        for start, stop in self.side.blocks():
            self.side.read(start, stop)

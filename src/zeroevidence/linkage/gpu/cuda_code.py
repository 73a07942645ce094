"""CUDA C++ compiled at first use by NVRTC, which comes with torch, and kept in Triton's cache.

The libraries are called through `ctypes`, so that nothing has to be installed besides torch.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from zeroevidence.linkage.gpu.staging import load_torch

_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
# of CUtensorMap: type of entries, layout in shared memory, bytes to fetch
_FLOAT16, _SWIZZLE_128, _PROMOTE_128 = 6, 3, 2
_MAP_BYTES, _MAP_ALIGNED = 128, 64


class CudaError(RuntimeError):
    """The driver or the compiler refused."""


@cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


@cache
def _compiler() -> Any:
    """Load NVRTC of the CUDA version that torch was built for."""
    torch = load_torch()
    name = f"libnvrtc.so.{torch.version.cuda.split('.')[0]}"
    beside = sorted((Path(torch.__file__).parents[1] / "nvidia").glob(f"*/lib/{name}"))
    return ctypes.CDLL(str(beside[0]) if beside else name)


def _check(code: int) -> None:
    """Raise an error for the code that a call of the driver returned."""
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(code, ctypes.byref(text))
        raise CudaError(f"CUDA driver: {(text.value or b'error').decode()} ({code})")


def compiled(source: str, options: Sequence[str]) -> bytes:
    """Return the machine code of a source, from the cache where it was compiled before."""
    torch = load_torch()
    key = hashlib.sha256("\0".join([source, *options, torch.version.cuda]).encode()).hexdigest()
    cached = importlib.import_module("triton.runtime.cache").get_cache_manager(key)
    path = cached.get_file("kernel.cubin")
    if path is not None:
        return Path(path).read_bytes()
    code = _compile(source, options)
    cached.put(code, "kernel.cubin", binary=True)
    return code


def _compile(source: str, options: Sequence[str]) -> bytes:
    """Return the machine code of a source, compiled by NVRTC."""
    library, program = _compiler(), ctypes.c_void_p()

    def text(size: Any, content: Any) -> bytes:
        length = ctypes.c_size_t()
        size(program, ctypes.byref(length))
        buffer = ctypes.create_string_buffer(length.value)
        content(program, buffer)
        return buffer.raw

    arguments = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    try:
        if library.nvrtcCompileProgram(program, len(options), arguments):
            log = text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog).rstrip(b"\0").decode()
            raise CudaError(f"CUDA compiler: {log}")
        return text(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


class CudaFunction:
    """A kernel of compiled code, loaded on the device that is current."""

    def __init__(self, code: bytes, name: str, *, threads: int, shared_bytes: int) -> None:
        self.threads, self.shared_bytes = threads, shared_bytes
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        _check(_driver().cuModuleLoadData(ctypes.byref(module), code))
        _check(_driver().cuModuleGetFunction(ctypes.byref(self._function), module, name.encode()))
        _check(_driver().cuFuncSetAttribute(self._function, _DYNAMIC_SHARED, shared_bytes))

    def launch(self, blocks: int, arguments: Sequence[Any]) -> None:
        """Start it on torch's stream. Arguments are tensors, which are passed as addresses, whole numbers and maps."""
        torch = load_torch()
        values = [_argument(argument) for argument in arguments]
        addresses = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        _check(
            _driver().cuLaunchKernel(
                self._function, blocks, 1, 1, self.threads, 1, 1, self.shared_bytes, stream, addresses, None
            )
        )


def _argument(value: Any) -> Any:
    if isinstance(value, int):
        return ctypes.c_int32(value)
    if isinstance(value, bytes):
        return ctypes.create_string_buffer(value, len(value))
    return ctypes.c_void_p(value.data_ptr())


def tensor_map(vectors: Any, rows: int, entries: int) -> bytes:
    """Return the tensor map of a matrix of 16-bit numbers, with boxes of `rows` by `entries` for the copy engine.

    In shared memory a row takes 128 bytes, swizzled as the tensor cores read it.
    """
    count, dim = vectors.shape
    memory = (ctypes.c_uint8 * (_MAP_BYTES + _MAP_ALIGNED))()
    start = -(-ctypes.addressof(memory) // _MAP_ALIGNED) * _MAP_ALIGNED
    _check(
        _driver().cuTensorMapEncodeTiled(
            ctypes.c_void_p(start), _FLOAT16, 2, ctypes.c_void_p(vectors.data_ptr()),
            (ctypes.c_uint64 * 2)(dim, count), (ctypes.c_uint64 * 1)(2 * dim),
            (ctypes.c_uint32 * 2)(entries, rows), (ctypes.c_uint32 * 2)(1, 1),
            0, _SWIZZLE_128, _PROMOTE_128, 0,
        )
    )  # fmt: skip
    return ctypes.string_at(start, _MAP_BYTES)

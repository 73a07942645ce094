"""Kernels of a search on a GPU: in Triton for any GPU, in CUDA C++, compiled at first use, for Hopper."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from zeroevidence.linkage.engines.torch_blocks import on_device, torch

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
    """Return the machine code of a source, from the cache where it was compiled before.

    The libraries are called through `ctypes`, so that nothing has to be installed besides torch.
    """
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


_HOPPER = (9, 0)  # its instructions exist on no other compute capability
_SHARED_BYTES = 226 * 1024  # a block of a Hopper GPU may have 227 KB


@dataclass(frozen=True, slots=True)
class KernelArguments:
    """Arrays that a kernel reads and writes, on the device, and the number of identities."""

    x: Any  # trials, sorted by true identity, padded to whole blocks
    y: Any  # identities, padded to whole tiles
    z: Any  # the true identity of each trial
    power: Any
    shift: Any
    limit: Any
    column: Any  # of the true identity in this panel, -1 where it is in another
    low: Any  # first full tile with a true identity of each block of trials
    high: Any  # one past the last
    own: Any
    total: Any
    below: Any
    fires: Any
    best: Any
    tile: Any  # which holds the best
    identities: int


class Kernel(Protocol):
    """A kernel for vectors of one width."""

    rows: int  # trials of a block
    columns: int  # identities of a tile
    width: int  # entries of a vector, the last ones zero

    def launch(self, arguments: KernelArguments) -> None:
        """Start it on the current device."""


@dataclass(frozen=True, slots=True)
class TritonTile:
    """Shape of the tile that one Triton program computes."""

    rows: int
    columns: int
    warps: int
    stages: int
    copies: bool = False  # tiles fetched by the copy engine instead of by threads
    held: bool = False  # trials in registers instead of shared memory, exact for 16-bit inputs only


def best_tile(width: int, *, half: bool = True) -> TritonTile:
    """Return the fastest of the shapes that `benchmarks/link_gpu.py --tune` tried on an H200."""
    if not half:
        return TritonTile(64, 64, 4, 2)
    if width <= 192:
        return TritonTile(128, 64, 4, 2, copies=True)
    if width <= 256:
        return TritonTile(128, 64, 8, 3)
    return TritonTile(128, 64, 8, 2, copies=True, held=True)


class TritonKernel:
    """The kernel in Triton."""

    def __init__(self, dim: int, *, fires: bool, tile: TritonTile | None = None, half: bool = True) -> None:
        self.width = -(-dim // 64) * 64
        self.fires, self.tile = fires, tile or best_tile(self.width, half=half)
        self.rows, self.columns = self.tile.rows, self.tile.columns

    def launch(self, arguments: KernelArguments) -> None:
        """Start it on the current device."""
        from zeroevidence.linkage.gpu.triton_kernel import PIECE, link_kernel

        tile, source, descriptor = self.tile, arguments.y, _descriptor()
        copies = tile.copies and descriptor is not None
        if copies:
            source = descriptor.from_tensor(arguments.y, [tile.columns, PIECE])
        names = [field.name for field in fields(arguments) if field.name != "identities"]
        arrays = {f"{name}_at": getattr(arguments, name) for name in names}
        link_kernel[(len(arguments.x) // tile.rows,)](
            **(arrays | {"y_at": source}), N=arguments.identities, D=self.width, K=PIECE, BM=tile.rows, BN=tile.columns,
            FIRES=self.fires, STAGES=tile.stages, TMA=copies, HELD=tile.held, P="tf32x3", num_warps=tile.warps,
        )  # fmt: skip


@cache
def _descriptor() -> Any:
    """Return Triton's class of tensor descriptors for the copy engine; None in versions before 3.4."""
    try:
        return importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
    except ImportError:
        return None


class HopperKernel:
    """The kernel in CUDA C++, for 16-bit vectors on GPUs of compute capability 9.0."""

    rows, columns, piece, threads = 128, 128, 64, 384

    def __init__(self, width: int, function: CudaFunction) -> None:
        self.width, self.function = width, function

    def launch(self, arguments: KernelArguments) -> None:
        """Start it on the current device."""
        maps = [tensor_map(vectors, self.columns, self.piece) for vectors in (arguments.y, arguments.z)]
        rest = [getattr(arguments, field.name) for field in fields(arguments) if field.name not in ("x", "y", "z")]
        self.function.launch(len(arguments.x) // self.rows, [*maps, arguments.x, *rest])


def hopper_width(dim: int) -> int:
    """Entries of a vector as the kernel takes it: whole pieces, above 256 an even number of them."""
    step = 64 if dim <= 256 else 128
    return -(-dim // step) * step


def hopper_options(width: int, *, fires: bool) -> list[str]:
    """Return the options of the compiler."""
    return ["--gpu-architecture=sm_90a", f"-DD={width}", f"-DFIRES={int(fires)}", f"-DSHARED_BYTES={_SHARED_BYTES}"]


def hopper_source() -> str:
    """Return the source of the kernel."""
    return Path(__file__).with_name("hopper_kernel.cu").read_text(encoding="utf-8")


@cache
def _hopper_function(width: int, fires: bool, device: Any) -> CudaFunction | None:
    """Return the compiled kernel; None, with a warning, where it is unavailable."""
    try:
        code = compiled(hopper_source(), hopper_options(width, fires=fires))
        with on_device(device):
            return CudaFunction(code, "link_trials", threads=HopperKernel.threads, shared_bytes=_SHARED_BYTES)
    except (CudaError, OSError) as error:
        warnings.warn(f"the Hopper kernel is unavailable, using the Triton kernel: {error}", stacklevel=2)
        return None


def _is_hopper(device: Any) -> bool:
    if device.type != "cuda" or torch.version.cuda is None:  # other makers' GPUs number their capabilities differently
        return False
    return bool(torch.cuda.get_device_capability(device) == _HOPPER)


def pick_kernel(dim: int, device: Any, *, fires: bool, half: bool) -> Kernel:
    """Return the fastest kernel that runs on a device."""
    if half and _is_hopper(device):
        width = hopper_width(dim)
        function = _hopper_function(width, fires, device)
        if function is not None:
            return HopperKernel(width, function)
    return TritonKernel(dim, fires=fires, half=half)

"""Kernels of a search on a GPU: in Triton for any GPU, in CUDA C++ for Hopper.

Both take the same arrays and write the same numbers; `pick_kernel` chooses one.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from zeroevidence.linkage.gpu.cuda_code import CudaError, CudaFunction, compiled, tensor_map
from zeroevidence.linkage.gpu.staging import load_torch, on_device

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
    torch = load_torch()
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

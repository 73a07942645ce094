"""Engine `triton`: the fused kernel on a CUDA device, 16-bit inputs and 32-bit sums.

Vectors are centred and scaled before they are rounded; row mean, deviation and the true identity's score are worked
out in double precision, so that only the sum over the others and the counts see 16-bit inputs.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.errors import UsageError
from zeroevidence.linkage.engines.torch_blocks import (
    TorchLinker,
    cuda_present,
    load_torch,
    product_rate,
    torch_moments,
    upload,
)
from zeroevidence.linkage.moments import Moments
from zeroevidence.linkage.optional import optional
from zeroevidence.linkage.plan import Plan, finish
from zeroevidence.linkage.registry import Linker, LocalEngine, Need, Request, register
from zeroevidence.linkage.result import LN2, Linkage
from zeroevidence.linkage.vectors import Side

_SAFE = 100.0  # exponents up to here sum without overflow in single precision
_MOST = 60.0  # taken off at most: the mean of the row, whose exponent is 0, must not vanish
LARGEST_DIM = 512


@dataclass(frozen=True, slots=True)
class Tile:
    """Shape of the work of one program."""

    rows: int
    columns: int
    warps: int
    stages: int
    copies: bool = False  # tiles fetched by the copy engine instead of by threads


def best_tile(dim: int) -> Tile:
    """The fastest of those that `benchmarks/link_gpu.py --tune` tried on an H200."""
    if dim <= 192:
        return Tile(128, 64, 4, 2, copies=True)
    if dim <= 256:
        return Tile(128, 64, 8, 3)
    return Tile(128, 32, 8, 2, copies=True)


class TritonLinker(TorchLinker):
    """Works out runs of trials of one plan on one CUDA device."""

    def __init__(self, plan: Plan, *, device: str | None = None, tile: Tile | None = None, half: bool = True) -> None:
        optional("triton", "torch", "the back-end triton")
        super().__init__(plan, device=device)
        if plan.enrol.dim > LARGEST_DIM:
            raise UsageError(
                f"the back-end triton takes vectors of at most {LARGEST_DIM} entries, got {plan.enrol.dim}; "
                "use the back-end torch"
            )
        if self.device.type != "cuda" and not _interpreted():
            raise UsageError("the back-end triton needs a CUDA device, which is not here; use the back-end torch")
        assert plan.moments is not None
        self.width = -(-plan.enrol.dim // 64) * 64
        torch = load_torch()
        self.half = half
        self.stored = torch.float16 if half else torch.float32
        self.tile = tile or (best_tile(self.width) if half else Tile(64, 64, 4, 2))
        self.scale = plan.moments.longest or 1.0
        self.block_rows = 1 << 20
        self._marks: dict[int, Any] = {}

    def panel_rows(self) -> int:
        """Enrolment vectors in one launch: all where they fit."""
        return self.plan.identities if self._fits() else 1 << 20

    def prepare(self, start: int, stop: int) -> Any:
        """A run of enrolment vectors, centred, scaled, in 16 bits, padded to whole tiles."""
        torch = load_torch()
        count = -(-(stop - start) // self.tile.columns) * self.tile.columns
        padded = torch.zeros((count, self.width), dtype=self.stored, device=self.device)
        step = max(1, (1 << 27) // (8 * self.width))
        for at in range(start, stop, step):
            end = min(stop, at + step)
            block = upload(self.plan.enrol, slice(at, end), self.device) - self.centre
            padded[at - start : end - start, : self.plan.enrol.dim] = block / self.scale
        return padded

    def count_copies(self, panel: Any, first: int, count: int, vectors: Any) -> Any:
        """How many of a panel's vectors are equal to each of these."""
        torch = load_torch()
        marks = self._marks.get(first)
        if marks is None:
            marks = torch.sort(_marks(panel[:count]))[0]
            if first in self._kept:
                self._marks[first] = marks
        wanted = _marks(vectors)
        return torch.searchsorted(marks, wanted, right=True) - torch.searchsorted(marks, wanted)

    def rows(self, rows: IntArray) -> Linkage:
        """Results of some trials."""
        order = np.argsort(self.plan.mated[rows], kind="stable")
        back = np.argsort(order, kind="stable")
        parts = [order[start : start + self.block_rows] for start in range(0, len(rows), self.block_rows)]
        return Linkage.join([self._sorted(rows[part]) for part in parts]).take(back)

    def _sorted(self, rows: IntArray) -> Linkage:
        plan = self.plan
        block = TritonRows(self, rows)
        state = None
        for first, panel in self.panels():
            count = min(plan.identities - first, len(panel))
            found = block.launch(panel, first, count)
            state = found if state is None else block.merged(state, found)
        assert state is not None
        fires = None
        if plan.threshold is not None:
            fires = (state["fires"] + (state["own"] > block.limit))[: len(rows)].cpu().numpy().astype(np.int64)
        host = {name: value[: len(rows)].cpu().numpy() for name, value in state.items()}
        with np.errstate(divide="ignore"):
            log_others = np.log(host["total"].astype(np.float64)) + block.shift * LN2
        result = finish(
            plan,
            rows,
            block.terms,
            log_others=log_others - block.terms.slope * block.terms.mean,
            greater=host["greater"].astype(np.int64),
            equal=host["equal"].astype(np.int64),
            best=host["best"].astype(np.float64) * block.unscale,
            best_at=host["leader"].astype(np.int64),
            fires=fires,
            rounded=None if self.half else host["own"].astype(np.float64) * block.unscale,
        )
        lost = np.flatnonzero(~np.isfinite(host["total"]) | (host["total"] == 0.0))
        if len(lost):  # an exponent out of reach of single precision: these few again, the careful way
            careful = TorchLinker(plan, device=str(self.device)).rows(rows[lost])
            for name in ("lid", "log_sum"):
                getattr(result, name)[lost] = getattr(careful, name)
        return result


class TritonRows:
    """A sorted run of trials, as the kernel takes them."""

    def __init__(self, linker: TritonLinker, rows: IntArray) -> None:
        torch = load_torch()
        self.linker, plan = linker, linker.plan
        assert plan.moments is not None
        tile = linker.tile
        self.terms, x, own = linker.terms(rows)
        self.mated = plan.mated[rows]
        self.count = len(rows)
        self.padded = -(-len(rows) // tile.rows) * tile.rows
        length = torch.linalg.vector_norm(x, dim=1).clamp_min(1e-300)
        self.x = self._half(x / length[:, None])
        self.z = self._half(own / linker.scale)
        # the kernel sees products over |x| and over the longest enrolment vector
        self.unscale = length.cpu().numpy() * linker.scale
        power = self.terms.slope / LN2 * self.unscale
        bound = np.abs(power)  # products are at most one
        self.shift = np.clip(bound - _SAFE, 0.0, _MOST)
        self.power32, self.shift32 = self._single(power), self._single(self.shift)
        limit = np.zeros(len(rows)) if plan.threshold is None else plan.threshold[rows] - self.terms.offset
        self.limit = self._single(limit / self.unscale)

    def _half(self, vectors: Any) -> Any:
        torch = load_torch()
        out = torch.zeros((self.padded, self.linker.width), dtype=self.linker.stored, device=self.linker.device)
        out[: len(vectors), : vectors.shape[1]] = vectors
        return out

    def _single(self, values: Any) -> Any:
        torch = load_torch()
        out = torch.zeros(self.padded, dtype=torch.float32, device=self.linker.device)
        out[: len(values)] = torch.from_numpy(np.ascontiguousarray(values))
        return out

    def launch(self, panel: Any, first: int, count: int) -> dict[str, Any]:
        """Run the kernel on one panel of `count` identities."""
        from zeroevidence.linkage.triton_kernel import PIECE, leader_kernel, link_kernel

        torch = load_torch()
        linker, tile = self.linker, self.linker.tile
        column = np.full(self.padded, -1)
        column[: self.count] = self.mated - first
        column[(column < 0) | (column >= count)] = -1
        low, high = _special(column, tile, count)
        device = linker.device
        column_at = torch.from_numpy(column).to(device)
        state = {
            name: torch.empty(self.padded, dtype=torch.float32, device=device) for name in ("own", "total", "best")
        }
        for name in ("below", "fires", "tile"):
            state[name] = torch.empty(self.padded, dtype=torch.int32, device=device)
        blocks = self.padded // tile.rows
        source = panel
        if tile.copies:
            descriptor = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
            source = descriptor.from_tensor(panel, [tile.columns, PIECE])
        link_kernel[(blocks,)](
            self.x,
            source,
            self.z,
            self.power32,
            self.shift32,
            self.limit,
            column_at,
            torch.from_numpy(low).to(device),
            torch.from_numpy(high).to(device),
            state["own"],
            state["total"],
            state["below"],
            state["fires"],
            state["best"],
            state["tile"],
            count,
            D=linker.width,
            K=PIECE,
            BM=tile.rows,
            BN=tile.columns,
            FIRES=linker.plan.threshold is not None,
            STAGES=tile.stages,
            TMA=tile.copies,
            P="tf32x3",
            num_warps=tile.warps,
        )
        leader = torch.empty(self.padded, dtype=torch.int64, device=device)
        leader_kernel[(self.padded,)](
            self.x, panel, column_at, state.pop("tile"), leader, count,
            D=linker.width, K=PIECE, BN=tile.columns, num_warps=4,
        )  # fmt: skip
        state["leader"] = leader + first
        # identities with the very vector of the true one tie with it; the rest of those that are not below is above
        state["equal"] = linker.count_copies(panel, first, count, self.z) - (column_at >= 0).long()
        state["greater"] = count - (column_at >= 0).long() - state.pop("below") - state["equal"]
        return state

    @staticmethod
    def merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        """Two panels as one."""
        torch = load_torch()
        better = b["best"] > a["best"]
        return {
            "own": a["own"],
            **{name: a[name] + b[name] for name in ("total", "greater", "equal", "fires")},
            "best": torch.maximum(a["best"], b["best"]),
            "leader": torch.where(better, b["leader"], a["leader"]),
        }


def _interpreted() -> bool:
    """Whether kernels run on the processor, step by step, as in tests."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")


def _marks(vectors: Any) -> Any:
    """One whole number per vector, the same for equal vectors and hardly ever for others."""
    torch = load_torch()
    words = (vectors + 0.0).view(torch.int16 if vectors.element_size() == 2 else torch.int32)
    odd = torch.from_numpy(np.random.default_rng(0).integers(-(2**62), 2**62, words.shape[1]) | 1).to(words.device)
    marks = torch.zeros(len(words), dtype=torch.int64, device=words.device)
    for at in range(words.shape[1]):  # wraps around, as it should
        marks += words[:, at].long() * odd[at]
    return marks


def _special(column: IntArray, tile: Tile, count: int) -> tuple[IntArray, IntArray]:
    """Full tiles that hold true identities of each block of sorted rows: from, up to."""
    full = count // tile.columns
    of_block = column.reshape(-1, tile.rows) // tile.columns
    inside = (column.reshape(-1, tile.rows) >= 0) & (of_block < full)
    low = np.where(inside, of_block, full).min(axis=1)
    high = np.where(inside, of_block + 1, 0).max(axis=1)
    low = np.minimum(low, high)
    return low.astype(np.int32), high.astype(np.int32)


@register
class TritonEngine(LocalEngine):
    """The fused kernel."""

    name = "triton"
    needs = f"CUDA, vectors of at most {LARGEST_DIM} entries"
    modules = ("torch", "triton")
    extra = "torch"
    precisions = ("float16", "float32")
    sums = np.float32

    def goodness(self, need: Need) -> int:
        """The fastest wherever it runs and single precision holds the vectors."""
        fits = not need.double and need.dim <= LARGEST_DIM
        return 40 if fits and cuda_present() else 0

    def moments(self, enrol: Side, request: Request) -> Moments:
        """Worked out on the device."""
        return torch_moments(enrol, request.device)

    def device_rate(self, dim: int, request: Request) -> float | None:
        """That of a 16-bit product."""
        return product_rate(dim, request.device)

    def linker(self, plan: Plan, request: Request) -> Linker:
        """Works out runs of trials of a plan, with 16-bit inputs unless asked for single precision."""
        return TritonLinker(plan, device=request.device, half=request.dtype != np.float32)

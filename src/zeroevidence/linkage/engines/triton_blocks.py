"""Engine `triton`: the fused kernels on a CUDA device, 16-bit inputs and 32-bit sums.

Vectors are centred and scaled before they are rounded; row mean, deviation and the true identity's score are computed
in double precision, so that only the sum over the others and the counts use 16-bit inputs.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.errors import UsageError
from zeroevidence.linkage.engines import Requirements, Runs, register
from zeroevidence.linkage.engines.torch_blocks import (
    TorchEngine,
    TorchLinker,
    cuda_present,
    doubled,
    fetched,
    on_device,
    parts,
    sent,
    staged,
    torch,
)
from zeroevidence.linkage.evidence import ARRAYS, LN2, TERMS, OtherIdentities, RowTerms, TrialEvidence, finish
from zeroevidence.linkage.gpu import Kernel, KernelArguments, pick_kernel
from zeroevidence.linkage.inputs import as_slice
from zeroevidence.linkage.plan import SearchPlan
from zeroevidence.optional import optional
from zeroevidence.run import Run

_SAFE = 100.0  # exponents up to here sum without overflow in single precision
_LARGEST_SHIFT = 60.0  # of exponents: a larger one would make the term of the row's mean, 2**0, vanish
LARGEST_DIM = 512
_RUN_TRIALS = 1 << 18  # more than one wave of programs many times over, and a quarter of a gigabyte to send
_AHEAD = 2  # runs handed to the device before the first result is fetched


class TritonLinker(TorchLinker):
    """Computes runs of trials of one search on one CUDA device."""

    def __init__(
        self, plan: SearchPlan, *, device: str | None = None, kernel: Kernel | None = None, half: bool = True
    ) -> None:
        optional("triton", "torch", "the engine triton")
        super().__init__(plan, device=device)
        if plan.enrol.dim > LARGEST_DIM:
            reason = f"the engine triton takes vectors of at most {LARGEST_DIM} entries, got {plan.enrol.dim}"
            raise UsageError(f"{reason}; use the engine torch")
        if self.device.type != "cuda" and not _interpreted():
            raise UsageError("the engine triton needs a CUDA device, which is not here; use the engine torch")
        assert plan.moments is not None
        self.half = half
        self.stored = torch.float16 if half else torch.float32
        self.kernel = kernel or pick_kernel(plan.enrol.dim, self.device, fires=plan.threshold is not None, half=half)
        self.width = self.kernel.width
        self.scale = plan.moments.longest or 1.0
        self._marks: dict[int, Any] = {}

    def panel_rows(self) -> int:
        """Enrolment vectors in one launch: all where they fit."""
        return self.plan.identities if self._fits() else 1 << 20

    def vector_bytes(self) -> int:
        """Bytes of an enrolment vector, padded."""
        return self.width * int(self.stored.itemsize)

    def prepare(self, start: int, stop: int) -> Any:
        """A run of enrolment vectors, centred, scaled, in 16 bits, padded to whole tiles."""
        count = -(-(stop - start) // self.kernel.columns) * self.kernel.columns
        padded = torch.zeros((count, self.width), dtype=self.stored, device=self.device)
        for part in parts(stop - start, self.width):
            block = self.enrol.read(slice(start + part.start, start + part.stop))[0]
            padded[part, : self.plan.enrol.dim] = (block - self.centre) / self.scale
        return padded

    def count_copies(self, panel: Any, first: int, count: int, mated_marks: Any) -> Any:
        """Return how many of a panel's vectors have each of these marks."""
        marks = self._marks.get(first)
        if marks is None:
            marks = torch.sort(marks_of(panel[:count]))[0]
            if first in self._kept:
                self._marks[first] = marks
        return torch.searchsorted(marks, mated_marks, right=True) - torch.searchsorted(marks, mated_marks)

    def rows(self, rows: IntArray) -> TrialEvidence:
        """Return the evidence of some trials."""
        runs = [rows[at : at + _RUN_TRIALS] for at in range(0, len(rows), _RUN_TRIALS)]
        return TrialEvidence.join([part for _, part in self.stream(runs)])

    def stream(self, runs: Iterable[IntArray]) -> Iterator[tuple[int, TrialEvidence]]:
        """Yield the evidence of runs of trials, in their order; the next are sent while the device works."""
        waiting: deque[tuple[int, PendingRun]] = deque()
        for index, rows in enumerate(runs):
            waiting.append((index, self._begin(rows)))
            if len(waiting) > _AHEAD:
                first, pending = waiting.popleft()
                yield first, pending.result()
        for first, pending in waiting:
            yield first, pending.result()

    def _begin(self, rows: IntArray) -> PendingRun:
        """Hand some trials to the device without waiting for it."""
        with on_device(self.device):
            block = TritonRows(self, rows)
            state = None
            for first, panel in self.panels():
                part = block.launch(panel, first, min(self.plan.identities - first, len(panel)))
                state = part if state is None else block.merged(state, part)
            assert state is not None
            return PendingRun(self, rows, block, state)


class TritonRows:
    """A run of trials, sorted by their true identities, as the kernel takes them."""

    def __init__(self, linker: TritonLinker, rows: IntArray) -> None:
        plan, device = linker.plan, linker.device
        self.linker, self.count = linker, len(rows)
        self.padded = -(-len(rows) // linker.kernel.rows) * linker.kernel.rows
        raw = staged(plan.trial.vectors[as_slice(rows)], device)
        self.mated, self.order = torch.sort(sent(plan.mated[rows], device), stable=True)
        weight = sent(plan.weight[rows], device)[self.order]
        shape = self.padded, linker.width
        self.x, self.z = (torch.zeros(shape, dtype=linker.stored, device=device) for _ in range(2))
        computed = []
        for part in parts(len(rows), linker.width):
            x, good = doubled(raw[self.order[part]], cosine=plan.trial.cosine)
            mated = linker.enrol.read(self.mated[part])[0] - linker.centre
            terms = linker.terms_of(x, mated, weight[part])
            length = torch.linalg.vector_norm(x, dim=1).clamp_min(1e-300)
            self.x[part, : plan.trial.dim] = x / length[:, None]
            self.z[part, : plan.trial.dim] = mated / linker.scale
            computed.append({name: getattr(terms, name) for name in TERMS} | {"length": length, "good": good})
        self.terms = {name: torch.cat([terms[name] for terms in computed]) for name in computed[0]}
        self.marks = marks_of(self.z)
        # the kernel sees products over |x| and over the longest enrolment vector, at most one
        self.unscale = self.terms.pop("length") * linker.scale
        power = self.terms["slope"] / LN2 * self.unscale
        self.shift = (power.abs() - _SAFE).clip(0.0, _LARGEST_SHIFT)
        limit = torch.zeros_like(power)
        if plan.threshold is not None:
            limit = sent(plan.threshold[rows], device)[self.order] - self.terms["offset"]
        self.power32, self.shift32, self.limit = map(self._single, (power, self.shift, limit / self.unscale))

    def _single(self, values: Any) -> Any:
        out = torch.zeros(self.padded, dtype=torch.float32, device=self.linker.device)
        out[: len(values)] = values
        return out

    def launch(self, panel: Any, first: int, count: int) -> dict[str, Any]:
        """Run the kernel on one panel of `count` identities."""
        from zeroevidence.linkage.gpu.triton_kernel import PIECE, leader_kernel

        linker, kernel, device = self.linker, self.linker.kernel, self.linker.device
        column = torch.full((self.padded,), -1, device=device)
        column[: self.count] = self.mated - first
        column[(column < 0) | (column >= count)] = -1
        inside = (column >= 0).long()
        low, high = _masked_tiles(column, kernel, count)
        state = {
            name: torch.empty(self.padded, dtype=torch.float32, device=device) for name in ("own", "total", "best")
        }
        for name in ("below", "fires", "tile"):
            state[name] = torch.empty(self.padded, dtype=torch.int32, device=device)
        kernel.launch(
            KernelArguments(
                x=self.x, y=panel, z=self.z, power=self.power32, shift=self.shift32, limit=self.limit, column=column,
                low=low, high=high, identities=count, **state,
            )
        )  # fmt: skip
        leader = torch.empty(self.padded, dtype=torch.int64, device=device)
        leader_kernel[(self.padded,)](
            self.x, panel, column, state.pop("tile"), leader, count,
            D=linker.width, K=PIECE, BN=kernel.columns, num_warps=4,
        )  # fmt: skip
        state["leader"] = leader + first
        # identities with the very vector of the true one tie with it; the rest of those that are not below is above
        state["equal"] = linker.count_copies(panel, first, count, self.marks) - inside
        state["greater"] = count - inside - state.pop("below") - state["equal"]
        return state

    @staticmethod
    def merged(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
        """Two panels as one."""
        better = b["best"] > a["best"]
        return {
            "own": a["own"],
            **{name: a[name] + b[name] for name in ("total", "greater", "equal", "fires")},
            "best": torch.maximum(a["best"], b["best"]),
            "leader": torch.where(better, b["leader"], a["leader"]),
        }


class PendingRun:
    """A run of trials that the device is working on, and its evidence once the device is done."""

    def __init__(self, linker: TritonLinker, rows: IntArray, block: TritonRows, state: dict[str, Any]) -> None:
        self.linker, self.rows = linker, rows
        state["fires"] = state["fires"] + (state["own"] > block.limit)
        for name in ("own", "best"):
            state[name] = state[name][: len(rows)].double() * block.unscale
        state["log_others"] = torch.log(state.pop("total")[: len(rows)].double()) + block.shift * LN2
        back = torch.empty_like(block.order)
        back[block.order] = torch.arange(len(rows), device=linker.device)
        every = state | block.terms
        self.arrays = fetched({name: values[: len(rows)][back] for name, values in every.items()})
        self.done = None
        if linker.device.type == "cuda":
            self.done = torch.cuda.Event()
            self.done.record()

    def result(self) -> TrialEvidence:
        """Return the evidence, once the device is done."""
        if self.done is not None:
            self.done.synchronize()
        plan, rows = self.linker.plan, self.rows
        arrays = {name: values.numpy() for name, values in self.arrays.items()}
        if not arrays["good"].all():
            plan.trial.take(rows)  # raises an error that says what is wrong, if anything is
        terms = RowTerms(*(arrays[name] for name in TERMS))
        # row moments that rounding spoilt, or an exponent out of reach of single precision: again by torch, below
        again = np.flatnonzero(terms.doubtful | ~np.isfinite(arrays["log_others"]))
        arrays["log_others"][again] = 0.0
        others = OtherIdentities(
            log_sum=arrays["log_others"] - terms.slope * terms.mean,
            greater=arrays["greater"],
            equal=arrays["equal"],
            best=arrays["best"],
            best_at=arrays["leader"],
            fires=None if plan.threshold is None else arrays["fires"].astype(np.int64),
            rounded=None if self.linker.half else arrays["own"],
        )
        result = finish(plan, rows, terms, others)
        if len(again):
            careful = TorchLinker(plan, device=str(self.linker.device)).rows(rows[again])
            for name in ARRAYS:
                getattr(result, name)[again] = getattr(careful, name)
        return result


def _interpreted() -> bool:
    """Whether kernels run on the processor, step by step, as in tests."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")


def marks_of(vectors: Any) -> Any:
    """One whole number per vector, the same for equal vectors and hardly ever for others."""
    size, dim = vectors.shape
    odd = sent(np.random.default_rng(0).integers(-(2**62), 2**62, dim) | 1, vectors.device)
    marks = torch.empty(size, dtype=torch.int64, device=vectors.device)
    for part in parts(size, dim):
        digits = (vectors[part] + 0.0).view(torch.int16 if vectors.element_size() == 2 else torch.int32)
        marks[part] = (digits.long() * odd).sum(1)  # wraps around, as it should
    return marks


def _masked_tiles(column: Any, kernel: Kernel, count: int) -> tuple[Any, Any]:
    """First full tile, and one past the last, with true identities of each block of sorted rows."""
    full = count // kernel.columns
    of_block = column.view(-1, kernel.rows) // kernel.columns
    inside = (column.view(-1, kernel.rows) >= 0) & (of_block < full)
    low = torch.where(inside, of_block, full).amin(1)
    high = torch.where(inside, of_block + 1, 0).amax(1)
    return torch.minimum(low, high).int(), high.int()


@register
class TritonEngine(TorchEngine):
    """The fused kernels."""

    name = "triton"
    needs = f"CUDA, vectors of at most {LARGEST_DIM} entries"
    modules = ("torch", "triton")
    extra = "torch"
    precisions = ("float16", "float32")
    sums = np.float32

    def priority(self, requirements: Requirements) -> int:
        """Return the highest priority where there is a CUDA device and single precision holds the vectors."""
        fits = not requirements.double and requirements.dim <= LARGEST_DIM
        return 40 if fits and cuda_present() else 0

    def run_trials(self, dim: int) -> int:  # noqa: ARG002
        """Trials that keep the device busy while the next run is sent."""
        return _RUN_TRIALS

    def compute(self, plan: SearchPlan, runs: Runs, run: Run) -> Iterator[tuple[int, TrialEvidence]]:
        """Yield the evidence of runs of trials, in their order; one is sent while the device works on another."""
        return self.linker(plan, run).stream(np.arange(start, stop) for start, stop in runs)

    def linker(self, plan: SearchPlan, run: Run) -> TritonLinker:
        """Return the linker of one search, with 16-bit inputs unless single precision is asked for."""
        return TritonLinker(plan, device=run.device, half=plan.options.precision != 32)

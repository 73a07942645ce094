"""Engine `torch`: the same blocks as tensors, sent once to a CPU or a GPU as they are stored."""

from __future__ import annotations

import ctypes
import os
import timeit
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.linkage import evidence
from zeroevidence.linkage.engines import Linker, LocalEngine, Requirements, register
from zeroevidence.linkage.inputs import LARGEST, SMALLEST, VectorSet
from zeroevidence.linkage.plan import EnrolmentMoments, SearchPlan, sampled_centre
from zeroevidence.optional import LazyModule, present
from zeroevidence.run import Run

torch: Any = LazyModule("torch", "torch", "the engine torch")
_STORED = ("float16", "float32", "float64")  # sent as they are; everything else as float64
_BUFFER_BYTES = 1 << 23  # of each thread
_THREADS = 8
_DOUBLE_BYTES = 1 << 28  # vectors in double precision on the device at once
_KEPT_SHARE = 0.3  # of a GPU's memory that enrolment vectors may take, as stored and again as prepared
_KEPT_BYTES = 1 << 28  # of the host's, where that is the device


def pick_device(device: str | None) -> Any:
    """Return the device of that name, by default a GPU if there is one."""
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return torch.device("cuda", torch.cuda.current_device()) if chosen == torch.device("cuda") else chosen


def on_device(device: Any) -> AbstractContextManager[object]:
    """Make a GPU the current device, on which kernels are launched, for a block of code."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@cache
def _copy_stream(device: Any) -> Any:
    return torch.cuda.Stream(device)  # one for all: memory that was allocated for a stream stays with it


def staged(vectors: FloatArray, device: Any) -> Any:
    """Return vectors on the device as they are stored; work on the device waits for copies that are under way.

    Threads copy blocks of the host's array, which may be memory-mapped, into page-locked buffers, from which the copy
    engine of the device fetches them while the device works on something else.
    """
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
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def fetched(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return tensors on the host; synchronise with the device before they are read."""

    def fetch(tensor: Any) -> Any:
        if tensor.device.type != "cuda":
            return tensor
        return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True).copy_(tensor, non_blocking=True)

    return {name: fetch(tensor) for name, tensor in tensors.items()}


def doubled(raw: Any, *, cosine: bool) -> tuple[Any, Any]:
    """Return vectors in double precision, for cosine of length one, and which are known to be in range."""
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


def room(size: int, device: Any) -> bool:
    """Return whether that many bytes of vectors may stay on the device."""
    if device.type != "cuda":
        return size <= _KEPT_BYTES
    return bool(size <= _KEPT_SHARE * torch.cuda.mem_get_info(device)[1])


class DeviceVectors:
    """The vectors of one side on a device: all of them as they are stored where they fit, else sent when asked for."""

    def __init__(self, side: VectorSet, device: Any) -> None:
        self.side, self.device = side, device
        self._raw: Any = staged(side.vectors, device) if self.fits() else None

    def fits(self) -> bool:
        """Return whether they may stay on the device and leave room for the computation."""
        if self.device.type != "cuda":
            return False
        itemsize = self.side.vectors.dtype.itemsize if self.side.vectors.dtype.name in _STORED else 8
        return room(self.side.count * self.side.dim * itemsize, self.device)

    def read(self, rows: Any) -> tuple[Any, Any]:
        """Some vectors in double precision, and which of them are good; `rows` are a run, or are on the device."""
        if self._raw is not None:
            return doubled(self._raw[rows], cosine=self.side.cosine)
        here = rows if isinstance(rows, slice) else rows.cpu().numpy()
        return doubled(staged(self.side.vectors[here], self.device), cosine=self.side.cosine)


_PRODUCTS = {"cpu": 1 << 22, "cuda": 1 << 28}  # products held at once
_ROWS = {"cpu": 512, "cuda": 16384}


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMoments(EnrolmentMoments):
    """Moments with the enrolment vectors on their device, which the first linker that asks takes over."""

    held: list[DeviceVectors]

    def hand_over(self, device: Any) -> DeviceVectors | None:
        """Return the enrolment vectors on the device, once: then only the caller keeps that memory."""
        return self.held.pop() if self.held and self.held[0].device == device else None


def torch_moments(enrol: VectorSet, device: str | None = None) -> DeviceMoments:
    """Moments of the enrolment vectors, computed on the device."""
    where = pick_device(device)
    centre = sampled_centre(enrol)
    held = DeviceVectors(enrol, where)
    middle = torch.from_numpy(centre).to(where)
    first, second, longest = torch.zeros_like(middle), torch.outer(middle, middle) * 0.0, torch.zeros_like(middle[0])
    fine = torch.ones((), dtype=torch.bool, device=where)
    for rows in parts(enrol.count, enrol.dim):
        block, good = held.read(rows)
        block = block - middle  # not in place: it may be the vectors as they are stored
        fine &= good.all()
        first += block.sum(0)
        second += block.T @ block
        longest = torch.maximum(longest, torch.linalg.vector_norm(block, dim=1).max())
    for start, stop in () if bool(fine) else enrol.blocks():
        enrol.read(start, stop)  # raises an error that says what is wrong, if anything is
    mean = first / enrol.count
    covariance = second / enrol.count - torch.outer(mean, mean)
    return DeviceMoments(enrol.count, centre, mean.cpu().numpy(), covariance.cpu().numpy(), float(longest), [held])


class TorchLinker:
    """Computes runs of trials of one search on one device."""

    def __init__(self, plan: SearchPlan, *, device: str | None = None) -> None:
        self.plan, self.device = plan, pick_device(device)
        self.dtype = torch.float32 if plan.dtype == np.float32 else torch.float64
        assert plan.moments is not None
        self.centre = torch.from_numpy(plan.moments.centre).to(self.device)
        self.mean = torch.from_numpy(plan.moments.mean).to(self.device)
        self.covariance = torch.from_numpy(plan.moments.covariance).to(self.device)
        held = plan.moments.hand_over(self.device) if isinstance(plan.moments, DeviceMoments) else None
        self.enrol = held or DeviceVectors(plan.enrol, self.device)
        self._kept: dict[int, Any] = {}
        kind = self.device.type
        self.block_rows = _ROWS.get(kind, 512)
        self.block_columns = max(1, _PRODUCTS.get(kind, 1 << 22) // self.block_rows)

    def rows(self, rows: IntArray) -> evidence.TrialEvidence:
        """Return the evidence of some trials."""
        starts = range(0, len(rows), self.block_rows)
        blocks = [TorchBlock(self, rows[start : start + self.block_rows]) for start in starts]
        for first, panel in self.panels():
            for block in blocks:
                for at in range(0, len(panel), self.block_columns):
                    block.add(panel[at : at + self.block_columns], first + at)
        return evidence.TrialEvidence.join([block.finish() for block in blocks])

    def panels(self) -> Iterator[tuple[int, Any]]:
        """Runs of prepared enrolment vectors on the device, kept there between calls where they fit."""
        enrol = self.plan.enrol
        keep = self._fits()
        for start, stop in enrol.blocks(self.panel_rows()):
            panel = self._kept.get(start)
            if panel is None:
                panel = self.prepare(start, stop)
                if keep:
                    self._kept[start] = panel
            yield start, panel

    def _fits(self) -> bool:
        return room(self.plan.identities * self.vector_bytes(), self.device)

    def vector_bytes(self) -> int:
        """Bytes of an enrolment vector as it is kept."""
        return int(self.plan.enrol.dim * self.dtype.itemsize)

    def panel_rows(self) -> int:
        """Enrolment vectors read at once."""
        return max(1, (1 << 26) // (8 * self.plan.enrol.dim))

    def prepare(self, start: int, stop: int) -> Any:
        """A run of enrolment vectors as the products take them."""
        return (self.enrol.read(slice(start, stop))[0] - self.centre).to(self.dtype)

    def terms_of(self, x: Any, mated: Any, weight: Any) -> evidence.RowTerms:
        """Closed-form terms from the vectors of trials and the centred ones of their true identities, on the device."""
        plan = self.plan
        assert plan.moments is not None
        square, variance = (x * x).sum(1), ((x @ self.covariance) * x).sum(1)
        mean, deviation, doubtful = plan.moments.of_products(x @ self.mean, variance, square, plan.options.ddof, torch)
        offset, score = x @ self.centre, (x * mated).sum(1)
        slope = evidence.calibrated_slope(plan, weight, deviation, torch)
        return evidence.RowTerms(offset, score, mean, deviation, slope, doubtful)

    def terms(self, rows: IntArray) -> tuple[evidence.RowTerms, Any, Any]:
        """Closed-form terms of trials on the host; their vectors and those of their true identities on the device."""
        plan = self.plan
        x, good = doubled(staged(plan.trial.vectors[rows], self.device), cosine=plan.trial.cosine)
        if not bool(good.all()):  # reading them on the host raises an error that says what is wrong, if anything is
            x = torch.from_numpy(plan.trial.take(rows)).to(self.device)
        mated = self.enrol.read(sent(plan.mated[rows], self.device))[0] - self.centre
        here = self.terms_of(x, mated, sent(plan.weight[rows], self.device))
        terms = evidence.RowTerms(*(_host(getattr(here, name)) for name in evidence.TERMS))
        spoilt = np.flatnonzero(terms.doubtful)
        if len(spoilt):
            careful, _, _ = evidence.row_terms(plan, rows[spoilt])
            for name in ("mean", "deviation", "slope"):
                getattr(terms, name)[spoilt] = getattr(careful, name)
        return terms, x, mated


def _host(tensor: Any) -> Any:
    return tensor.cpu().numpy()


class TorchBlock:
    """Sums and counts so far of a block of trials."""

    def __init__(self, linker: TorchLinker, rows: IntArray) -> None:
        plan, where, dtype = linker.plan, linker.device, linker.dtype
        self.plan, self.indices = plan, rows
        self.terms, x, mated = linker.terms(rows)
        self.x = x.to(dtype)
        self.mated = torch.from_numpy(plan.mated[rows]).to(where)
        # by the routine that multiplies the panels, so that ties are seen; small products take another
        many = mated.to(dtype).repeat(-(-128 // len(rows)), 1)
        self.mated_products = (self.x @ many.T).diagonal().clone()
        self.power = torch.from_numpy(self.terms.slope / evidence.LN2).to(where, dtype)
        limit = None if plan.threshold is None else plan.threshold[rows] - self.terms.offset
        self.limit = None if limit is None else torch.from_numpy(limit).to(where, dtype)
        self.log_others = torch.full((len(rows),), -torch.inf, dtype=torch.float64, device=where)
        self.best = torch.full((len(rows),), -torch.inf, dtype=dtype, device=where)
        self.best_at, self.greater, self.equal, self.fires = (torch.zeros_like(self.mated) for _ in range(4))

    def add(self, panel: Any, first: int) -> None:
        """Take in a run of identities, the first of them numbered `first`."""
        products = self.x @ panel.T
        column = self.mated - first
        here = torch.nonzero((column >= 0) & (column < len(panel)))[:, 0]
        at = here, column[here]
        if len(panel) == self.plan.identities:
            self.mated_products[here] = products[at]
        products[at] = -torch.inf
        top, leader = products.max(1)
        better = top > self.best
        self.best_at = torch.where(better, leader + first, self.best_at)
        self.best = torch.where(better, top, self.best)
        mated = self.mated_products[:, None]
        self.greater += (products > mated).sum(1)
        self.equal += (products == mated).sum(1)
        if self.limit is not None:
            self.fires += (products > self.limit[:, None]).sum(1)
        products[at] = 0.0
        power = self.power[:, None]
        high = torch.where(self.power < 0.0, self.power * products.amin(1), (self.power * top).clamp_min(0.0))
        products *= power
        products -= high[:, None]
        products.exp2_()
        products[at] = 0.0
        sums = torch.log(products.sum(1).double()) + high.double() * evidence.LN2
        self.log_others = torch.logaddexp(self.log_others, sums)

    def finish(self) -> evidence.TrialEvidence:
        """Return the evidence, once all panels are in."""
        others = evidence.OtherIdentities(
            log_sum=_host(self.log_others) - self.terms.slope * self.terms.mean,
            greater=_host(self.greater),
            equal=_host(self.equal),
            best=_host(self.best.double()),
            best_at=_host(self.best_at),
            fires=None if self.limit is None else _host(self.fires + (self.mated_products > self.limit)),
            rounded=_host(self.mated_products.double()) if self.plan.dtype == np.float32 else None,
        )
        return evidence.finish(self.plan, self.indices, self.terms, others)


def cuda_present() -> bool:
    """Return whether torch finds a CUDA device; without a driver torch is not imported, which takes seconds."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return present("torch") and bool(torch.cuda.is_available())


@register
class TorchEngine(LocalEngine):
    """Tensors on a CPU or a GPU."""

    name = "torch"
    needs = "`zeroevidence[torch]`"
    modules: ClassVar[tuple[str, ...]] = ("torch",)
    extra = "torch"

    def priority(self, requirements: Requirements) -> int:
        """Return a priority above NumPy's where there is a GPU and single precision is enough."""
        return 30 if not requirements.double and cuda_present() else 0

    def moments(self, enrol: VectorSet, run: Run) -> EnrolmentMoments:
        """Moments of the enrolment, computed on the device."""
        return torch_moments(enrol, run.device)

    def device_rate(self, dim: int, run: Run) -> float | None:
        """Operations per second of a product of 16-bit inputs, the best of three; None without a CUDA device."""
        where = pick_device(run.device)
        if where.type != "cuda":
            return None
        x, y = (torch.ones((8192, dim), dtype=torch.float16, device=where) for _ in range(2))

        def product() -> None:
            x @ y.T
            torch.cuda.synchronize(where)

        product()  # the first is slower, and waits for what the device does now
        return 2.0 * 8192 * 8192 * dim / min(timeit.repeat(product, number=1, repeat=3))

    def linker(self, plan: SearchPlan, run: Run) -> Linker:
        """Return the linker of one search."""
        return TorchLinker(plan, device=run.device)

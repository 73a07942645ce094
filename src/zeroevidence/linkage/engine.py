"""One call, several back-ends: trial and enrolment vectors in, evidence of each trial out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import UsageError
from zeroevidence.linkage.parts import present
from zeroevidence.linkage.plan import Plan, make_plan
from zeroevidence.linkage.result import Linkage
from zeroevidence.linkage.scoring import Scoring
from zeroevidence.linkage.vectors import Side

Backend = Literal["auto", "numpy", "torch", "triton", "dask"]
BACKENDS: tuple[Backend, ...] = ("auto", "numpy", "torch", "triton", "dask")
_CHUNK_BYTES = 1 << 26


class Linker(Protocol):
    """What a back-end offers."""

    def rows(self, rows: IntArray) -> Linkage:
        """Results of some trials."""


def link(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    weight: float | FloatArray,
    bias: float | FloatArray = 0.0,
    scoring: Scoring = "dot",
    ddof: int = 0,
    threshold: float | FloatArray | None = None,
    backend: Backend = "auto",
    scheduler: Any = None,
    device: str | None = None,
    threads: int | None = None,
    dtype: Any = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Linkage:
    r"""What a search through N enrolled identities learns from each trial, without the T x N matrix of scores.

    .. math:: LLR_{ij} = w \frac{s_{ij} - \mu_i}{\sigma_i} + b, \quad
        LID_i = \log_2 \frac{N e^{LLR_{i m_i}}}{\sum_j e^{LLR_{ij}}}

    Parameters
    ----------
    trial_vectors, enrol_vectors
        T x d and N x d: arrays (float16, float32, float64; memory-mapped is fine, also beyond the memory of the
        machine), `Embeddings`, or addresses of files, which `dask` opens where its workers are.
    mated
        For each trial the row of its true identity in `enrol_vectors`.
    weight, bias
        Calibration of standardised scores, one for all or one per trial; `fit_link` fits one on other speakers.
    scoring
        ``dot``, ``cosine``, or a function of two blocks of vectors that gives their scores.
    ddof
        Divisor of the row variance is N - ddof.
    threshold
        Also count the identities that score above it (`fires`).
    backend
        ``numpy``; ``torch`` (CPU or GPU); ``triton`` (CUDA, 16-bit inputs unless `dtype` is float32); ``dask`` (many
        machines, each with the best of the others); ``auto``: the fastest that is there and keeps the precision.
    scheduler
        For ``dask``: a client, or the address of a scheduler; a local cluster unless given.
    device, threads
        For ``torch`` and ``triton``; for ``numpy``.
    dtype
        Precision of the products: float32 or float64, by default that of the vectors, at least float32; float16 for
        ``triton``.
    chunk
        Trials worked out together; the answer does not depend on it beyond rounding.
    progress
        Called with the number of trials done and in all.
    """
    plan, name, half = resolve(
        trial_vectors,
        enrol_vectors,
        mated,
        weight=weight,
        bias=bias,
        scoring=scoring,
        ddof=ddof,
        threshold=threshold,
        backend=backend,
        device=device,
        dtype=dtype,
    )
    chunks = chunks_of(plan, chunk)
    parts: dict[int, Linkage] = {}
    for index, part in run_chunks(plan, name, chunks, scheduler=scheduler, device=device, threads=threads, half=half):
        parts[index] = part
        if progress is not None:
            progress(sum(len(one) for one in parts.values()), plan.trials)
    return Linkage.join([parts[index] for index in range(len(chunks))])


def resolve(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    backend: Backend = "auto",
    device: str | None = None,
    dtype: Any = None,
    scoring: Scoring = "dot",
    **options: Any,
) -> tuple[Plan, Backend, bool]:
    """The checked plan, the back-end that "auto" means, and whether it multiplies 16-bit inputs."""
    if backend not in BACKENDS:
        raise UsageError(f"unknown back-end {backend!r}; expected one of {', '.join(BACKENDS)}")
    asked = None if dtype is None else np.dtype(dtype)
    enrol = Side.of(enrol_vectors, "enrolment", cosine=scoring == "cosine")
    trial = Side.of(trial_vectors, "trial", cosine=scoring == "cosine")
    double = asked == np.float64 or (asked is None and not (trial.single and enrol.single))
    if backend == "auto":
        backend = best_backend(enrol.dim, double=double or callable(scoring))
    if callable(scoring) and backend not in ("numpy", "dask"):
        raise UsageError(f"a scoring function works with the back-ends numpy and dask, not {backend}")
    if backend == "triton" and double and asked is not None:
        raise UsageError("the back-end triton multiplies in float16 or float32; use torch for float64")
    if asked == np.float16 and backend != "triton":
        raise UsageError("products of float16 inputs need the back-end triton")
    half = backend == "triton" and asked != np.float32
    if backend == "triton":
        dtype = np.float32
    moments = None
    if backend in ("torch", "triton") and not callable(scoring):
        from zeroevidence.linkage.torch_blocks import torch_moments

        moments = torch_moments(enrol, device)
    plan = make_plan(trial, enrol, mated, scoring=scoring, dtype=dtype, moments=moments, **options)
    return plan, backend, half


def best_backend(dim: int, *, double: bool) -> Backend:
    """The fastest back-end of this machine that keeps the precision."""
    if double or not present("torch") or not _cuda_driver():
        return "numpy"
    from zeroevidence.linkage.torch_blocks import load_torch

    if not load_torch().cuda.is_available():
        return "numpy"
    return "triton" if present("triton") and dim <= 512 else "torch"


def _cuda_driver() -> bool:
    """Whether there is a driver at all: torch takes seconds to import only to say that there is none."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def linker_for(
    plan: Plan, backend: Backend, *, device: str | None = None, threads: int | None = None, half: bool = True
) -> Linker:
    """The worker of a back-end; everything it prepares is kept between calls."""
    if plan.function is not None:
        from zeroevidence.linkage.whole_rows import WholeRowLinker

        return WholeRowLinker(plan)
    if backend == "torch":
        from zeroevidence.linkage.torch_blocks import TorchLinker

        return TorchLinker(plan, device=device)
    if backend == "triton":
        from zeroevidence.linkage.triton_blocks import TritonLinker

        return TritonLinker(plan, device=device, half=half)
    from zeroevidence.linkage.blocks import NumpyLinker

    return NumpyLinker(plan, threads=threads)


def chunks_of(plan: Plan, chunk: int | None = None) -> list[tuple[int, int]]:
    """Runs of trials: as many as fit a modest memory, so that the enrolment is read few times."""
    step = chunk or max(1024, _CHUNK_BYTES // (8 * plan.trial.dim))
    return [(start, min(plan.trials, start + step)) for start in range(0, plan.trials, step)]


def run_chunks(
    plan: Plan,
    backend: Backend,
    chunks: Sequence[tuple[int, int]],
    *,
    scheduler: Any = None,
    device: str | None = None,
    threads: int | None = None,
    half: bool = True,
) -> Iterator[tuple[int, Linkage]]:
    """Results of runs of trials with their place in `chunks`, in the order in which they are done."""
    if backend == "dask":
        from zeroevidence.linkage.dask_blocks import run_on_cluster

        yield from run_on_cluster(plan, chunks, scheduler=scheduler)
        return
    linker = linker_for(plan, backend, device=device, threads=threads, half=half)
    for index, (start, stop) in enumerate(chunks):
        yield index, linker.rows(np.arange(start, stop))

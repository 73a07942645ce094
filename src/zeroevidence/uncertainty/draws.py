"""Bootstrap draws: how often each cluster is in each replicate.

Draws come in batches with a generator each, so that the same seed gives the same draws for any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import numpy as np

from zeroevidence._typing import IntArray

BATCH = 64
Progress = Callable[[int, int], None]
T = TypeVar("T")


def generator(seed: int, purpose: int, batch: int) -> np.random.Generator:
    """The generator of one batch; `purpose` keeps bootstrap and null apart."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(purpose, batch)))


def batches(total: int) -> list[tuple[int, int]]:
    """Number and size of each batch."""
    return [(number, min(BATCH, total - start)) for number, start in enumerate(range(0, total, BATCH))]


def cluster_draws(n: int, batch: int, size: int, seed: int) -> IntArray:
    """Counts of `n` clusters in each of `size` replicates, shape (size, n)."""
    return generator(seed, 0, batch).multinomial(n, np.full(n, 1.0 / n), size=size)


def leave_one_out(n: int) -> IntArray:
    """The jackknife as draws: every cluster once except one."""
    return 1 - np.eye(n, dtype=np.int64)


def half_draws(n: int, size: int, seed: int) -> IntArray:
    """Random halves of the clusters, shape (size, n)."""
    rng = generator(seed, 2, 0)
    order = np.argsort(rng.random((size, n)), axis=1)
    return (order < (n + 1) // 2).astype(np.int64)


_shared: object = None


def _remember(task: object) -> None:
    global _shared
    _shared = task


def _run(job: tuple[int, int]) -> object:
    return _shared(*job)  # type: ignore[operator]


def run_batches(
    task: Callable[[int, int], T], total: int, *, workers: int = 1, progress: Progress | None = None
) -> Iterator[T]:
    """Results of `task(batch, size)` in the order of the batches, from this process or several."""
    jobs = batches(total)
    done = 0
    if workers <= 1 or len(jobs) <= 1:
        results: Iterator[object] = (task(*job) for job in jobs)
        pool = None
    else:
        pool = ProcessPoolExecutor(min(workers, len(jobs)), initializer=_remember, initargs=(task,))
        results = pool.map(_run, jobs)
    try:
        for (_, size), result in zip(jobs, results, strict=True):
            done += size
            if progress is not None:
                progress(done, total)
            yield result  # type: ignore[misc]
    finally:
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

"""Random groups and halves of people, and batches of random draws.

Draws come in batches with a generator each, so that the same seed gives the same draws for any number of workers.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from zeroevidence._typing import BoolArray, IntArray
from zeroevidence.errors import OutOfMemory

BATCH = 64
Progress = Callable[[int, int], None]
T = TypeVar("T")


def generator(seed: int, purpose: int, batch: int) -> np.random.Generator:
    """Return the generator of one batch; `purpose` keeps what is drawn for the null, halves and groups apart."""
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=(purpose, batch)))


def batches(total: int) -> list[tuple[int, int]]:
    """Return number and size of each batch."""
    return [(number, min(BATCH, total - start)) for number, start in enumerate(range(0, total, BATCH))]


def draw_groups(n: int, most: int, seed: int) -> IntArray:
    """Return the group of each of `n` people: everybody alone, or at random in `most` groups of nearly equal size."""
    return np.arange(n) if n <= most else generator(seed, 3, 0).permutation(np.arange(n) % most)


def draw_halves(n: int, pairs: int, seed: int) -> BoolArray:
    """Return random halves of `n` people, each followed by its complement, shape (2 pairs, n)."""
    order = np.argsort(generator(seed, 2, 0).random((pairs, n)), axis=1)
    half = order < (n + 1) // 2
    return np.stack((half, ~half), axis=1).reshape(2 * pairs, n)


_shared: object = None


def _remember(task: object) -> None:
    global _shared
    _shared = task
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(job: tuple[int, ...]) -> object:
    return _shared(*job)  # type: ignore[operator]


def run_jobs(task: Callable[..., T], jobs: Sequence[tuple[int, ...]], *, workers: int = 1) -> Iterator[T]:
    """Yield the results of `task(*job)` in the order of the jobs, from this process or several."""
    if workers <= 1 or len(jobs) <= 1:
        yield from (task(*job) for job in jobs)
        return
    # slow to import, and needed by several processes alone
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    pool = ProcessPoolExecutor(min(workers, len(jobs)), initializer=_remember, initargs=(task,))
    try:
        yield from pool.map(_run, jobs)  # type: ignore[misc]
    except BrokenProcessPool:
        raise OutOfMemory from None  # the system ends a process without a message where memory is short
    except KeyboardInterrupt:
        for helper in multiprocessing.active_children():  # what they compute is not wanted any more
            helper.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def run_batches(
    task: Callable[[int, int], T], total: int, *, workers: int = 1, progress: Progress | None = None
) -> Iterator[T]:
    """Yield the results of `task(batch, size)` in the order of the batches, from this process or several."""
    jobs = batches(total)
    done = 0
    for (_, size), result in zip(jobs, run_jobs(task, jobs, workers=workers), strict=True):
        done += size
        if progress is not None:
            progress(done, total)
        yield result

"""Utterances in batches of similar length, computed by a fixed number of threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, Problem
from zeroevidence.interruption import obey, uninterrupted
from zeroevidence.linkage.optional import one_blas_thread

Part = TypeVar("Part")
Result = TypeVar("Result")
_AWAKE = 1.0  # seconds after which a wait is interrupted


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Limit each operation of torch to so many threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_batches(
    compute: Callable[[list[tuple[int, Utterance]]], Result], utterances: Sequence[Utterance], batch: int, workers: int
) -> Generator[Result, None, None]:
    """Yield the result of a function for each batch of utterances with their places, the shortest first.

    What one worker computes is computed in the calling thread; more are as in `compute_ahead`.
    """
    order = sorted(range(len(utterances)), key=lambda at: (_size(utterances[at]), at))
    parts = [[(at, utterances[at]) for at in order[first : first + batch]] for first in range(0, len(order), batch)]
    if workers == 1:
        yield from map(compute, parts)
    else:
        yield from compute_ahead(compute, parts, workers)


def compute_ahead(
    compute: Callable[[Part], Result], parts: Iterable[Part], workers: int
) -> Generator[Result, None, None]:
    """Yield the result of a function for each part, in order, computed by threads before it is asked for.

    Only as many parts are in progress or waiting as there are workers, and one more. What they compute with NumPy stays
    on one core each inside `linkage.optional.one_blas_thread`. Closed before its end, or interrupted, it tells them to
    stop (`interruption.check_stop`) and waits for them.
    """
    stop = threading.Event()

    def begin_thread() -> None:
        one_blas_thread()  # a BLAS on OpenMP has a limit for each thread, which the threads of a pool do not inherit
        obey(stop)

    pool = ThreadPoolExecutor(workers, initializer=begin_thread)
    try:
        waiting: deque[Future[Result]] = deque()
        for part in parts:
            if len(waiting) > workers:
                yield _result(waiting.popleft())
            with uninterrupted():  # else a thread could begin that nobody waits for
                waiting.append(pool.submit(compute, part))
        while waiting:
            yield _result(waiting.popleft())
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _result(future: Future[Result]) -> Result:
    """Return the result of a task; a signal that comes just before the wait begins is seen when it wakes up."""
    while not wait([future], timeout=_AWAKE).done:
        pass
    return future.result()


def collect(
    parts: Iterable[list[tuple[int, Result | Problem]]], total: int, progress: Callable[[int, int], None] | None
) -> tuple[dict[int, Result], list[Problem]]:
    """Return the results of batches by place, and the problems; `progress` gets the number done and `total`."""
    results: dict[int, Result] = {}
    problems: list[Problem] = []
    for part in parts:
        for at, outcome in part:
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                results[at] = outcome
        if progress is not None:
            progress(len(results) + len(problems), total)
    return results, problems


def utterance_problem(utterance: Utterance, error: InputError) -> Problem:
    """Return an error as a problem of an utterance's file; one that names no file is about the utterance."""
    reason = error.reason if error.path == str(utterance.path) else f"utterance {utterance.id!r}: {error.reason}"
    return Problem(str(utterance.path), None, reason)


def _size(utterance: Utterance) -> int:
    """Return the approximate length: exact for parts of files, by the size of the file otherwise."""
    if utterance.end is not None:
        return utterance.end - (utterance.start or 0)
    try:
        return utterance.path.stat().st_size
    except OSError:
        return 0

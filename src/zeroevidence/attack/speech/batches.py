"""Work on utterances in batches of similar length, by so many threads and no more."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from zeroevidence.data.speech.corpus import Utterance

Done = TypeVar("Done")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_batches(
    work: Callable[[list[tuple[int, Utterance]]], Done], utterances: Sequence[Utterance], batch: int, workers: int
) -> Iterator[Done]:
    """What a function gives for each batch of utterances with their places, the shortest first.

    Only as many batches are under way as there are workers. What they compute with NumPy stays on one core each inside
    `linkage.optional.one_blas_thread`.
    """
    order = sorted(range(len(utterances)), key=lambda at: (_size(utterances[at]), at))
    parts = [[(at, utterances[at]) for at in order[first : first + batch]] for first in range(0, len(order), batch)]
    if workers == 1:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        waiting: deque[Future[Done]] = deque()
        for part in parts:
            if len(waiting) > workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, part))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _size(one: Utterance) -> int:
    """How long an utterance is, roughly: exact for parts of files, by the size of the file otherwise."""
    if one.end is not None:
        return one.end - (one.start or 0)
    try:
        return one.path.stat().st_size
    except OSError:
        return 0

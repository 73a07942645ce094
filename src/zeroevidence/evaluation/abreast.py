"""Evaluations of several files, two at a time: much of one is work that NumPy does without Python's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_ABREAST = 2  # more would wait for Python's lock

Done = TypeVar("Done")


def abreast(jobs: Iterable[Callable[[], Done]]) -> list[Done]:
    """What each job gives, in their order; the next is made here while others are done.

    The first error, in their order, ends it; jobs that were not begun by then are not.

    Examples
    --------
    >>> abreast(lambda number=number: number**2 for number in range(5))
    [0, 1, 4, 9, 16]
    """
    running: deque[Future[Done]] = deque()
    found: list[Done] = []
    with ThreadPoolExecutor(_ABREAST) as threads:
        try:
            for job in jobs:
                running.append(threads.submit(job))
                if len(running) >= _ABREAST:
                    found.append(running.popleft().result())
            found += [one.result() for one in running]
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    return found

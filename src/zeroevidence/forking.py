"""Work divided among copies of this process, which have everything that it has imported and read already."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from typing import Any

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_fork() -> bool:
    """Return whether copies of this process would work: threads are not copied, and locks that they hold stay locked.

    polars starts threads when it is loaded.
    """
    has_threads = threading.active_count() > 1 or any(name.startswith("polars.") for name in sys.modules)
    return sys.platform == "linux" and not has_threads


@contextmanager
def forked_map(processes: int | None = None, meanwhile: Callable[[], object] | None = None) -> Iterator[Each]:
    """Provide a `map` whose work is divided among copies of this process, started at each call.

    Functions need not be picklable, their results must be. What a copy fails to do is done here, so results and errors
    are those of `map`. It is `map` itself where copies would not work, on a machine with one core, and for a single
    job where there is nothing to do meanwhile.

    Parameters
    ----------
    processes
        Number of copies; one for each core unless given.
    meanwhile
        What to do here while the copies of the first call work.

    Examples
    --------
    >>> with forked_map(2) as each:
    ...     list(each(lambda number: abs(number), [-2, -3]))
    [2, 3]
    """
    number, tasks = cores() if processes is None else processes, [meanwhile] if meanwhile is not None else []

    def each(work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterable[Any]:
        listed = list(jobs)
        if number == 1 or not listed or len(listed) + len(tasks) < 2 or not can_fork():
            return map(work, listed)
        return _forked(work, listed, min(number, len(listed)), tasks)

    yield each


_work: Callable[[int], Any] = abs  # what copies do; they have it from the process that they were copied from


def _do(number: int) -> Any:
    return _work(number)


def _forked(
    work: Callable[[Any], Any], jobs: Sequence[Any], processes: int, tasks: list[Callable[[], object]]
) -> Iterable[Any]:
    """Return the results of all jobs by copies; of all jobs by this process where a copy fails at any."""
    global _work
    _work = lambda number: work(jobs[number])  # noqa: E731
    children = set(active_children())
    try:
        with ProcessPoolExecutor(processes, get_context("fork"), _reset_signals) as pool, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads of NumPy, which prepare for it
            results = pool.map(_do, range(len(jobs)))
            while tasks:
                tasks.pop()()
            with suppress(Exception):  # a copy was killed, its result cannot be sent, or an error that is raised below
                return list(results)
    except BaseException:
        for copy in set(active_children()) - children:
            copy.kill()
        raise
    return map(work, jobs)


def _reset_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)

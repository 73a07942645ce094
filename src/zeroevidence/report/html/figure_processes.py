"""Figures drawn side by side: processes that make matplotlib ready while results are still computed."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from zeroevidence.forking import Each, cores
from zeroevidence.plot.canvas import prepare_drawing

_MOST = 4  # processes: a report has about ten figures


@contextmanager
def figure_processes(number: int | None = None) -> Iterator[Each]:
    """Provide a `map` that divides the work among processes that live as long as the block.

    They are started at once. On a machine with one core there are none. What killed processes leave undone is done
    here, so results and errors are those of `map`.

    Examples
    --------
    >>> with figure_processes() as each:
    ...     list(each(abs, [-2, -3]))
    [2, 3]
    """
    number = min(_MOST, cores()) if number is None else number
    if number == 1:
        yield map
        return
    fresh = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of this process hold
    pool = ProcessPoolExecutor(number, mp_context=fresh, initializer=_prepare)
    try:
        for _ in range(number):
            pool.submit(int)  # each job starts one more process
        yield lambda work, jobs: _distributed(pool, work, list(jobs))
    finally:
        pool.shutdown(cancel_futures=True)


def _distributed(pool: ProcessPoolExecutor, work: Callable[[Any], Any], jobs: Iterable[Any]) -> list[Any]:
    """The result of `work` for each job, in order."""
    try:
        return list(pool.map(work, jobs))
    except BrokenProcessPool:
        return list(map(work, jobs))


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits
    prepare_drawing()

"""Figures drawn side by side: processes that make matplotlib ready while results are still computed."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from zeroevidence.forking import Each, cores
from zeroevidence.plot.canvas import prepare_drawing

_MOST = 4  # processes: a report has about ten figures


@contextmanager
def figure_processes(number: int | None = None) -> Iterator[Each]:
    """Provide a `map` that divides the work among processes that live as long as the block.

    They are started at once. On a machine with one core there are none. What a process fails to do is done here, so
    results and errors are those of `map`.

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
    pipes = [fresh.Pipe() for _ in range(number)]
    helpers = [fresh.Process(target=_serve, args=(theirs,), daemon=True) for _, theirs in pipes]
    try:
        for helper in helpers:
            helper.start()
        for _, theirs in pipes:
            theirs.close()
        yield lambda work, jobs: _distributed(work, list(jobs), [ours for ours, _ in pipes])
    finally:
        for helper in helpers:
            if helper.pid is not None:
                helper.terminate()
                helper.join()


def _distributed(work: Callable[[Any], Any], jobs: Sequence[Any], helpers: Sequence[Connection]) -> list[Any]:
    """The result of `work` for each job; a process that has finished one gets the next."""
    results: dict[int, Any] = {}
    left, idle, busy = deque(range(len(jobs))), list(helpers), dict[Any, int]()
    while busy or (idle and left):
        while idle and left:
            helper, at = idle.pop(), left.popleft()
            busy[helper] = at
            with suppress(OSError):  # of one that has ended, which the next lines see
                helper.send((work, jobs[at]))
        answered: list[Any] = wait(list(busy))
        for helper in answered:
            at = busy.pop(helper)
            try:
                results[at] = helper.recv()
                idle.append(helper)
            except (EOFError, OSError):
                continue
    return [results[at] if at in results else work(job) for at, job in enumerate(jobs)]


def _serve(asked: Connection) -> None:
    """Answer jobs until the other end is closed; a process that fails ends silently."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits
    try:
        prepare_drawing()
        while True:
            work, job = asked.recv()
            asked.send(work(job))
    except Exception:
        return

"""Work divided among copies of this process, which have everything that it has imported and read already."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

_NUMBER = 4  # bytes of the number of a job; a pipe has room for thousands of them
_MOST_JOBS = 4096


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_fork() -> bool:
    """Return whether copies of this process would work: threads are not copied, and what they hold stays locked.

    polars has threads of its own once it is loaded.
    """
    alone = threading.active_count() == 1 and not any(name.startswith("polars.") for name in sys.modules)
    return sys.platform == "linux" and alone


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
        alone = len(listed) + len(tasks) < 2
        if number == 1 or alone or not listed or len(listed) > _MOST_JOBS or not can_fork():
            return map(work, listed)
        with _Copies(work, listed, min(number, len(listed))) as copies:
            while tasks:
                tasks.pop()()
            results = copies.results()
        return [results[at] if at in results else work(job) for at, job in enumerate(listed)]

    yield each


class _Copies:
    """Copies of this process that take jobs from one pipe, and send results through a pipe each."""

    def __init__(self, work: Callable[[Any], Any], jobs: Sequence[Any], number: int) -> None:
        self.work, self.jobs, self.number = work, jobs, number
        self.running: dict[Any, int] = {}  # process ids by the end of the pipe that results come from

    def __enter__(self) -> _Copies:
        asked, ask = os.pipe()
        os.write(ask, b"".join(at.to_bytes(_NUMBER, "little") for at in range(len(self.jobs))))
        os.close(ask)
        try:
            for _ in range(self.number):
                self._start(asked)
        finally:
            os.close(asked)
        return self

    def _start(self, asked: int) -> None:
        results, answers = Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads of NumPy, which prepare for it
            pid = os.fork()
        if pid == 0:
            self._serve(asked, answers)
        answers.close()
        self.running[results] = pid

    def _serve(self, asked: int, answers: Connection) -> NoReturn:
        """Do jobs until there are none; a copy that fails ends silently."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that waits
            for request in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(request, signal.SIG_DFL)
            while number := os.read(asked, _NUMBER):
                at = int.from_bytes(number, "little")
                answers.send((at, self.work(self.jobs[at])))
        except BaseException:
            os._exit(1)
        os._exit(0)

    def results(self) -> dict[int, Any]:
        """Return the results by the place of their job; those before a failure where there is one."""
        results: dict[int, Any] = {}
        while len(results) < len(self.jobs):
            answered: list[Any] = wait(list(self.running))
            for copy in answered:
                try:
                    at, result = copy.recv()
                except (EOFError, OSError):
                    if self._has_failed(copy):
                        return results
                    continue
                results[at] = result
        return results

    def _has_failed(self, copy: Connection) -> bool:
        copy.close()
        return os.waitpid(self.running.pop(copy), 0)[1] != 0

    def __exit__(self, *_: object) -> None:
        for copy, pid in self.running.items():
            copy.close()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

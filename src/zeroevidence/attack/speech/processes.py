"""Functions computed in processes of their own, for work that holds Python's lock.

A process is started with this Python and nothing of the program that calls it, so that a script needs no guard around
its main part. Arguments and results go through a pipe of `multiprocessing`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from zeroevidence.errors import ZeroEvidenceError
from zeroevidence.interruption import check_stop

Part = TypeVar("Part")
Result = TypeVar("Result")

_PROGRAM = "from zeroevidence.attack.speech.processes import serve; serve()"
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def in_processes(make: Callable[[], Callable[[Part], Result]]) -> Iterator[Callable[[Part], Result]]:
    """Context with a function that is computed in a process of each thread that calls it.

    Parameters
    ----------
    make
        Makes the function, in each process.
    """
    of_thread = threading.local()
    started: list[_Worker] = []

    def compute(part: Part) -> Result:
        check_stop()
        if not hasattr(of_thread, "worker"):
            of_thread.worker = _Worker(make)
            started.append(of_thread.worker)
        result: Result = of_thread.worker(part)
        return result

    try:
        yield compute
    finally:
        for worker in started:
            worker.close()


class _Worker:
    """A process that computes a function."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(_ONE_THREAD, "1")}
        self._pipe, other_end = multiprocessing.Pipe()
        with other_end:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(other_end.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard error: libraries may print
                env=environment,
                pass_fds=[other_end.fileno()],
            )
        self._send(make)

    def _send(self, value: Any) -> None:
        with suppress(OSError):  # of a process that has ended, which the next `recv` reports
            self._pipe.send(value)

    def __call__(self, part: Any) -> Any:
        """Return the result of the function, or raise what it raised."""
        self._send(part)
        try:
            result, error = self._pipe.recv()
        except (EOFError, OSError):
            code = self._process.wait()
            raise ZeroEvidenceError(f"a process that reads speech ended with code {code}; see above for why") from None
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.wait()


def serve() -> None:
    """Compute what comes through the pipe that the command line names, until it ends: the program of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    pipe: Connection = Connection(int(sys.argv[-1]))
    compute = pipe.recv()()
    while True:
        try:
            part = pipe.recv()
        except EOFError:
            return
        answer: tuple[Any, Exception | None]
        try:
            answer = compute(part), None
        except Exception as error:
            answer = None, _sendable(error)
        pipe.send(answer)


def _sendable(error: Exception) -> Exception:
    """Return an error, or its message where it cannot be sent."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:
        return ZeroEvidenceError(str(error))
    return error

"""Functions computed in processes of their own, for work that holds Python's lock.

A process is started with this Python and nothing of the program that calls it, so that a script needs no guard around
its main part. Arguments and results are pickled and go through pipes.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._send(make)

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the answer that does not come tells
            pickle.dump(value, self._process.stdin)
            self._process.stdin.flush()

    def __call__(self, part: Any) -> Any:
        """Return the result of the function, or raise what it raised."""
        assert self._process.stdout is not None
        self._send(part)
        try:
            result, error = pickle.load(self._process.stdout)
        except EOFError:
            code = self._process.wait()
            raise ZeroEvidenceError(f"a process that reads speech ended with code {code}; see above for why") from None
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        self._process.wait()


def serve() -> None:
    """Compute what comes from standard input, until it ends: the program of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    compute = pickle.load(incoming)()
    while True:
        try:
            part = pickle.load(incoming)
        except EOFError:
            return
        answer: tuple[Any, Exception | None]
        try:
            answer = compute(part), None
        except Exception as error:
            answer = None, _sendable(error)
        pickle.dump(answer, outgoing)
        outgoing.flush()


def _sendable(error: Exception) -> Exception:
    """Return an error, or its message where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ZeroEvidenceError(str(error))
    return error

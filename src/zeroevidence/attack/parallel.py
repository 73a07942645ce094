"""Functions computed side by side: by threads in batches, by processes, and by the workers of a cluster."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from zeroevidence.errors import ZeroEvidenceError, check_stop, obey, uninterrupted
from zeroevidence.optional import one_blas_thread, optional

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


def compute_ahead(
    compute: Callable[[Part], Result], parts: Iterable[Part], threads: int
) -> Generator[Result, None, None]:
    """Yield the result of a function for each part, in order, computed by threads before it is asked for.

    Only as many parts are in progress or waiting as there are threads, and one more. What they compute with NumPy stays
    on one core each inside `optional.one_blas_thread`. Closed before its end, or interrupted, it tells them to
    stop (`interruption.check_stop`) and waits for them.
    """
    stop = threading.Event()

    def begin_thread() -> None:
        one_blas_thread()  # a BLAS on OpenMP has a limit for each thread, which the threads of a pool do not inherit
        obey(stop)

    pool = ThreadPoolExecutor(threads, initializer=begin_thread)
    try:
        waiting: deque[Future[Result]] = deque()
        for part in parts:
            if len(waiting) > threads:
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


_ATTEMPTS = 3  # at a part whose worker was lost
_made: dict[str, Callable[[Any], Any]] = {}  # of a worker: the function that it works on
_lock = threading.Lock()


@contextmanager
def on_cluster(
    make: Callable[[], Callable[[Part], Result]], scheduler: Any
) -> Iterator[tuple[Callable[[Part], Result], int]]:
    """Context with a function that is computed by the workers of a cluster, and how many of its calls run at once.

    Parameters
    ----------
    make
        Makes the function, once in each worker.
    scheduler
        Address of the scheduler, or a client of it, which is left open.

    Raises
    ------
    ZeroEvidenceError
        Where the cluster cannot be reached, or has no workers.
    MissingExtra
        Without distributed.
    """
    distributed = optional("distributed", "cluster", "reading speech on a cluster")
    is_client = hasattr(scheduler, "submit")
    try:
        client = scheduler if is_client else distributed.Client(scheduler)
    except (OSError, ValueError) as error:
        raise ZeroEvidenceError(f"{scheduler}: the cluster cannot be reached: {error}") from None
    token = secrets.token_hex(8)

    def compute(part: Part) -> Result:
        check_stop()
        result: Result = client.submit(_compute, token, make, part, retries=_ATTEMPTS, pure=False).result()
        return result

    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ZeroEvidenceError(f"{scheduler}: the cluster has no workers; start some")
        yield compute, threads
    finally:
        if not is_client:
            client.close()


def _compute(token: str, make: Callable[[], Callable[[Part], Result]], part: Part) -> Result:
    """Return the result of a function: a task."""
    with _lock:
        if token not in _made:
            _made.clear()
            _made[token] = make()
        function = _made[token]
    result: Result = function(part)
    return result


_PROGRAM = "from zeroevidence.attack.parallel import serve; serve()"
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

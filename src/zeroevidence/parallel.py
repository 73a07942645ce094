"""Work divided among processes or threads of this machine, or the workers of a cluster, by joblib; or among copies.

Copies of this process have everything that it has imported and read already. By processes of joblib `compare` of six
files of 100 000 scores takes 1.6 times the processor time, and `report` 1.3.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from zeroevidence.errors import OutOfMemory, ZeroEvidenceError, check_stop, obey
from zeroevidence.optional import one_blas_thread, optional
from zeroevidence.run import Run

Part = TypeVar("Part")
Result = TypeVar("Result")
_ATTEMPTS = 3  # at a part whose worker of a cluster was lost
_GLANCE = 1.0  # seconds between two looks at whether the parent process lives
_LITTLE = 0.5  # seconds of work; a worker takes 0.6 s to start and as much again to import what it needs
_is_worker = _has_workers = False
_pool = threading.Lock()  # of the next number, and of the end of processes
_served = 0  # calls that processes work for


def compute_each(
    compute: Callable[[Part], Result],
    parts: Iterable[Part],
    run: Run = Run(),
    *,
    threads: bool = False,
    little: bool = False,
) -> Generator[Result, None, None]:
    """Yield the result of a function for each part, in order.

    Each worker computes with one thread. Closed before its end, or interrupted, it stops what is being computed: what a
    function must not lose it stores. Within a worker, and where one worker would do, everything is computed here.

    Parameters
    ----------
    compute
        The function. Processes get copies of it, whose arrays share memory and cannot be changed.
    parts
        What it is computed for.
    run
        How many workers there are, its scheduler where they are those of a cluster, and what is said.
    threads
        Whether threads serve, for functions that let go of Python's lock; processes start in about a second.
    little
        Whether it may be little work: processes are then started for what is left after half a second.

    Raises
    ------
    OutOfMemory
        Where a process was ended, as the system does when memory is short.

    Examples
    --------
    >>> list(compute_each(abs, [-2, -3], Run(cores=1)))
    [2, 3]
    """
    cluster = run.scheduler is not None
    alone = _is_worker or (not cluster and (run.workers == 1 or not _has_semaphores(run.say)))
    parts, begun = iter(parts), time.monotonic()
    if alone or (little and not cluster and not _has_workers):
        with one_blas_thread():
            for part in parts:
                check_stop()
                yield compute(part)
                if not alone and time.monotonic() - begun > _LITTLE:
                    break
    first = list(islice(parts, 1))
    if not first:
        return
    from concurrent.futures.process import BrokenProcessPool  # slow to import, too

    import joblib  # a tenth of a second

    stop = threading.Event()

    def compute_in_thread(part: Part) -> Result:
        obey(stop)
        check_stop()
        return compute_alone(part)

    def compute_alone(part: Part) -> Result:
        with one_blas_thread():
            return compute(part)

    work = compute_alone if cluster else compute_in_thread if threads else compute
    with _workers(run, threads=threads) as settings, joblib.parallel_config(**settings):
        parallel = joblib.Parallel(return_as="generator", batch_size=1)
        with _interrupts_later():
            results = parallel(joblib.delayed(work)(part) for part in chain(first, parts))
        try:
            for result in results:
                check_stop()
                yield result
        except BrokenProcessPool:
            raise OutOfMemory("a process was ended; fewer workers need less memory (--workers)") from None
        finally:
            stop.set()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # says that results are not waited for
                results.close()


def compute_beside(*tasks: Callable[[], Any]) -> list[Any]:
    """Return the results of a few functions that let go of Python's lock: the first runs here, each other in a thread.

    The threads are plain ones, because to import joblib takes longer than a small command may. Where the first function
    fails, or is interrupted, the others end at their next step.
    """
    stop = threading.Event()

    def begin(task: Callable[[], Any]) -> Any:
        obey(stop)
        return task()

    with ThreadPoolExecutor(max(1, len(tasks) - 1)) as threads:
        others = [threads.submit(copy_context().run, begin, task) for task in tasks[1:]]
        try:
            return [tasks[0](), *(other.result() for other in others)]
        except BaseException:
            stop.set()
            raise


def end_workers() -> None:
    """End processes that wait for work, with all that they hold; the next call starts others, in about a second."""
    global _has_workers
    with _pool:
        if not _has_workers or _served:
            return
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
        _has_workers = False


@contextmanager
def _workers(run: Run, *, threads: bool) -> Iterator[dict[str, Any]]:
    """Provide the settings of joblib; a cluster is left at the end unless its client was given."""
    global _has_workers, _served
    if run.scheduler is None:
        if threads:
            yield {"backend": "threading", "n_jobs": run.workers}
            return
        from zeroevidence.guard import mark_workers  # imports modules that small commands do without

        mark_workers()
        _let_managers_end()
        with _pool:
            _has_workers, _served = True, _served + 1  # they stay, and serve the next call at once
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")  # another takes its place
        begin = {"initializer": begin_worker, "initargs": (os.getpid(), Path.cwd(), _temporary_folder())}
        try:
            yield {"backend": "loky", "n_jobs": run.workers, "inner_max_num_threads": 1, **begin}
        finally:
            with _pool:
                _served -= 1
        return
    distributed = optional("distributed", "cluster", "a cluster")
    is_client = hasattr(run.scheduler, "submit")
    try:
        client: Any = run.scheduler if is_client else distributed.Client(run.scheduler)
    except (OSError, ValueError) as error:
        raise ZeroEvidenceError(f"{run.scheduler}: the cluster cannot be reached: {error}") from None
    try:
        if not client.nthreads():
            raise ZeroEvidenceError(f"{run.scheduler}: the cluster has no workers; start some")
        yield {"backend": "dask", "client": client, "n_jobs": -1, "retries": _ATTEMPTS, "pure": False}
    finally:
        if not is_client:
            client.close()


@cache
def _temporary_folder() -> str:
    """Make the folder of workers' temporary files, which ends with this process: who kills a worker keeps no speech."""
    folder = tempfile.mkdtemp(prefix="zeroevidence-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _let_managers_end() -> None:
    """Print nothing when the thread that manages workers ends while it looks for work that was dropped meanwhile."""
    before = threading.excepthook

    def handle(raised: threading.ExceptHookArgs) -> None:
        thread = "" if raised.thread is None else raised.thread.name
        if not (thread == "ExecutorManagerThread" and issubclass(raised.exc_type, KeyError)):
            before(raised)

    threading.excepthook = handle


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep interrupts back while processes start: they inherit it, and would end in tracebacks while they import."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker(parent: int, folder: Path | None = None, temporary: str | None = None) -> None:
    """Prepare a process: it ends soon after its parent, which alone hears of interrupts."""
    global _is_worker
    _is_worker = True
    if folder is not None:
        with suppress(FileNotFoundError):  # one that is gone holds nothing that is still to be done
            os.chdir(folder)  # where the parent has another by now, workers begin anew
        from joblib.externals.loky import process_executor

        # A worker that has grown by 300 MB would end; ours load encoders and networks, which they keep.
        process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize
    tempfile.tempdir = temporary or tempfile.tempdir
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_outlive_no_parent, args=(parent, temporary), daemon=True).start()


def _outlive_no_parent(parent: int, temporary: str | None) -> None:
    while os.getppid() == parent:
        time.sleep(_GLANCE)
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(1)


@cache
def _has_semaphores(say: Callable[[str], None]) -> bool:
    """Return whether there is what processes wait with, and joblib's threads too; a sandbox may lack it."""
    try:
        import multiprocessing

        multiprocessing.get_context("spawn").Semaphore()
    except (ImportError, OSError):
        say("note: no semaphores here (no /dev/shm?), so all is computed one by one")
        return False
    return True


_LOTS = 256  # of parts, of which the next copy that has time takes the next; each is a byte in a pipe


def compute_in_copies(
    compute: Callable[[Any], Any], parts: Iterable[Any], run: Run = Run(), meanwhile: Callable[[], object] | None = None
) -> Iterable[Any]:
    """Return the results of a function for each part as `map` does, with whose errors: what copies leave is done here.

    `meanwhile` is what to do here while they work. There are none where one worker or part is all there is.
    """
    listed = list(parts)
    if run.workers == 1 or len(listed) + (meanwhile is not None) < 2 or not can_copy():
        return map(compute, listed)
    lots, entry = os.pipe()
    os.write(entry, bytes(range(min(_LOTS, len(listed)))))
    os.close(entry)

    def compute_lots() -> dict[int, Any]:
        results = dict[int, Any]()
        with suppress(Exception):
            while lot := os.read(lots, 1):
                results |= {number: compute(listed[number]) for number in range(lot[0], len(listed), _LOTS)}
        return results

    copies, results = [_start_copy(compute_lots) for _ in range(min(run.workers, len(listed)))], dict[int, Any]()
    try:
        if meanwhile is not None:
            meanwhile()
        for _, stream in copies:
            with suppress(EOFError, OSError):  # it was killed
                results |= stream.recv()
    finally:
        os.close(lots)
        for process, stream in copies:
            stream.close()
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return (results[number] if number in results else compute(part) for number, part in enumerate(listed))


def can_copy() -> bool:
    """Return whether copies would work: threads, as polars starts, are not copied, and locks that they hold stay."""
    has_threads = threading.active_count() > 1 or any(name.startswith("polars.") for name in sys.modules)
    return sys.platform == "linux" and not has_threads


def _start_copy(work: Callable[[], object]) -> tuple[int, Any]:
    """Return the id of a copy, and the stream of its result."""
    from multiprocessing.connection import Pipe  # which a sandbox may lack, too

    parent, (source, sink) = os.getpid(), Pipe(duplex=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads of NumPy, which prepare for it
        process = os.fork()
    if process == 0:
        try:
            begin_worker(parent)
            sink.send(work())
        finally:
            os._exit(0)
    sink.close()
    return process, source

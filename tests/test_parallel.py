"""Work divided among processes and threads: the same results, in order, errors and ends as of one process."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

from tests.waiting import wait_until
from zeroevidence.errors import InputError, MissingExtra, OutOfMemory
from zeroevidence.parallel import _let_managers_end, compute_beside, compute_each, end_workers
from zeroevidence.run import Run

TWO = Run(cores=2)


def _refuse_third(number: int) -> int:
    if number == 3:
        raise InputError("is the third", path="numbers", line=3)
    return number


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("cores", [1, 2, 3])
def test_results_are_in_order(cores: int, threads: bool) -> None:
    squares = compute_each(lambda number: number**2, range(20), Run(cores=cores), threads=threads)
    assert list(squares) == [number**2 for number in range(20)]


def test_processes_compute_and_share_arrays() -> None:
    large = np.arange(300_000.0)
    results = list(compute_each(lambda at: (os.getpid(), large[at], large.flags.writeable), range(8), TWO))
    assert [value for _, value, _ in results] == list(range(8))
    assert os.getpid() not in {process for process, _, _ in results}
    assert not any(writeable for _, _, writeable in results)


def test_workers_end_where_nobody_waits_for_them() -> None:
    def processes() -> set[int]:
        return set(compute_each(lambda _: os.getpid(), range(4), TWO))

    before = processes()
    unfinished = compute_each(lambda number: number, range(50), TWO)
    assert next(unfinished) == 0
    end_workers()
    assert list(unfinished) == list(range(1, 50))
    end_workers()
    assert not before & processes()


def test_workers_start_no_workers() -> None:
    def processes(_: int) -> set[int]:
        return {os.getpid(), *compute_each(lambda _: os.getpid(), range(3), TWO)}

    assert all(len(nested) == 1 for nested in compute_each(processes, [0, 1], TWO))


@pytest.mark.parametrize("threads", [False, True])
def test_errors_arrive_whole(threads: bool) -> None:
    with pytest.raises(InputError, match=r"^numbers:3: is the third$") as error:
        list(compute_each(_refuse_third, range(8), TWO, threads=threads))
    assert (error.value.line, error.value.exit_code) == (3, 3)


def test_an_error_with_other_arguments_arrives() -> None:
    def fail(_: int) -> None:
        raise MissingExtra("speech", "hearing")

    with pytest.raises(MissingExtra, match="zeroevidence"):
        list(compute_each(fail, range(4), TWO))


def test_a_killed_worker_is_reported() -> None:
    with pytest.raises(OutOfMemory, match="a process was ended"):
        list(compute_each(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(4), TWO))
    assert list(compute_each(abs, [-1, -2], TWO)) == [1, 2]


def test_closed_early_it_is_silent(recwarn: pytest.WarningsRecorder) -> None:
    results = compute_each(lambda number: time.sleep(0.01) or number, range(100), TWO)
    assert next(results) == 0
    results.close()
    assert not [warning for warning in recwarn if "joblib" in str(warning.filename)]


def test_without_semaphores_the_process_itself_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no semaphores")

    said: list[str] = []
    for name in ("Semaphore", "Lock"):
        monkeypatch.setattr(f"multiprocessing.context.BaseContext.{name}", refuse)
    run = Run(cores=2, say=said.append)
    for threads in (False, True):
        assert set(compute_each(lambda _: os.getpid(), range(3), run, threads=threads)) == {os.getpid()}
    assert len(said) == 1
    assert "semaphores" in said[0]


def test_functions_beside_each_other_run_in_threads_of_one_process() -> None:
    def refuse() -> None:
        raise InputError("is refused", path="numbers")

    here, *others = compute_beside(*[lambda: (os.getpid(), threading.get_ident())] * 3)
    assert here == (os.getpid(), threading.get_ident())
    assert {process for process, _ in others} == {os.getpid()}
    assert threading.get_ident() not in {thread for _, thread in others}
    with pytest.raises(InputError, match="is refused"):
        compute_beside(int, refuse)


def test_functions_beside_each_other_share_processes() -> None:
    def squares(first: int) -> list[int]:
        return list(compute_each(lambda number: number**2, range(first, first + 20), TWO))

    here, there = compute_beside(lambda: squares(0), lambda: squares(100))
    assert here == [number**2 for number in range(20)]
    assert there == [number**2 for number in range(100, 120)]


def test_where_the_first_function_fails_the_others_end_at_their_next_step() -> None:
    begun, ended = threading.Event(), []

    def slow() -> None:
        for _ in compute_each(lambda _: time.sleep(0.01), range(3000), TWO):
            begun.set()
        ended.append(True)

    def refuse() -> None:
        begun.wait()
        raise InputError("is refused", path="numbers")

    with pytest.raises(InputError, match="is refused"):
        compute_beside(refuse, slow)
    assert not ended


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are listed by /proc")
@pytest.mark.skipif(joblib.__version__ < "1.6", reason="before 1.6 joblib lets interrupts through while workers start")
def test_an_interrupt_while_workers_start_is_silent() -> None:
    script = (
        "import time\n"
        "from zeroevidence.parallel import compute_each\n"
        "from zeroevidence.run import Run\n"
        "try:\n"
        "    list(compute_each(lambda _: time.sleep(60), range(4), Run(cores=2)))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    wait_until(lambda: len(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()) >= 2, 60.0)
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output == b"interrupted\n"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are listed by /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_and_their_temporary_files_end_with_the_parent(tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import os, sys, tempfile, time\n"
        "from zeroevidence.parallel import compute_each\n"
        "from zeroevidence.run import Run\n"
        "def work(_):\n"
        "    tempfile.mkdtemp(prefix='zeroevidence-')\n"
        "    print(os.getpid(), flush=True, file=open(sys.argv[1], 'a'))\n"
        "    time.sleep(60)\n"
        "list(compute_each(work, range(4), Run(cores=2)))\n"
    )
    listed = tmp_path / "processes"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", script, str(listed)], stderr=subprocess.DEVNULL, env=environment)
    wait_until(lambda: listed.exists() and len(listed.read_text().split()) >= 2)
    assert list(tmp_path.rglob("zeroevidence-*"))
    parent.send_signal(number)
    parent.wait()
    workers = [Path(f"/proc/{worker}/stat") for worker in listed.read_text().split()]
    wait_until(lambda: not any(map(Path.exists, workers)) and not [*tmp_path.glob("zeroevidence-*")], 5.0)


@pytest.mark.parametrize(("name", "printed"), [("ExecutorManagerThread", False), ("another", True)])
def test_a_manager_of_workers_may_end_without_the_work_that_was_dropped(monkeypatch, name, printed):
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    _let_managers_end.__wrapped__()
    thread = threading.Thread(target={}.__getitem__, args=(142,), name=name)
    thread.start()
    thread.join()
    assert bool(raised) is printed

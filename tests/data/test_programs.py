"""Programs end when the work is no longer wanted, and when the process that started them is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.waiting import is_running, wait_until
from zeroevidence.data.programs import fill_in, run_program
from zeroevidence.errors import Interrupted, interruptible
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run


def test_names_of_files_are_filled_in_once():
    files = {"{input}": Path("/tmp/{output}/a b"), "{output}": Path("/tmp/{input}")}
    filled = fill_in(["{input}", "{input}", "-o{output}:{output}", "{wav}"], files)
    assert filled == ["{input}", "/tmp/{output}/a b", "-o/tmp/{input}:/tmp/{input}", "{wav}"]


def test_the_exit_status_and_the_time(tmp_path):
    with (tmp_path / "errors").open("wb") as errors:
        assert run_program([sys.executable, "-c", "raise SystemExit(7)"], errors, 600.0) == 7
        with pytest.raises(subprocess.TimeoutExpired):
            run_program([sys.executable, "-c", "import time; time.sleep(3600)"], errors, 0.3)


def test_threads_that_are_left_end_their_programs_and_start_no_more(tmp_path):
    started, ended = threading.Semaphore(0), []

    def compute(batch):
        for place in batch:
            with (tmp_path / f"errors{place}").open("wb") as errors:
                started.release()
                try:
                    run_program([sys.executable, "-c", "import time; time.sleep(3600)"], errors, 7200.0)
                except KeyboardInterrupt:
                    ended.append(place)
                    raise

    batches = [[first, first + 1] for first in range(0, 12, 2)]

    def interrupt():
        for _ in range(2):
            assert started.acquire(timeout=600.0)
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(Interrupted), interruptible():
        next(compute_each(compute, batches, Run(cores=2), threads=True))
    helper.join()
    wait_until(lambda: len(ended) == 2, 60.0)
    assert sorted(ended) == [0, 2]  # the first of each batch


STARTS = """
import sys
from zeroevidence.data.programs import run_program
with open(sys.argv[1], "wb") as errors:
    run_program(["/bin/sh", "-c", sys.argv[2]], errors, 7200.0)
"""
shows_environments = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no environments in /proc")


def starting(file, script):
    return subprocess.Popen([sys.executable, "-c", STARTS, file, script])


@shows_environments
def test_a_killed_process_takes_its_programs_with_it_and_whatever_they_started(tmp_path):
    file = tmp_path / "processes"
    file.touch()
    process = starting(file, "sleep 3599 & echo $! >&2; setsid sleep 3598 & echo $! >&2; sleep 3597")
    wait_until(lambda: process.poll() is not None or len(file.read_text().split()) == 2)
    assert process.poll() is None
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(is_running, file.read_text().split())), 5.0)


@shows_environments
def test_what_a_finished_program_has_left_running_stays(tmp_path):
    assert starting(tmp_path / "process", "sleep 3596 & echo $! >&2").wait() == 0
    process = int((tmp_path / "process").read_text())
    time.sleep(0.3)
    assert is_running(process)
    os.kill(process, signal.SIGKILL)

"""Programs that run in threads end when the work is no longer wanted."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from zeroevidence.attack.parallel import in_batches
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.programs import fill_in, run_program
from zeroevidence.errors import Interrupted, interruptible


def test_names_of_files_are_filled_in_once():
    files = {"{input}": Path("/tmp/{output}/a b"), "{output}": Path("/tmp/{input}")}
    assert fill_in(["{input}", "{input}", "-o{output}:{output}", "{wav}"], files) == [
        "{input}",
        "/tmp/{output}/a b",
        "-o/tmp/{input}:/tmp/{input}",
        "{wav}",
    ]


def test_the_exit_status_and_the_time(tmp_path):
    with (tmp_path / "errors").open("wb") as errors:
        assert run_program([sys.executable, "-c", "raise SystemExit(7)"], errors, 600.0) == 7
        with pytest.raises(subprocess.TimeoutExpired):
            run_program([sys.executable, "-c", "import time; time.sleep(3600)"], errors, 0.3)


def test_threads_that_are_left_end_their_programs_and_start_no_more(tmp_path):
    started, ended = threading.Semaphore(0), []

    def compute(batch):
        for place, _ in batch:
            with (tmp_path / f"errors{place}").open("wb") as errors:
                started.release()
                try:
                    run_program([sys.executable, "-c", "import time; time.sleep(3600)"], errors, 7200.0)
                except KeyboardInterrupt:
                    ended.append(place)
                    raise

    utterances = [Utterance(str(i), "s", tmp_path / "missing") for i in range(12)]

    def interrupt():
        for _ in range(2):
            assert started.acquire(timeout=600.0)
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(Interrupted), interruptible():
        next(in_batches(compute, utterances, 2, 2))
    helper.join()
    assert sorted(ended) == [0, 2]  # the first of each batch

"""Workers of extraction: so many threads compute at a time, and no more."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from zeroevidence.attack.extractors.extract import extract
from zeroevidence.run import Run

pytest.importorskip("soundfile")


class Watcher:
    """An encoder that notes how many of its calls run at once, and how many threads BLAS may use meanwhile."""

    name, sample_rate, dim, fingerprint = "watcher", 16000, 1, "watcher:1"

    def __init__(self, workers=1):
        self.together = threading.Barrier(workers, timeout=600)  # goes on when so many calls run at once
        self.lock, self.running, self.most, self.blas = threading.Lock(), 0, 0, set()

    def embed(self, waves):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.blas |= _blas()
        self.together.wait()
        with self.lock:
            self.running -= 1
        return np.ones((len(waves), 1), np.float32)


def _blas():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def utterances(recordings):
    return recordings([8000] * 12)


@pytest.mark.parametrize("workers", [1, 3])
def test_no_more_threads_than_workers(utterances, workers):
    with threadpool_limits(2, user_api="blas"):
        before = _blas()
        assert before == {2}
        watcher = Watcher(workers)
        extract(utterances, watcher, batch=1, run=Run(cores=workers))
        assert _blas() == before
    assert watcher.most == workers
    assert watcher.blas == {1}

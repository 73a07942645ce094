"""Commands under a limit on their addresses: they end by themselves, with a result or in one line."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.cli import lazy

LEAST = lazy._LIBRARIES + lazy._PER_CORE * (os.cpu_count() or 1)


@pytest.fixture
def link(tmp_path):
    rng = np.random.default_rng(0)
    names = np.array([f"p{i:05d}" for i in range(2000)])
    for side in ("enrol", "trial"):
        np.savez(tmp_path / f"{side}.npz", vectors=rng.normal(size=(2000, 16)), utterance=names, speaker=names)

    def run(limit):
        command = [sys.executable, "-m", "zeroevidence", "link", "--enrol", "enrol.npz", "--trial", "trial.npz"]
        return subprocess.run(
            [*command, "--weight", "3", "--engine", "numpy", "-o", "out"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            check=False,
        )

    return run


def test_too_little_for_the_libraries_is_said_before_they_are_imported(link):
    done = link(LEAST - 1)
    said = f"{(LEAST - 1) // 10**6} MB of addresses are allowed (ulimit -v); expected {LEAST // 10**6} MB"
    assert (done.returncode, done.stderr) == (5, f"out of memory; {said}\n")


@pytest.mark.parametrize("more", [0, pytest.param(60_000_000, marks=slow), pytest.param(120_000_000, marks=slow)])
def test_a_search_with_hardly_enough_ends_by_itself(link, more):
    done = link(LEAST + more)
    assert done.returncode in (0, 5), done.stderr
    if done.returncode == 5:
        assert "of addresses are allowed (ulimit -v); expected about" in done.stderr.splitlines()[-1]

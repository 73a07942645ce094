"""Commands under a limit on their addresses: they end by themselves, with a result or in one line."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.cli import address_space
from zeroevidence.errors import OutOfMemory

LEAST = address_space._LIBRARIES + address_space._OF_CORE * (os.cpu_count() or 1)


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


@pytest.mark.parametrize("limit", [LEAST // 4, pytest.param(LEAST - 1, marks=slow)])
def test_too_little_for_the_libraries_is_said_before_they_are_imported(link, limit):
    done = link(limit)
    said = f"{limit // 10**6} MB of addresses are allowed (ulimit -v); expected {LEAST // 10**6} MB"
    assert (done.returncode, done.stderr) == (5, f"out of memory; {said}\n")


@pytest.mark.parametrize("more", [0, pytest.param(60_000_000, marks=slow), pytest.param(120_000_000, marks=slow)])
def test_a_search_with_hardly_enough_ends_by_itself(link, more):
    done = link(LEAST + more)
    assert done.returncode in (0, 5), done.stderr
    if done.returncode == 5:
        *_, announcement, message = done.stderr.splitlines()
        assert "of memory, about" in announcement
        assert message.startswith("out of memory; ")
        assert "of addresses are allowed (ulimit -v); expected about" in message


def test_a_search_with_enough_goes_to_its_end(link, tmp_path):
    done = link(2 * LEAST)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "result.json").is_file()


def test_without_a_limit_nothing_is_asked_for(monkeypatch):
    monkeypatch.setattr(address_space, "_LIBRARIES", 1 << 60)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    address_space.fit_address_space()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 40,) * 2)
    with pytest.raises(OutOfMemory):
        address_space.fit_address_space()

"""The memory that a search announces is about that of the process."""

import pytest

from benchmarks.link_memory import announced, run, write_vectors
from zeroevidence.linkage.estimate import present_memory


@pytest.mark.skipif(not present_memory(), reason="the system does not say how much memory a process holds")
def test_announced_memory_is_taken(tmp_path):
    write_vectors(tmp_path, 4000, 32)
    arguments = ["link", "--enrol", "enrol.npz", "--trial", "trial.npz", "--weight", "3", "--threads", "2"]
    ended = run(tmp_path, [*arguments, "--engine", "numpy", "-o", "out"])
    assert ended["code"] == 0, ended["said"]
    assert 0.5 * announced(ended["said"]) < ended["peak"] < 1.2 * announced(ended["said"])

"""What a search announces: its memory is about that of the process, and numbers are written as people do."""

import pytest

from benchmarks.link_memory import announced, run, write_vectors
from zeroevidence.linkage.estimate import CostEstimate, present_memory


@pytest.mark.skipif(not present_memory(), reason="the system does not say how much memory a process holds")
def test_announced_memory_is_taken(tmp_path):
    write_vectors(tmp_path, 4000, 32)
    arguments = ["link", "--enrol", "enrol.npz", "--trial", "trial.npz", "--weight", "3", "--threads", "2"]
    ended = run(tmp_path, [*arguments, "--engine", "numpy", "-o", "out"])
    assert ended["code"] == 0, ended["said"]
    assert 0.5 * announced(ended["said"]) < ended["peak"] < 1.2 * announced(ended["said"])


@pytest.mark.parametrize(
    ("pairs", "written"),
    [(4800, "4 800"), (999_499_999, "999 million"), (999_500_000, "1 billion"), (12 * 10**15, "12000 trillion")],
)
def test_numbers_have_no_exponent(pairs, written):
    assert str(CostEstimate(pairs, 999_700_000, 1.0)).startswith(f"{written} pairs, about 1 GB of memory, about ")

"""A score file that is read in several blocks takes a few times the memory of its arrays."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
MOST = 4.0  # times the arrays
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_memory_of_a_large_file():
    spec = importlib.util.spec_from_file_location("big_file", BENCHMARKS / "big_file.py")
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["big_file"] = module
    spec.loader.exec_module(module)
    small, large = (module.compared(size, 200) for size in (5_000_000, 150_000_000))
    # the first tells what is there without any file
    for stage in ("reading", "evaluating"):
        taken = large[stage] - small[stage]
        assert taken < MOST * (large["arrays"] - small["arrays"]), (stage, taken, large["arrays"])

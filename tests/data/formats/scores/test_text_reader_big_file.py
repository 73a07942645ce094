"""A large score file takes a few times the memory of its arrays."""

import importlib.util
from pathlib import Path

import pytest

from tests.effort import slow

pytest.importorskip("resource")
SCRIPT = Path(__file__).parents[4] / "benchmarks" / "big_file.py"
MOST = 4.0  # times the arrays


@slow
def test_memory_of_a_large_file(tmp_path):
    spec = importlib.util.spec_from_file_location("big_file", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for name, size in (("small", 100_000_000), ("large", 300_000_000)):
        module.write_scores(tmp_path / name, size, 200)
        found.append(module.reading(tmp_path / name))
    small, large = found  # the first tells what is there for any file: buffers of polars, which grow up to this size
    assert large["peak"] - small["peak"] < MOST * (large["arrays"] - small["arrays"]), found

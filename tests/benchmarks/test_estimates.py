"""The benchmark of estimates: every design gives a line for each measure, and its rule is the one that is stated."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def estimates(monkeypatch):
    spec = importlib.util.spec_from_file_location("estimates", BENCHMARKS / "estimates.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "estimates", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "POPULATION", 50_000)
    monkeypatch.setattr(module, "SEARCHES", 20)
    return module


def test_every_design_has_a_line_for_each_measure(estimates):
    search = estimates.table(estimates.Design(12, 1.0, trials=2), 2, map)
    listed = estimates.table(estimates.Design(12, 1.0, trials=1, nontargets=3), 2, map)
    assert list(search) == list(estimates.CORRECTED)
    assert list(listed) == list(estimates.CORRECTED)[:-1]  # a list is no search
    for line in (*search.values(), *listed.values()):
        assert line["error of value"] >= abs(line["value"] - line["truth"]) - 1e-12
        assert line["error of corrected"] >= abs(line["corrected"] - line["truth"]) - 1e-12


@pytest.mark.parametrize(
    ("corrected", "error", "helps"), [(0.52, 0.09, True), (0.52, 0.11, False), (0.65, 0.09, False), (0.48, 0.09, True)]
)
def test_a_correction_helps_where_bias_and_error_fall(estimates, corrected, error, helps):
    line = {"truth": 0.5, "value": 0.6, "corrected": corrected, "error of value": 0.1, "error of corrected": error}
    assert estimates.helps(line) == helps

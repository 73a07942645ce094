"""The benchmark of estimates: every design gives a line for each measure, and its rule is the one that is stated."""

import pytest


def test_every_design_has_a_line_for_each_measure(load_benchmark, monkeypatch):
    estimates = load_benchmark("estimates")
    monkeypatch.setattr(estimates, "POPULATION", 50_000)
    monkeypatch.setattr(estimates, "SEARCHES", 20)
    lines = estimates.table(estimates.Design(12, 1.0, trials=2), 2, map)
    assert list(lines) == list(estimates.CORRECTED)
    for line in lines.values():
        assert line["error of value"] >= abs(line["value"] - line["truth"]) - 1e-12
        assert line["error of corrected"] >= abs(line["corrected"] - line["truth"]) - 1e-12


@pytest.mark.parametrize(
    ("corrected", "error", "helps"), [(0.52, 0.09, True), (0.52, 0.11, False), (0.65, 0.09, False)]
)
def test_a_correction_helps_where_bias_and_error_fall(load_benchmark, corrected, error, helps):
    line = {"truth": 0.5, "value": 0.6, "corrected": corrected, "error of value": 0.1, "error of corrected": error}
    assert load_benchmark("estimates").helps(line) == helps

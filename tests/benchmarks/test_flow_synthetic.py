"""The benchmark of protectors where the truth is known: the truth that it prints is true."""

import importlib.util
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from zeroevidence.measure.pairs.zebra import d_ece, evidence_gain

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "flow_synthetic.py"


@pytest.fixture
def benchmark(monkeypatch):
    spec = importlib.util.spec_from_file_location("flow_synthetic", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "flow_synthetic", module)
    spec.loader.exec_module(module)
    return module


class TruthPrintedError(Exception):
    """Ends the benchmark before protectors are assessed."""


def printed_truth(benchmark, monkeypatch, capsys, world):
    def stop(*_, **__):
        raise TruthPrintedError

    monkeypatch.setattr(benchmark, "PROTECTORS", {})
    monkeypatch.setattr(benchmark, "assess", stop)
    with pytest.raises(TruthPrintedError):
        benchmark.table(world, Namespace(people=3000, vectors=4, seed=0))
    (line,) = capsys.readouterr().out.splitlines()
    name, row, _, value = (cell.strip() for cell in line.split("|")[1:5])
    assert (name, row) == (world, "truth")
    return float(value)


def test_truth_of_bent_means_is_the_closed_form(benchmark, monkeypatch, capsys):
    """Means 3 deviations apart: LLRs have the means +-4.5 and the variance 9, and bending, one to one, keeps them."""

    def gain(llr):
        return stats.norm.pdf(llr, 4.5, 3.0) * float(evidence_gain(np.array([llr]))[0])

    expected = 2.0 * integrate.quad(gain, -60, 60, limit=400, points=[0])[0] / np.log(2)
    assert printed_truth(benchmark, monkeypatch, capsys, "bent") == pytest.approx(expected, abs=0.02)


def test_truth_of_spreads_is_that_of_many_people(benchmark, monkeypatch, capsys):
    classes, rng = benchmark.classes_of("spread"), np.random.default_rng(1)
    first, second = (
        classes.llr(mean + np.sqrt(variance) * rng.normal(size=(100_000, benchmark.DIMENSIONS)))
        for mean, variance in zip(classes.means, classes.variances, strict=True)
    )
    assert printed_truth(benchmark, monkeypatch, capsys, "spread") == pytest.approx(d_ece(second, first), abs=0.02)

"""The benchmark of protectors where the truth is known: the truth that it prints is true."""

from argparse import Namespace

import numpy as np
import pytest
from scipy import integrate, stats

from zeroevidence.measure.pairs.zebra import d_ece, evidence_gain


class TruthPrintedError(Exception):
    """Ends the benchmark before protectors are assessed."""


def bent(_benchmark):
    """Means 3 deviations apart: LLRs have the means +-4.5 and the variance 9, and bending, one to one, keeps them."""

    def gain(llr):
        return stats.norm.pdf(llr, 4.5, 3.0) * float(evidence_gain(np.array([llr]))[0])

    return 2.0 * integrate.quad(gain, -60, 60, limit=400, points=[0])[0] / np.log(2)


def spread(benchmark):
    """D_ECE of many people."""
    classes, rng = benchmark.classes_of("spread"), np.random.default_rng(1)
    first, second = (
        classes.llr(mean + np.sqrt(variance) * rng.normal(size=(100_000, benchmark.DIMENSIONS)))
        for mean, variance in zip(classes.means, classes.variances, strict=True)
    )
    return d_ece(second, first)


@pytest.mark.parametrize("world", [bent, spread])
def test_truth_is_that_of_the_world(load_benchmark, monkeypatch, capsys, world):
    def stop(*_, **__):
        raise TruthPrintedError

    benchmark = load_benchmark("flow_synthetic")
    monkeypatch.setattr(benchmark, "PROTECTORS", {})
    monkeypatch.setattr(benchmark, "assess", stop)
    with pytest.raises(TruthPrintedError):
        benchmark.table(world.__name__, Namespace(people=3000, vectors=4, seed=0))
    (line,) = capsys.readouterr().out.splitlines()
    assert float(line.split("|")[4]) == pytest.approx(world(benchmark), abs=0.02)

"""The benchmark of plans: generators have the truth that was promised, and a run that was stopped goes on."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from zeroevidence.calibrate.pav import rank
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.view import ScoreView

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "plan_promise.py"


@pytest.fixture
def promise(monkeypatch):
    spec = importlib.util.spec_from_file_location("plan_promise", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plan_promise", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("design", ["sessions", "lognormal", "halves", "exposed"])
def test_generators_have_the_true_value(promise, monkeypatch, design):
    """Of another draw of the population, and near it in recordings of many people."""
    monkeypatch.setattr(promise, "POPULATION", 40_000)
    stated = promise.PROMISES["eer"]
    strength = promise.strength_of(design, stated)
    target, nontarget = promise.GENERATORS[design].population(strength, 40_000, (9,))
    eer = MEASURES["eer"].compute(ScoreView(rank(target, nontarget)))
    assert eer == pytest.approx(stated.truth, abs=0.015)
    scores = promise.GENERATORS[design].matrix(strength, 150, (8,)).to_scores()
    assert MEASURES["eer"].compute(ScoreView(rank(scores.target, scores.nontarget))) == pytest.approx(eer, abs=0.06)


def test_a_promise_is_kept_on_its_side(promise):
    least, most = promise.PROMISES["eer"], promise.PROMISES["d_ece"]
    assert least.is_shown(0.28)
    assert not least.is_shown(0.26)
    assert most.is_shown(0.09)
    assert not most.is_shown(0.11)


def test_a_run_goes_on_where_it_was_stopped(promise, monkeypatch, tmp_path):
    plans = {"people": 12, "shown": 0.9}
    monkeypatch.setattr(promise, "asked", lambda *_: plans)
    path = tmp_path / "results.jsonl"
    text = promise.table(promise.Results(path), 2, 3, 1, designs=("own",))
    assert text.count("| own |") == 2
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["plan/d_ece", "kept/d_ece/own/12", "plan/eer", "kept/eer/own/12"]
    monkeypatch.setattr(promise, "is_kept", None)  # nothing is simulated again
    assert promise.table(promise.Results(path), 2, 3, 1, designs=("own",)) == text

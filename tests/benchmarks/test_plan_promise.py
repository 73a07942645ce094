"""The benchmark of plans: generators have the truth that was promised."""

import pytest

from zeroevidence.calibrate.pav import rank
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.linkability import ScoreView


@pytest.mark.parametrize("design", ["sessions", "lognormal", "halves", "exposed", "talkative"])
def test_generators_have_the_true_value(load_benchmark, monkeypatch, design):
    """Of another draw of the population, and near it in recordings of many people."""
    promise = load_benchmark("plan_promise")
    monkeypatch.setattr(promise, "POPULATION", 40_000)
    stated = promise.PROMISES["eer"]
    strength = promise.strength_of(design, stated)
    target, nontarget = promise.GENERATORS[design].population(strength, 40_000, (9,))
    eer = MEASURES["eer"].compute(ScoreView(rank(target, nontarget)))
    assert eer == pytest.approx(stated.truth, abs=0.015)
    scores = promise.GENERATORS[design].matrix(strength, 150, (8,)).to_scores()
    assert MEASURES["eer"].compute(ScoreView(rank(scores.target, scores.nontarget))) == pytest.approx(eer, abs=0.06)

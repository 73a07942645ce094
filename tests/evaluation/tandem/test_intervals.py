"""Which spreads of a tandem allow for other attacks, and by how much."""

import numpy as np
import pytest

from zeroevidence.data.scores import TandemScores, TrialScores
from zeroevidence.evaluation.tandem import ALL, tandem_spreads, trial_classes
from zeroevidence.measure.tandem.cost import CostModel, cm_eer
from zeroevidence.uncertainty.spread import estimate_spread

MODEL = CostModel.preset("2021")


def countermeasure(attacks, *, unlabelled=0):
    """Scores of a countermeasure that finds some attacks harder than others, and their labels."""
    rng = np.random.default_rng(1)
    attack = np.arange(800) % attacks
    names = np.array([f"A{i:02}" for i in attack])
    names[:unlabelled] = ""
    who = np.array([f"s{i}" for i in rng.integers(0, 20, 800)])
    spoof = TrialScores(rng.normal(0, 1, 800) + 2.0 * (attack % 2), speakers=who, attacks=names)
    return TandemScores(cm_bonafide=TrialScores(rng.normal(3, 1, 800), speakers=who), cm_spoof=spoof)


def spreads(scores):
    return tandem_spreads(trial_classes(scores)[0], (), MODEL, 200, 0)


@pytest.mark.parametrize(("attacks", "widened"), [(5, False), (6, True), (7, True)])
def test_six_attacks_are_the_fewest_that_stand_for_others(attacks, widened):
    assert spreads(countermeasure(attacks)).by_attack == widened


@pytest.mark.parametrize("unlabelled", [1, 800])
def test_every_spoof_must_say_how_it_was_made(unlabelled):
    assert not spreads(countermeasure(8, unlabelled=unlabelled)).by_attack


def test_the_spread_of_attacks_is_added_to_that_of_speakers():
    scores = countermeasure(6)
    found = spreads(scores).spreads[ALL]["cm_eer"]
    alone = spreads(countermeasure(6, unlabelled=1)).spreads[ALL]["cm_eer"]
    bonafide, spoof = scores.cm_bonafide.scores, scores.cm_spoof.scores
    without = np.array([cm_eer(bonafide, spoof[np.arange(800) % 6 != attack]) for attack in range(6)])
    attacks = estimate_spread(0.0, without, np.full(6, 1 / 6), 6.0)
    assert found.error == pytest.approx(np.hypot(alone.error, attacks.error))
    assert found.freedom == pytest.approx(alone.combine(attacks).freedom)
    assert found.people == 6.0


def test_spoofs_of_all_systems_must_say_how_they_were_made():
    rng = np.random.default_rng(2)
    scores = countermeasure(8)
    verifier = {f"asv_{kind}": TrialScores(rng.normal(size=90)) for kind in ("target", "nontarget", "spoof")}
    assert not spreads(TandemScores(**verifier, **scores.classes())).by_attack
    labelled = TrialScores(rng.normal(size=90), attacks=np.resize([f"A{i:02}" for i in range(8)], 90))
    assert spreads(TandemScores(**{**verifier, **scores.classes(), "asv_spoof": labelled})).by_attack

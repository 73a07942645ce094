"""Attackers that have a name, and their cards."""

import json
from dataclasses import replace

import pytest

from zeroevidence.attack.attackers import (
    ATTACKERS,
    RANDOM_VECTORS,
    UNPROTECTED_SPEECH,
    attacker_card,
    find_attacker,
    usual_attackers,
)
from zeroevidence.evaluation.rows.about import TrainingEffort

SPENT = TrainingEffort(30, development_people=10)
SETTING = {"backend": "plda", "extractors": {"ecapa": "original"}, "identities": 20, "spent": SPENT, "protocol": None}
MODELS = {"unprotected": UNPROTECTED_SPEECH, "random": RANDOM_VECTORS}
MODELS |= {name: one.threat for name, one in ATTACKERS.items()}
INFORMED = ["lazy-informed", "backend-informed", "backend-informed-adapter", "semi-informed"]


def test_attackers_calibrate_on_what_they_have():
    assert find_attacker("ignorant").development == ("original", "original")
    for name in INFORMED:
        assert find_attacker(name).development == ("anonymised", "anonymised")
    assert replace(find_attacker("ignorant"), calibration="matched").development == ("original", "anonymised")
    assert RANDOM_VECTORS.development == ("noise", "noise")


def test_an_audit_tries_what_needs_nothing_more():
    assert usual_attackers() == ["ignorant", "lazy-informed", "backend-informed", "semi-informed"]
    assert all(ATTACKERS[name].extra is None for name in usual_attackers())
    assert ATTACKERS["backend-informed-adapter"].extra == "torch"


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_cards_say_everything(model):
    card = attacker_card(model, **SETTING)
    values = card.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert all(values.values())
    assert str(model) in card.to_text()


@pytest.mark.parametrize("calibration", ["own", "matched"])
def test_only_the_informed_know_the_system(calibration):
    """Whatever the evaluation calibrates on: an audit matches the evaluated sides, which the ignorant cannot make."""
    own = calibration == "own"
    models = {name: model if own else replace(model, calibration="matched") for name, model in MODELS.items()}
    cards = {name: attacker_card(model, **SETTING).to_text() for name, model in models.items()}
    knows = [name for name, card in cards.items() if "Knowledge of the anonymisation system" in card]
    assert knows == [name for name, model in models.items() if model.knows_protection] == INFORMED
    assert [name for name, card in cards.items() if "No knowledge of the anonymisation" in card] == ["ignorant"]
    lent = [name for name, card in cards.items() if "which the evaluation has and the attacker has not" in card]
    assert lent == ([] if own else ["ignorant"])
    for side in ("enrolment", "trained_on", "extractor", "calibration"):
        assert replace(find_attacker("ignorant"), name="mine", **{side: "anonymised"}).knows_protection

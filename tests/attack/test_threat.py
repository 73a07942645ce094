"""Threat models and their cards."""

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from zeroevidence.attack.threat import (
    ATTACKERS,
    IGNORANT,
    LAZY_INFORMED,
    PLAIN,
    RANDOM,
    SEMI_INFORMED,
    SEMI_INFORMED_ADAPTER,
    ThreatModel,
    attacker_card,
    find_attacker,
)
from zeroevidence.errors import UsageError

SETTING = {"backend": "plda", "extractor": "ecapa", "identities": 20, "train_speakers": 30, "dev_speakers": 10}


def test_names_carry_the_tuple():
    assert str(PLAIN) == "unprotected (enrolment original, trained on original)"
    assert str(IGNORANT) == "ignorant (enrolment original, trained on original)"
    assert str(LAZY_INFORMED) == "lazy-informed (enrolment anonymised, trained on original)"
    assert str(SEMI_INFORMED) == "semi-informed (enrolment anonymised, trained on anonymised)"
    assert str(SEMI_INFORMED_ADAPTER).startswith("semi-informed (enrolment anonymised, adapter network")


def test_attackers_calibrate_on_what_they_have():
    assert IGNORANT.development == ("original", "original")
    assert LAZY_INFORMED.development == SEMI_INFORMED.development == ("anonymised", "anonymised")
    assert replace(IGNORANT, calibration="matched").development == ("original", "anonymised")
    assert RANDOM.development == ("noise", "noise")


@pytest.mark.parametrize("model", [PLAIN, RANDOM, *ATTACKERS.values()])
def test_cards_say_everything(model):
    card = attacker_card(model, **SETTING)
    values = card.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert all(values.values())
    text = card.to_text()
    assert all(word in text for word in ("objective", "opportunity", "resources", "trained on", "calibrated on"))
    assert str(model) in text
    with pytest.raises(FrozenInstanceError):
        card.name = "x"


def test_only_the_informed_know_the_system():
    def knows(model):
        return "Knowledge of the anonymisation system" in attacker_card(model, **SETTING).to_text()

    assert not knows(PLAIN)
    assert not knows(IGNORANT)
    assert knows(LAZY_INFORMED)
    assert "Computing power" not in attacker_card(LAZY_INFORMED, **SETTING).to_text()
    assert "Computing power to train the back-end" in attacker_card(SEMI_INFORMED, **SETTING).to_text()
    assert "adapter network" in attacker_card(SEMI_INFORMED_ADAPTER, **SETTING).to_text()


def test_errors():
    with pytest.raises(UsageError, match="unknown attacker"):
        find_attacker("informed")
    with pytest.raises(UsageError, match="enrolment"):
        ThreatModel("mine", "anon", "anonymised")
    with pytest.raises(UsageError, match="adapter"):
        replace(IGNORANT, adapter=True)
    assert find_attacker("ignorant") is find_attacker(IGNORANT)

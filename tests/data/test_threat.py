"""Threat models as tuples: what is compared, what was learned from, and what follows from the names."""

from dataclasses import replace
from itertools import product

import pytest

from zeroevidence.data.threat import ThreatModel, threat_from_sides
from zeroevidence.errors import UsageError

SIDES = ("original", "anonymised")
MEANINGS = {  # enrolment, trial, extractor, back-end
    ("original", "original", "original", "original"): "unprotected",
    ("original", "anonymised", "original", "original"): "ignorant",
    ("anonymised", "anonymised", "original", "original"): "lazy-informed",
    ("anonymised", "anonymised", "original", "anonymised"): "backend-informed",
    ("anonymised", "anonymised", "anonymised", "anonymised"): "semi-informed",
}
BACKEND_INFORMED = ThreatModel("backend-informed", "anonymised", "anonymised", trained_on="anonymised")


def test_the_sides_name_the_attacker():
    for sides in product(SIDES, repeat=3):
        model = threat_from_sides(*sides)
        assert (model.enrolment, model.trial, model.trained_on) == sides
        assert model.extractor == model.trained_on
        assert model.name == MEANINGS.get((*sides, sides[-1]), "other")
        assert model.is_bound == (model.name == "unprotected")
        assert model.is_named_attacker == (model.name in ("ignorant", "lazy-informed", "semi-informed"))


def test_training_may_be_unknown():
    models = {sides: threat_from_sides(*sides, None) for sides in product(SIDES, repeat=2)}
    assert {model.name for model in models.values()} == {"unprotected", "unknown"}
    assert models["original", "original"].is_bound
    assert not any(model.is_named_attacker for model in models.values())
    assert str(models["anonymised", "anonymised"]) == "unknown (enrolment anonymised, training unknown)"
    for name in set(MEANINGS.values()) - {"unprotected"}:
        with pytest.raises(UsageError, match="stands for"):
            ThreatModel(name, "anonymised", "anonymised", None, extractor=None)


def test_who_knows_more():
    models = [threat_from_sides(enrolment, "anonymised", trained) for enrolment, trained in product(SIDES, SIDES)]
    assert [model.knowledge for model in models] == [0, 2, 1, 3]
    assert BACKEND_INFORMED.knowledge == 2


def test_an_extractor_that_was_trained_on_original_speech_is_not_semi_informed():
    assert BACKEND_INFORMED.is_named_attacker
    words = "backend-informed (enrolment anonymised, extractor trained on original, back-end on anonymised)"
    assert str(BACKEND_INFORMED) == words
    assert threat_from_sides("anonymised", "anonymised", "anonymised").extractor == "anonymised"


@pytest.mark.parametrize("name", MEANINGS.values())
def test_one_name_has_one_meaning(name):
    """A name with any other sides or training than its own is refused."""
    (only,) = (sides for sides in product(SIDES, repeat=4) if MEANINGS.get(sides) == name)
    for sides in product(SIDES, repeat=4):
        enrolment, trial, extractor, trained_on = sides
        if sides == only:
            model = ThreatModel(name, enrolment, trial, trained_on, extractor=extractor)
            assert model.is_named_attacker == (name != "unprotected")
        else:
            with pytest.raises(UsageError, match=f"^'{name}' stands for {only[0]} enrolment, {only[1]} trials"):
                ThreatModel(name, enrolment, trial, trained_on, extractor=extractor)


def test_who_trains_an_extractor_has_the_means_of_who_does_not():
    semi_informed = threat_from_sides("anonymised", "anonymised", "anonymised")
    assert semi_informed.has_means_of(BACKEND_INFORMED)
    assert semi_informed.has_means_of(semi_informed)
    assert not BACKEND_INFORMED.has_means_of(semi_informed)
    assert not semi_informed.has_means_of(threat_from_sides("anonymised", "anonymised", "original"))
    assert not semi_informed.has_means_of(replace(BACKEND_INFORMED, calibration="anonymised"))


def test_bounds_are_no_attackers():
    noise = ThreatModel("random", "noise", "noise")
    assert noise.is_bound
    assert not noise.is_named_attacker


def test_development_speech():
    model = ThreatModel("mine", "original", "anonymised")
    assert model.development == ("original", "anonymised")
    assert replace(model, calibration="original").development == ("original", "original")
    assert replace(model, calibration="anonymised").development == ("anonymised", "anonymised")


@pytest.mark.parametrize("field", ["enrolment", "trial", "trained_on", "calibration", "extractor"])
def test_unknown_speech_is_refused_by_the_name_of_the_field(field):
    given = {"name": "mine", "enrolment": "original", "trial": "anonymised", field: "anon"}
    with pytest.raises(UsageError, match=f"^{field}: expected original, anonymised.*, got 'anon'"):
        ThreatModel(**given)


def test_an_adapter_needs_anonymised_speech_throughout():
    model = ThreatModel("mine", "anonymised", "anonymised", "anonymised", "anonymised", adapter=True)
    words = "mine (enrolment anonymised, adapter network, extractor trained on original, back-end on anonymised)"
    assert str(model) == words
    for field in ("enrolment", "trial", "trained_on", "calibration"):
        with pytest.raises(UsageError, match="adapter"):
            replace(model, **{field: "original"})

"""Threat models as tuples: what is compared, what was learned from, and what follows from the names."""

from dataclasses import replace
from itertools import product

import pytest

from zeroevidence.data.threat import ThreatModel, threat_from_sides
from zeroevidence.errors import UsageError

SIDES = ("original", "anonymised")


def test_the_sides_name_the_attacker():
    named = {
        ("original", "original", "original"): "unprotected",
        ("original", "anonymised", "original"): "ignorant",
        ("anonymised", "anonymised", "original"): "lazy-informed",
        ("anonymised", "anonymised", "anonymised"): "semi-informed",
    }
    for sides in product(SIDES, repeat=3):
        model = threat_from_sides(*sides)
        assert (model.enrolment, model.trial, model.trained_on) == sides
        assert model.name == named.get(sides, "other")
        assert model.is_bound == (model.name == "unprotected")
        assert model.is_named_attacker == (model.name in ("ignorant", "lazy-informed", "semi-informed"))


def test_who_knows_more():
    known = [
        threat_from_sides(enrolment, "anonymised", trained).knowledge for enrolment, trained in product(SIDES, SIDES)
    ]
    assert known == [0, 1, 1, 2]


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
    assert str(model) == "mine (enrolment anonymised, adapter network, trained on anonymised)"
    for field in ("enrolment", "trial", "trained_on", "calibration"):
        with pytest.raises(UsageError, match="adapter"):
            replace(model, **{field: "original"})

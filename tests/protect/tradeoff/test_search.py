"""The search within a limit: the strongest noise that keeps to it, what is given up, and what is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.protect import Transport, default_protector, load_model, save_model
from zeroevidence.protect.assessment.systems import protect
from zeroevidence.protect.assessment.verification import Verifier, verification
from zeroevidence.protect.fitting import DEFAULT_LIMIT, MANY_PEOPLE, default_candidates, fit, why_not_verified
from zeroevidence.protect.tradeoff.search import LEVELS, search
from zeroevidence.protect.tradeoff.strengths import Limit, cross_validation_roles
from zeroevidence.report.tables.protector_choice import choice_sentence, render_protector_choice


def voices(people=24, each=8, dimension=8, start=0, **attributes):
    """Vectors of people whose sex shows in the mean of one entry and in the spread of the others."""
    rng = np.random.default_rng(start)
    who = np.repeat(np.arange(people), each)
    sex = np.arange(people) % 2
    centres = 3.0 * rng.normal(size=(people, dimension)) * np.where(sex, 1.6, 0.8)[:, None]
    centres[:, 0] += 5.0 * sex
    vectors = centres[who] + rng.normal(size=(len(who), dimension))
    labels = {"sex": np.array(["f", "m"])[sex[who]], **{name: np.asarray(of)[who] for name, of in attributes.items()}}
    return Embeddings(vectors, np.arange(len(who)).astype(str), np.array([f"p{start + i}" for i in who]), labels)


@pytest.fixture(scope="module")
def data():
    return voices()


@pytest.fixture(scope="module")
def choice(data):
    return search(data, "sex", Limit.parse("eer=+5%"), {"classmeans": {}, "transport": {}})


def eer_at(data, kind, level, seed=0):
    """The mean EER of a protector at one level, fitted and noised anew in each fold."""
    eers = []
    for number, roles in enumerate(cross_validation_roles(data, "sex", seed=seed)):
        model = fit(roles.train, "sex", kind, parameters={"noise": level, "noise_seed": seed + number})
        both = Embeddings(*(np.concatenate([getattr(roles.attack, of), getattr(roles.test, of)]) for of in PARTS_OF))
        verifier = Verifier.of(roles.train, both)
        vectors = np.asarray(protect(verifier.people, model.protector).vectors)
        eers.append(verifier.rates(vectors, vectors)[0])
    return np.mean(eers)


PARTS_OF = ("vectors", "ids", "speakers")


def test_the_noise_is_the_strongest_within_the_budget(data, choice):
    bound = choice.unprotected.eer + 0.05
    chosen = choice.chosen
    assert choice.within
    assert choice.people == 24
    assert chosen.eer <= bound
    assert chosen.eer == pytest.approx(eer_at(data, chosen.protector, chosen.strength))
    louder = LEVELS[LEVELS.index(chosen.strength) + 1]
    assert eer_at(data, chosen.protector, louder) > bound


def test_the_protector_that_leaves_less_is_chosen(data, choice):
    alone = {kind: search(data, "sex", choice.limit, {kind: {}}).chosen for kind in ("classmeans", "transport")}
    left = {kind: point.d_ece + point.person_d_ece for kind, point in alone.items()}
    assert choice.chosen == alone[min(left, key=left.get)]
    assert choice.chosen.d_ece < choice.unprotected.d_ece


def test_the_mildest_noise_within_a_target(data, choice):
    target = Limit("d_ece", (choice.chosen.d_ece + choice.unprotected.d_ece) / 2.0)
    mild = search(data, "sex", target, {"transport": {}}).chosen
    assert mild.d_ece <= target.most
    assert mild.eer <= choice.chosen.eer


def test_where_no_protector_keeps_to_the_limit(data):
    impossible = Limit("eer", 0.0)
    with pytest.raises(InputError, match="no protector stays within eer=0%; the nearest is leace at strength 0"):
        search(data, "sex", impossible, {"leace": {}})
    nearest = search(data, "sex", impossible, {"leace": {}}, nearest=True)
    assert (nearest.within, nearest.chosen.strength) == (False, 0.0)
    assert "no protector stays within eer=0%; leace" in choice_sentence(nearest)


def test_other_attributes_are_reported(choice):
    rng = np.random.default_rng(1)
    ages = rng.integers(20, 60, 24)
    data = voices(age=ages.astype(str), accent=np.array(["n", "s"])[np.arange(24) // 2 % 2], town=["x"] * 24)
    vectors = np.array(data.vectors)
    vectors[:, 5] = 0.3 * np.repeat(ages, 8)
    aged = Embeddings(vectors, data.ids, data.speakers, data.attributes)
    kept = search(aged, "sex", choice.limit, {"classmeans": {}}).kept
    assert [(one.name, one.measure) for one in kept] == [("age", "correlation"), ("accent", "d_ece")]
    assert kept[0].unprotected > 0.8
    assert 0.3 < kept[0].protected < kept[0].unprotected  # noise blurs it
    text = render_protector_choice(replace(choice, kept=kept), "sex")
    assert "correlation of guesses with age" in text
    assert f"{kept[0].protected:.2f}" in text
    assert f"{100 * choice.chosen.top1:.1f} %" in text
    assert "kept: EER" in text
    assert "kept: top-1 of 12 people" in text  # half of the people are not fitted on


def test_a_saved_model_says_what_it_leaves_and_keeps(data, tmp_path):
    pytest.importorskip("safetensors")
    ages = np.random.default_rng(1).integers(20, 60, 24)
    aged = voices(age=ages.astype(str))
    model = fit(aged, "sex", "classmeans", limit="eer=+5%")
    save_model(model, tmp_path / "chosen")
    card = json.loads((tmp_path / "chosen" / "model.json").read_text())["choice"]
    assert (card["limit"], card["people"], card["searched"], card["within"]) == ("eer=+5%", 24, 12, True)
    for name in ("d_ece", "person_d_ece", "eer", "top1"):
        assert card["protected"][name] == pytest.approx(getattr(model.choice.chosen, name))
        assert card["unprotected"][name] == pytest.approx(getattr(model.choice.unprotected, name))
    assert [kept["name"] for kept in card["kept"]] == ["age"]
    assert load_model(tmp_path / "chosen").protector.noise == model.protector.noise
    save_model(fit(data, "sex", "leace"), tmp_path / "named")
    assert json.loads((tmp_path / "named" / "model.json").read_text())["choice"] is None


def test_a_number_within_a_budget():
    ages = np.random.default_rng(2).integers(20, 60, 24)
    data = voices(age=ages.astype(str))
    assert fit(data, "age", number=True).choice.limit == DEFAULT_LIMIT
    model = fit(data, "age", number=True, limit="eer=+20%")
    assert model.protector.kind == "conditional"
    assert model.protector.noise == model.choice.chosen.strength > 0.0
    assert model.choice.chosen.eer <= model.choice.unprotected.eer + 0.2
    with pytest.raises(UsageError, match="one protector, within a budget"):
        search(data, "age", Limit.parse("d_ece=0.1"), {"conditional": {}})


def test_the_default_is_within_one_point(data):
    model = fit(data, "sex")
    assert model.choice.limit == Limit.parse("eer=+1%")
    assert model.protector.kind == model.choice.chosen.protector
    assert model.protector.noise == model.choice.chosen.strength
    assert choice_sentence(model.choice).startswith("eer=+1%: ")
    transformer = default_protector().fit(data.vectors, data.attributes["sex"], speakers=data.speakers)
    assert transformer.choice_.chosen == model.choice.chosen
    quiet = [protector.set_params(noise=0.0) for protector in (transformer.protector_, model.protector)]
    np.testing.assert_array_equal(*(protector.transform(data.vectors) for protector in quiet))


def test_what_the_default_is_where_nobody_can_be_verified(data):
    unnamed = Embeddings(data.vectors, None, None, data.attributes)
    assert why_not_verified(unnamed, "sex") == "no people are named"
    model = fit(unnamed, "sex")
    assert (model.protector.kind, model.protector.noise, model.choice) == ("transport", 0.0, None)
    assert isinstance(default_protector().fit(data.vectors, data.attributes["sex"]).protector_, Transport)
    once = data.take(np.arange(len(data)) % 8 == 0)
    assert why_not_verified(once, "sex") == "most people have one vector"
    assert why_not_verified(voices(people=6), "sex") == "sex 'f' has fewer than 4 people"
    assert why_not_verified(data, "sex") is None
    with pytest.raises(UsageError, match="name the protector that the parameters are for"):
        fit(data, "sex", parameters={"epochs": 3})


def test_flows_are_tried_where_people_are_many(data):
    assert "flow" not in default_candidates(data, "sex")
    many = voices(people=MANY_PEOPLE, each=1)
    installed = find_spec("torch") is not None
    assert default_candidates(many, "sex").get("flow") == ({"covariances": "classes"} if installed else None)


def test_the_verifier_agrees_with_the_evaluation(data):
    roles = next(cross_validation_roles(data, "sex"))
    sides = {"attack": roles.attack, "test": roles.test}
    row = verification(roles.train, sides, Options(intervals=0, null=0), {})
    both = Embeddings(*(np.concatenate([getattr(side, of) for side in sides.values()]) for of in PARTS_OF))
    verifier = Verifier.of(roles.train, both)
    vectors = np.asarray(verifier.people.vectors)
    assert verifier.rates(vectors, vectors) == pytest.approx((float(row["eer"]), float(row["top1"])))

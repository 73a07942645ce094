"""The search within a limit: the strongest noise that keeps to it, what is given up, and what is kept."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from tests.effort import slow
from tests.protect.people import voices
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.protect import DefaultProtector, Transport, load_model, make_protector, save_model
from zeroevidence.protect.assessment.class_attacks import verification
from zeroevidence.protect.choice import LEVELS, expected_disclosure, search, split_people
from zeroevidence.protect.fitting import DEFAULT_LIMIT, FitOptions, fit, why_not_verified
from zeroevidence.protect.quick_attackers import Disclosure, held_out_attacks
from zeroevidence.protect.strengths import Limit
from zeroevidence.report.attributes import choice_sentence, render_protector_choice
from zeroevidence.run import Run

KINDS = ("leace", "transport")


@pytest.fixture(scope="module", autouse=True)
def quick_attackers_alone():
    """Attackers that take little time: how many there are is not what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        few = partial(held_out_attacks, names=("logistic", "qda"))
        patch.setattr("zeroevidence.protect.choice.held_out_attacks", few)
        yield


@pytest.fixture(scope="module")
def data():
    return voices()


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    return Run(cores=1, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def choice(data, cached):
    return search(data, "sex", Limit.parse("eer=+5%"), {kind: {} for kind in KINDS}, run=cached)


def test_what_was_fitted_before_an_interruption_is_not_fitted_again(data, choice, cached, monkeypatch):
    monkeypatch.setattr("zeroevidence.protect.choice.fit_protector", None)
    assert search(data, "sex", Limit.parse("eer=+5%"), {kind: {} for kind in KINDS}, run=cached) == choice


def eers_at(data, kind, level):
    """The mean EERs of a protector at one level, together and apart, fitted and noised anew in each fold."""
    eers = []
    sizes = make_protector(kind).sizes(24, 8)
    for number, fold in enumerate(split_people(data, "sex")):
        model = fit(fold.train, "sex", FitOptions(kind, {"noise": level, "noise_seed": number, **sizes}))
        eers.append([fold.verifier.rates(vectors, vectors)[0] for vectors in fold.release(model.protector)])
    return np.mean(eers, axis=0)


def test_splits_attack_everybody_twice_and_share_nobody(data):
    folds = split_people(data, "sex", seed=3)
    attacked = [name for fold in folds for name in set(fold.others.speakers)]
    assert sorted(attacked) == sorted(2 * [*set(data.speakers)])
    for fold in folds:
        assert [len(np.unique(side.speakers)) for side in (fold.train, fold.others)] == [12, 12]
        assert len(set(fold.train.speakers) | set(fold.others.speakers)) == 24
        assert all(set(side.attributes["sex"]) == {"f", "m"} for side in (fold.train, fold.others))
    vectors = np.asarray(fold.others.vectors)
    row = verification(fold.train, {"test": fold.others}, {}, Options(intervals=0, null=0), Run())
    assert fold.verifier.rates(vectors, vectors) == pytest.approx((float(row["eer"]), float(row["top1"])))
    with pytest.raises(InputError, match="expected at least 4"):
        split_people(voices(people=6), "sex")


def test_the_noise_is_the_strongest_within_the_budget(data, choice):
    bound, chosen = choice.unprotected.eer + 0.05, choice.chosen
    assert choice.within
    assert choice.people == 24
    assert max(chosen.eer, chosen.eer_apart) <= bound
    together, apart = eers_at(data, chosen.protector, chosen.strength)
    assert (chosen.eer, chosen.eer_apart) == pytest.approx((together, apart))
    assert apart > together  # noise of a person is another in another release
    assert max(eers_at(data, chosen.protector, LEVELS[LEVELS.index(chosen.strength) + 1])) > bound


@slow
def test_the_protector_that_leaves_less_is_chosen_and_the_mildest_within_a_target(data, choice):
    few = 6  # whom attackers learn from: those of many people know the sex after any of these protectors
    choice = search(data, "sex", choice.limit, {kind: {} for kind in KINDS}, attacker_people=few)
    alone = {kind: search(data, "sex", choice.limit, {kind: {}}, attacker_people=few).chosen for kind in KINDS}
    left = {kind: max(point.d_ece, point.person_d_ece) for kind, point in alone.items()}
    assert choice.chosen == alone[min(left, key=left.get)]
    assert choice.chosen.worse_d_ece < choice.unprotected.worse_d_ece
    target = Limit("d_ece", (choice.chosen.worse_d_ece + choice.unprotected.worse_d_ece) / 2.0)
    mild = search(data, "sex", target, {choice.chosen.protector: {}}, attacker_people=few).chosen
    assert mild.worse_d_ece <= target.most
    assert mild.worse_eer <= choice.chosen.worse_eer


def test_what_attackers_reach_is_a_line_over_the_logarithm_of_people():
    rng = np.random.default_rng(5)
    sizes = np.array([4.0, 8.0, 16.0])
    d_eces = 0.05 + 0.06 * np.log(sizes) + rng.normal(0.0, 0.01, (4, 2, 3))
    folds = [[Disclosure(n, *pair) for n, pair in zip(sizes, fold.T, strict=True)] for fold in d_eces]
    slopes = np.array([[np.polyfit(np.log(sizes), line, 1)[0] for line in fold] for fold in d_eces])
    values = d_eces[:, :, -1] + slopes * np.log(100 / 16)
    above = stats.t.ppf(0.9, 3) * values.std(axis=0, ddof=1) / 2.0
    expected = np.stack([values.mean(axis=0), values.mean(axis=0) + above], axis=1).ravel()
    assert expected_disclosure(folds, 100, 0.9) == pytest.approx(expected)
    falling = [[Disclosure(4, 0.4, 0.1), Disclosure(8, 0.3, 0.7)]] * 2
    expected = (0.3, 0.3, D_ECE_MAX, D_ECE_MAX)  # never less, at most all
    assert expected_disclosure(falling, 100, 0.9) == pytest.approx(expected)


def aged(seed):
    """Forty people of different ages, and two accents."""
    ages = np.random.default_rng(seed).permutation(np.arange(20, 60))
    accent = np.array(["n", "s"])[np.arange(40) // 2 % 2]
    data = voices(people=40, each=4, age=ages.astype(str), accent=accent, town=["x"] * 40)
    vectors = np.array(data.vectors)
    vectors[:, 5] = 0.5 * np.repeat(ages, 4)
    return Embeddings(vectors, data.ids, data.speakers, data.attributes)


def test_where_no_protector_keeps_to_the_limit():
    impossible, data = Limit("eer", 0.0), aged(seed=32)
    with pytest.raises(InputError, match="no protector stays within eer=0%; the nearest is leace at strength 0"):
        search(data, "sex", impossible, {"leace": {}})
    nearest = search(data, "sex", impossible, {"leace": {}}, nearest=True)
    assert (nearest.within, nearest.chosen.strength) == (False, 0.0)
    assert "no protector stays within eer=0%; leace" in choice_sentence(nearest)
    assert [kept.name for kept in nearest.kept] == ["accent"]  # some half has one person of a class of age


@slow
def test_other_attributes_are_reported_and_saved(choice, tmp_path):
    model = fit(aged(seed=0), "sex", FitOptions("leace", limit="eer=+5%"))
    age, accent = model.choice.kept
    assert (age.name, age.boundaries, accent.name, accent.boundaries) == ("age", (30.0, 40.0, 50.0), "accent", ())
    assert age.unprotected > 0.3
    assert age.protected < age.unprotected  # noise blurs it
    text = render_protector_choice(replace(choice, kept=model.choice.kept), "sex")
    assert "kept: D_ECE of age, 4 classes" in text
    assert f"{age.protected:.2f}" in text
    chosen = choice.chosen
    for shown in (chosen.d_ece_bound, chosen.person_d_ece, 100 * chosen.eer, 100 * chosen.eer_apart):
        assert f"{shown:.2f}" in text or f"{shown:.1f} %" in text
    assert "kept: top-1 of 12 people" in text  # half of the people are not fitted on
    pytest.importorskip("safetensors")
    save_model(model, tmp_path / "chosen")
    card = json.loads((tmp_path / "chosen" / "model.json").read_text())["choice"]
    assert (card["limit"], card["people"], card["searched"], card["within"]) == ("eer=+5%", 40, 20, True)
    for name in ("d_ece", "person_d_ece", "eer", "top1"):
        assert card["protected"][name] == pytest.approx(getattr(model.choice.chosen, name))
    assert [kept["boundaries"] for kept in card["kept"]] == [[30.0, 40.0, 50.0], []]
    assert load_model(tmp_path / "chosen").protector.noise == model.protector.noise > 0.0


def test_the_default_is_within_one_point(data):
    model = fit(data, "sex")
    assert model.choice.limit == DEFAULT_LIMIT == Limit.parse("eer=+1%")
    assert model.protector.kind == model.choice.chosen.protector
    assert model.protector.noise == model.choice.chosen.strength
    assert model.protector.noise_seed is None  # noise is drawn anew by whoever applies the model
    transformer = DefaultProtector().fit(data.vectors, data.attributes["sex"], speakers=data.speakers)
    assert transformer.choice_.chosen == model.choice.chosen
    quiet = [protector.set_params(noise=0.0) for protector in (transformer.protector_, model.protector)]
    np.testing.assert_array_equal(*(protector.transform(data.vectors) for protector in quiet))
    with pytest.raises(UsageError, match="neither a second attribute nor a preset"):
        FitOptions(keep="sex", limit="eer=+5%")


def test_what_the_default_is_where_nobody_can_be_verified(data):
    unnamed = Embeddings(data.vectors, None, None, data.attributes)
    assert why_not_verified(unnamed, "sex") == "no people are named"
    model = fit(unnamed, "sex")
    assert (model.protector.kind, model.protector.noise, model.choice) == ("transport", 0.0, None)
    assert isinstance(DefaultProtector().fit(data.vectors, data.attributes["sex"]).protector_, Transport)
    assert why_not_verified(data.take(np.arange(len(data)) % 8 == 0), "sex") == "most people have one vector"
    assert why_not_verified(voices(people=6), "sex") == "sex 'f' has fewer than 4 people"
    assert why_not_verified(data, "sex") is None
    with pytest.raises(UsageError, match="name the protector that the parameters are for"):
        FitOptions(parameters={"epochs": 3})

"""Strengths of protectors: cuts of people, the front, and the strength that a budget or a target asks for."""

from __future__ import annotations

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.finding.pareto import front_points, on_front
from zeroevidence.evaluation.reading.results import from_json, to_json
from zeroevidence.protect import Roles
from zeroevidence.protect.applying import protect_embeddings, read_rotation_key, rotate_back, write_rotation_key
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import fit
from zeroevidence.protect.tradeoff.quick_attackers import ATTACKERS, quick_attacks
from zeroevidence.protect.tradeoff.strengths import (
    Limit,
    Tradeoff,
    assess_strengths,
    choose_tradeoff,
    cross_validation_roles,
    fit_at_strengths,
    measure_tradeoffs,
    set_strength,
)
from zeroevidence.report.tables.pareto_front import render_pareto_front


def voices(people=24, each=8, dimension=8, start=0):
    """Vectors of people whose sex shows in the mean of one entry and in the spread of the others."""
    rng = np.random.default_rng(start)
    who = np.repeat(np.arange(people), each)
    sex = np.arange(people) % 2
    centres = 3.0 * rng.normal(size=(people, dimension)) * np.where(sex, 1.6, 0.8)[:, None]
    centres[:, 0] += 5.0 * sex
    vectors = centres[who] + rng.normal(size=(len(who), dimension))
    words = {"sex": np.array(["f", "m"])[sex[who]]}
    return Embeddings(vectors, np.arange(len(who)).astype(str), np.array([f"p{start + one}" for one in who]), words)


@pytest.fixture(scope="module")
def data():
    return voices()


@pytest.fixture(scope="module")
def measured(data):
    return measure_tradeoffs(data, "sex", ["classmeans", "transport"])


def test_every_protector_has_one_dial():
    for name in ATTRIBUTE_PROTECTORS:
        cls = ATTRIBUTE_PROTECTORS.find(name).cls
        assert cls.dial in ATTRIBUTE_PROTECTORS.find(name).parameters
        assert list(cls.strengths) == sorted(cls.strengths)
        assert len(cls.strengths) > 2


def test_cuts_test_everybody_once_and_share_nobody(data):
    found = list(cross_validation_roles(data, "sex", seed=3))
    tested = [set(one.test.speakers) for one in found]
    assert len(found) == 4
    assert sum(map(len, tested)) == len(set.union(*tested)) == 24
    for one in found:
        assert len(np.unique(one.train.speakers)) == 12
        assert all(set(part.attributes["sex"]) == {"f", "m"} for part in (one.train, one.attack, one.test))
    with pytest.raises(InputError, match="expected at least 4"):
        list(cross_validation_roles(voices(people=6), "sex"))


def test_more_strength_leaves_less_of_both(measured):
    for kind in ("classmeans", "transport"):
        own = [one for one in measured if one.protector == kind]
        assert own[0].d_ece > own[-1].d_ece
        assert own[0].eer < own[-1].eer
        assert own[0].top1 > own[-1].top1
        assert len(own[0].d_eces) == 4
    assert measured[0].protector == "unprotected"
    assert measured[0].d_ece > own[-1].d_ece


def test_the_choice_keeps_within_the_limit(measured):
    start = measured[0].eer
    for text in ("eer=+5%", f"eer={100 * start + 5}%"):
        best = choose_tradeoff(measured, Limit.parse(text))
        assert best.eer <= start + 0.05
        others = [one for one in measured[1:] if one.eer <= start + 0.05]
        assert best.d_ece == min(one.d_ece for one in others)
    middle = np.median([one.d_ece for one in measured])
    mild = choose_tradeoff(measured, Limit("d_ece", float(middle)))
    assert mild.d_ece <= middle
    assert mild.eer == min(one.eer for one in measured[1:] if one.d_ece <= middle)
    with pytest.raises(InputError, match=r"no protector stays within d_ece=0; the nearest is \w+ at strength"):
        choose_tradeoff([Tradeoff("means", 0.0, (0.5,), (0.1,), (0.9,))], Limit("d_ece", 0.0))
    with pytest.raises(UsageError, match="unprotected vectors are needed"):
        choose_tradeoff([Tradeoff("means", 0.0, (0.5,), (0.1,), (0.9,))], Limit.parse("eer=+1%"))


@pytest.mark.parametrize("text", ["eer", "eer=", "eer=x%", "top1=3", "eer=-1%", "d_ece=nan"])
def test_limits_that_cannot_be_read(text):
    with pytest.raises(UsageError, match=r"expected eer=2%, eer=\+1% or d_ece=0\.1"):
        Limit.parse(text)


def test_limits_are_written_as_they_are_read():
    for text in ("eer=2%", "eer=+0.5%", "d_ece=0.1"):
        assert str(Limit.parse(text)) == text


def test_points_that_nothing_beats():
    assert on_front([(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.5)]) == [True, True, False, True]
    assert on_front([(1.0, 1.0), (1.0, 1.0)]) == [True, True]


def test_a_fit_within_a_limit_has_the_strongest_noise_within_it(data, measured):
    model = fit(data, "sex", "transport", limit="eer=+5%")
    chosen = model.choice.chosen
    assert model.protector.noise == chosen.strength
    assert chosen.eer <= model.choice.unprotected.eer + 0.05
    assert model.choice.unprotected.eer == pytest.approx(measured[0].eer)
    assert model.protector.noise_seed is None  # noise is drawn anew by whoever applies the model
    assert model.trained_on["speakers"] == 24
    with pytest.raises(UsageError, match="neither a second attribute nor a preset"):
        fit(data, "sex", keep="sex", limit="eer=+5%")


def test_strength_without_fitting_again(data):
    fitted = fit_at_strengths("leace", data, "sex", strengths=(0.0, 2.0))
    quiet, loud = fitted[0.0], fitted[2.0]
    assert (quiet.noise, loud.noise) == (0.0, 2.0)
    assert quiet.noise_root_ is loud.noise_root_
    np.testing.assert_array_equal(set_strength(loud, 0.0).transform(data.vectors), quiet.transform(data.vectors))


def test_quick_attackers_see_second_moments():
    rng = np.random.default_rng(0)

    def part(start):
        sex = np.repeat([0, 1], 200)
        x = rng.normal(size=(400, 5)) * np.where(sex, 2.5, 1.0)[:, None]
        return Embeddings(x, None, [f"{start}{i}" for i in range(400)], {"sex": np.where(sex, "m", "f")})

    told = quick_attacks(part("a"), part("b"), "sex")
    assert set(told) == set(ATTACKERS)
    assert told["logistic"] < 0.1
    assert min(told["qda"], told["kernel"]) > 0.3


def spoken(start, noise=0.0, offset=0.0, spread=1.0, shift=0.0, people=60, each=12):
    """Vectors of people who differ by sex in their means (shift) or in how much their vectors differ (spread)."""
    rng = np.random.default_rng(start)
    who = np.repeat(np.arange(people), each)
    male = who % 2 == 1
    x = rng.normal(size=(people, 6))[who] + np.where(male, spread, 1.0)[:, None] * rng.normal(size=(len(who), 6))
    x[:, 0] += shift * male
    x += noise * rng.normal(size=x.shape) + offset * rng.normal(size=(people, 6))[who]
    return Embeddings(x, None, [f"{start}-{i}" for i in who], {"sex": np.where(male, "m", "f")})


def strongest(vectors, **how):
    return max(quick_attacks(spoken(1, **how), spoken(2, **how), "sex", vectors=vectors).values())


def test_noise_for_each_vector_averages_out_and_offsets_do_not():
    by_vectors = [strongest(vectors, shift=2.0, noise=4.0) for vectors in (1, 3, None)]
    assert by_vectors[0] < by_vectors[1] < by_vectors[2]
    assert strongest(None, shift=2.0, offset=4.0) < by_vectors[2] - 0.1


def test_differences_between_vectors_of_a_person_tell_what_offsets_hide():
    attacks = quick_attacks(spoken(1, spread=2.0, offset=20.0), spoken(2, spread=2.0, offset=20.0), "sex", vectors=None)
    assert attacks["qda of differences"] > 0.6
    assert attacks["qda"] < 0.2


def test_the_front_over_protectors(data):
    options = Options(intervals=20, null=20)
    rows = assess_strengths(Roles.split(data, "sex"), "sex", ["classmeans"], classifiers=["logistic"], options=options)
    points = front_points(rows)
    assert [(one.protector, one.strength) for one in points] == [
        ("unprotected", 0.0),
        *(("classmeans", strength) for strength in ATTRIBUTE_PROTECTORS.find("classmeans").cls.strengths),
    ]
    pairs = [(float(one.utility["eer"]), float(one.attack["d_ece"])) for one in points]
    assert [one.on_front for one in points] == on_front(pairs)
    assert any(one.on_front for one in points)
    by_search = front_points(rows, utility="top1")
    pairs = [(-float(one.utility["top1"]), float(one.attack["d_ece"])) for one in by_search]
    assert [one.on_front for one in by_search] == on_front(pairs)
    assert front_points(from_json(to_json(rows))) == points
    text = render_pareto_front(rows, "text")
    assert "Privacy against utility" in text
    assert "classmeans" in render_pareto_front(rows, "md")


def test_noise_at_application(data, tmp_path):
    model = fit(data, "sex", "classmeans", parameters={"noise": 1.0})
    once, again = (protect_embeddings(model, data, noise_seed=3) for _ in range(2))
    np.testing.assert_array_equal(once.vectors, again.vectors)
    assert (protect_embeddings(model, data).vectors != once.vectors).any()
    (tmp_path / "key").write_text("secret\n")
    key = read_rotation_key(tmp_path / "key")
    assert key == b"secret"
    keyed = [protect_embeddings(model, data, rotation_key=key, claims=True, noise_seed=3) for _ in range(2)]
    np.testing.assert_array_equal(*(one.vectors for one in keyed))
    back = rotate_back(model, keyed[0], key)
    assert back.attributes.keys() == once.attributes.keys()
    turned = [one.vectors - model.protector.rotation_centre_ for one in (back, once)]
    unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in turned]
    np.testing.assert_allclose(*unit, atol=1e-9)
    assert write_rotation_key(tmp_path / "new") == read_rotation_key(tmp_path / "new") != key
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="cannot write a key"):
        write_rotation_key(tmp_path / "new")
    (tmp_path / "none").write_text(" \n")
    for name, words in (("none", "the key is empty"), ("missing", "no key")):
        with pytest.raises(InputError, match=words):
            read_rotation_key(tmp_path / name)

"""Numbers that become classes: quantiles of the training people alone, and boundaries that are said."""

import numpy as np
import pytest

from zeroevidence import Embeddings, Options
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import AttackOptions, Roles, assess
from zeroevidence.protect.assessment.labels import cut_number, is_number, quantile_boundaries
from zeroevidence.protect.fitting import FitOptions, fit, shared_boundaries


def aged(ages, each=3, start=0):
    """Vectors of people whose age shows in the first entry."""
    who = np.repeat(np.arange(len(ages)), each)
    rng = np.random.default_rng(start)
    vectors = 2.0 * rng.normal(size=(len(ages), 5))[who] + 0.3 * rng.normal(size=(len(who), 5))
    vectors[:, 0] += 0.2 * np.asarray(ages)[who]
    return Embeddings(vectors, None, [f"p{start + i:03d}" for i in who], {"age": np.asarray(ages)[who]})


def test_quarters_of_people_however_many_vectors_they_have():
    ages = np.arange(20, 60)  # of 40 people; the 11th, 21st and 31st are the first of their quarters
    data = aged(ages)
    assert quantile_boundaries(data, "age", 4) == (30.0, 40.0, 50.0)
    often = np.r_[np.arange(120), np.repeat(119, 500)]
    talkative = Embeddings(data.vectors[often], None, data.speakers[often], {"age": data.attributes["age"][often]})
    assert quantile_boundaries(talkative, "age", 4) == (30.0, 40.0, 50.0)
    classes, counts = np.unique(cut_number(data, "age", (30.0, 40.0, 50.0)).attributes["age"], return_counts=True)
    names = ("below 30", "30 to below 40", "40 to below 50", "50 or more")
    assert dict(zip(classes, counts, strict=True)) == dict.fromkeys(names, 30)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.arange(11), True),
        (np.arange(10), False),  # labels of classes that look like numbers
        ([f"{n}" for n in range(10)] * 5, False),
        ([*range(20), "nan"], False),
        ([*range(20), "old"], False),
        (np.linspace(0.0, 1e-6, 30), True),
    ],
)
def test_what_is_a_number(labels, expected):
    assert is_number(np.asarray(labels).astype(str)) is expected


def test_ties_make_fewer_classes_and_names_stay_apart():
    assert quantile_boundaries(aged([20] * 15 + list(range(30, 45))), "age", 4) == (30.0, 37.0)
    with pytest.raises(InputError, match="quantiles make no two classes, because most training people have 20"):
        quantile_boundaries(aged([20] * 28 + list(range(30, 33))), "age", 4)
    with pytest.raises(UsageError, match="classes: expected at least 2"):
        quantile_boundaries(aged(range(20)), "age", 1)
    near = 1.0 + 1e-12 * np.arange(12)
    data = aged(near)
    assert len(set(cut_number(data, "age", quantile_boundaries(data, "age", 4)).attributes["age"])) == 4
    for wrong, words in ((["old"] * 4, "expected numbers"), (["nan"] * 4, "expected finite numbers")):
        with pytest.raises(InputError, match=words):
            cut_number(Embeddings(np.eye(4), attributes={"age": wrong}), "age", (2.0,))


def test_only_training_people_place_the_boundaries():
    data = aged(np.random.default_rng(0).permutation(np.arange(90)))
    roles = Roles.split(data, "age", classes=4, seed=3)
    parts = [np.unique(part.speakers) for part in (roles.train, roles.attack, roles.test)]
    assert [len(part) for part in parts] == [30, 30, 30]
    assert len(np.unique(np.concatenate(parts))) == 90
    train = data.take(np.isin(data.speakers, parts[0]))
    assert roles.boundaries == quantile_boundaries(train, "age", 4)
    assert roles.boundaries != quantile_boundaries(data, "age", 4)
    expected = cut_number(data, "age", roles.boundaries)
    for part in (roles.train, roles.attack, roles.test):
        of_person = dict(zip(expected.speakers, expected.attributes["age"], strict=True))
        assert [of_person[name] for name in part.speakers] == part.attributes["age"].tolist()
        assert len(set(part.attributes["age"])) == 4
    moved = Roles.split(data, "age", boundaries=(10.0, 45.0))
    assert moved.boundaries == (10.0, 45.0)
    assert set(moved.test.attributes["age"]) == {"below 10", "10 to below 45", "45 or more"}


def test_few_numbers_stay_classes():
    data = aged(np.arange(60) % 5)
    plain, asked = Roles.split(data, "age"), Roles.split(data, "age", classes=4)
    assert asked.boundaries == ()
    np.testing.assert_array_equal(asked.test.speakers, plain.test.speakers)
    assert set(asked.train.attributes["age"]) == set("01234")
    assert fit(data, "age", FitOptions("leace", classes=4)).protector.classes_.tolist() == list("01234")


def test_rows_and_models_say_the_boundaries():
    data = aged(np.arange(60))
    roles = Roles.split(data, "age", classes=3)
    options = Options(intervals=0, null=0)
    rows = assess({}, roles, "age", AttackOptions(["lda"], verification=False, map_method="none"), options)
    assert {row.about.boundaries for row in rows} == {roles.boundaries}
    (note,) = (flag for flag in rows[0].flags if flag.code == "number-classes")
    assert all(f"{boundary:g}" in note.sentence for boundary in roles.boundaries)
    assert float(rows[0]["attribute_bits"]) > 0.5
    assert fit(data, "age", FitOptions("leace", classes=4)).boundaries == (15.0, 30.0, 45.0)
    assert fit(data, "age", FitOptions("leace")).boundaries == ()
    models = {name: fit(data, "age", FitOptions("leace", classes=count)) for name, count in (("a", 2), ("b", 3))}
    with pytest.raises(UsageError, match="a, b cut the attribute into different classes"):
        shared_boundaries(models, "age")

"""Attributes that are numbers: bands, bits that are known in closed form, and a protector that leaves none."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from zeroevidence import Embeddings, Options
from zeroevidence.cli import main
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import findings, read_results
from zeroevidence.measure.attribute.number import (
    ClassView,
    NumberView,
    attribute_bits,
    attribute_correlation,
    attribute_error,
    attribute_rank_correlation,
)
from zeroevidence.measure.measures import MEASURES
from zeroevidence.protect import Conditional, Leace, LinearNuller, Roles, assess, assess_number
from zeroevidence.protect.assessment.number_learning import NumberSample, train_regressors
from zeroevidence.protect.assessment.numbers import balanced_parts, split_by_number, splits_by_number, with_bands
from zeroevidence.protect.assessment.regressors.regressor import REGRESSORS, register_regressor
from zeroevidence.protect.attributes.shared.bands import Bands, as_numbers
from zeroevidence.protect.fitting import fit, fit_number_protectors
from zeroevidence.report.verdict import verdict

QUIET = Options(intervals=0, null=0)


def people(x, y, tag):
    return Embeddings(x, None, [f"{tag}{i}" for i in range(len(x))], {"y": y})


def linear(count, tag, *, rho=0.8, seed=0):
    """One vector of each person, of which one hidden direction and the number have this correlation."""
    rng = np.random.default_rng([seed, len(tag), *tag.encode()])
    y, x = rng.normal(size=count), rng.normal(size=(count, 5))
    x[:, 0] = rho * y + np.sqrt(1.0 - rho**2) * x[:, 0]
    mix = np.random.default_rng(5).normal(size=(5, 5)) + 2.0 * np.eye(5)
    return people(x @ mix, y, tag)


def spread(count, tag, *, rate=0.6):
    """Vectors whose spread alone grows with the number."""
    rng = np.random.default_rng([1, *tag.encode()])
    y = rng.normal(size=count)
    return people(rng.normal(size=(count, 8)) * np.exp(rate * y)[:, None], y, tag)


def told(name, attack, test):
    (one,) = train_regressors([REGRESSORS.find(name)], NumberSample.of(attack, "y"), 0)
    return NumberView.whole(one.guesses(NumberSample.of(test, "y")))


def attacked(protector, make, names, sizes=(4000, 1200, 1200), null=100):
    roles = Roles(*(make(count, tag) for count, tag in zip(sizes, "fat", strict=True)))
    protector.fit(roles.train.vectors, roles.train.attributes["y"])
    rows = assess_number(
        {"protected": protector},
        roles,
        "y",
        regressors=names,
        verification=False,
        options=Options(intervals=0, null=null),
    )
    return {(row.labels["system"], row.labels["attacker"]): row for row in rows}


@pytest.mark.parametrize("rho", [0.4, 0.8])
def test_ridge_finds_the_mutual_information_of_gaussian_vectors(rho):
    view = told("ridge", linear(4000, "a", rho=rho), linear(40_000, "t", rho=rho))
    assert attribute_bits(view) == pytest.approx(-0.5 * np.log2(1.0 - rho**2), abs=0.02)
    assert attribute_correlation(view) == pytest.approx(rho, abs=0.02)


@pytest.mark.parametrize("name", sorted(REGRESSORS))
def test_no_regressor_finds_more_than_there_is(name):
    limit = -0.5 * np.log2(1.0 - 0.8**2)
    view = told(name, linear(300, "a"), linear(2000, "t"))
    assert 0.2 < attribute_bits(view) < limit + 0.05


def test_bits_do_not_depend_on_the_scale_of_the_number_nor_on_its_two_modes():
    rng = np.random.default_rng(0)

    def two_modes(count, tag):
        child = rng.integers(0, 2, count)
        y = np.where(child, 9.0, 30.0) + rng.normal(size=count)
        return people(rng.normal(size=(count, 3)) + 50.0 * child[:, None], y, tag)

    # the vector tells child from adult and nothing more: one bit
    assert attribute_bits(told("ridge", two_modes(1500, "a"), two_modes(3000, "t"))) == pytest.approx(1.0, abs=0.02)


def test_a_number_that_nobody_had_is_no_evidence():
    rng = np.random.default_rng(0)
    attack = people(rng.normal(size=(30, 3)), rng.normal(size=30), "a")
    test = people(rng.normal(size=(30, 3)), np.linspace(50.0, 90.0, 30), "t")
    for name in REGRESSORS:
        assert attribute_bits(told(name, attack, test)) <= np.log2(31.0)


def test_measures_are_those_of_scipy():
    view = told("ridge", linear(200, "a"), linear(150, "t"))
    guess, truth = view.guesses.guess, view.guesses.numbers[view.guesses.people]
    assert attribute_correlation(view) == pytest.approx(pearsonr(guess, truth)[0])
    assert attribute_rank_correlation(view) == pytest.approx(spearmanr(guess, truth)[0])
    assert attribute_error(view) == pytest.approx(np.abs(guess - truth).mean())
    flipped = NumberView(view.guesses, view.people, view.assigned[::-1])
    others = view.guesses.numbers[::-1][view.guesses.people]
    assert attribute_correlation(flipped) == pytest.approx(pearsonr(guess, others)[0])
    assert MEASURES["mutual_information"].compute(view) is None


def test_people_count_alike_however_many_vectors_they_have():
    attack, test = linear(200, "a"), linear(40, "t")
    rows = np.r_[np.arange(40), np.repeat(3, 30)]
    more = Embeddings(test.vectors[rows], None, test.speakers[rows], {"y": test.attributes["y"][rows]})
    (one,) = train_regressors([REGRESSORS.find("ridge")], NumberSample.of(attack, "y"), 0)
    few, many = (NumberView.whole(one.guesses(NumberSample.of(side, "y"))) for side in (test, more))
    for measure in (attribute_bits, attribute_correlation, attribute_error):
        assert measure(few) == pytest.approx(measure(many))


def test_nothing_is_found_in_gaussian_vectors_after_protection():
    found = attacked(Conditional(), linear, ["ridge", "quadratic"])
    assert float(found["unprotected", "ridge"]["attribute_bits"]) == pytest.approx(0.737, abs=0.06)
    for name in ("ridge", "quadratic"):
        bits = found["protected", name]["attribute_bits"]
        assert abs(float(bits)) < 0.01
        assert bits.p_value > 0.01
        assert "attacker-at-chance" in {flag.code for flag in found["protected", name].flags}


def test_spreads_are_seen_by_products_and_removed_by_rounds_alone():
    means = attacked(Conditional(rounds=0), spread, ["ridge", "quadratic"])
    assert abs(float(means["unprotected", "ridge"]["attribute_bits"])) < 0.01
    assert float(means["unprotected", "quadratic"]["attribute_bits"]) > 0.8
    assert float(means["protected", "quadratic"]["attribute_bits"]) > 0.7  # removing means does not help
    both = attacked(Conditional(), spread, ["quadratic"])
    left = both["protected", "quadratic"]["attribute_bits"]
    assert abs(float(left)) < 0.01
    assert left.p_value > 0.01


def test_what_is_left_does_not_depend_on_the_number_at_all():
    """Where spreads grow as assumed, vectors of the same person at two ages become one vector."""
    rng = np.random.default_rng(2)
    y, z = rng.normal(size=20_000), rng.normal(size=(20_000, 6))
    rates = np.array([1.0, 1.0, 0.5, 0.0, 0.0, -0.5])

    def aged(t):
        return z * np.exp(0.5 * t[:, None] * rates) + 3.0 * t[:, None] * np.eye(6)[4]

    protector = Conditional(degree=1).fit(aged(y), y)
    young, old = (aged(np.full(len(z), t))[:500] for t in (-1.0, 1.0))
    moved, before = (
        np.linalg.norm(one - other, axis=1).mean()
        for one, other in ((protector.transform(young), protector.transform(old)), (young, old))
    )
    assert moved < 0.05 * before


def test_curved_means_are_removed_by_their_degree():
    rng = np.random.default_rng(3)
    y = rng.normal(size=5000)
    x = rng.normal(size=(5000, 4))
    x[:, 0] += y**2
    left = {
        degree: abs(
            np.corrcoef(Conditional(degree=degree, rounds=0, directions=0).fit(x, y).transform(x)[:, 0], y**2)[0, 1]
        )
        for degree in (1, 2)
    }
    assert left[1] > 0.5
    assert left[2] < 0.02


def test_a_protector_of_numbers_takes_words_that_are_numbers_and_says_what_is_wrong():
    x = np.random.default_rng(0).normal(size=(60, 4))
    y = np.arange(60)
    np.testing.assert_array_equal(
        Conditional().fit(x, y.astype(str)).transform(x), Conditional().fit(x, y).transform(x)
    )
    for wrong, words in (
        (np.full(60, "a"), "y: row 0 is 'a'; expected a number"),
        (np.where(y == 7, np.nan, y), "NaN|row 7"),
        (np.ones(60), "every number is 1"),
        (y[:30], "inconsistent|expected 60"),
    ):
        with pytest.raises(InputError, match=words):
            Conditional().fit(x, wrong)
    for parameters in ({"degree": 0}, {"rounds": -1}, {"complement": 2.0}, {"components": 0}):
        with pytest.raises(UsageError, match=next(iter(parameters))):
            Conditional(**parameters).fit(x, y)


def test_a_fitted_protector_of_numbers_is_pickled_with_its_bands():
    x, y = np.random.default_rng(0).normal(size=(200, 4)), np.linspace(0.0, 60.0, 200)
    protector = Conditional(noise=0.5, noise_seed=1).fit(x, y, speakers=np.arange(200) // 2)
    assert (np.diff(protector.classes_) > 0.0).all()
    assert len(protector.classes_) == 12
    assert protector.llr(x).shape == (200, 12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(protector)).transform(x), protector.transform(x))


def three_classes(count, tag, *, distance=2.0):
    rng = np.random.default_rng([2, *tag.encode()])
    y = np.arange(count) % 3
    corners = distance / np.sqrt(3.0) * np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
    x = rng.normal(size=(count, 4))
    x[:, :2] += corners[y]
    return people(x, np.array(["x", "y", "z"])[y], tag)


def test_three_classes_give_the_bits_that_are_known():
    corners = 2.0 / np.sqrt(3.0) * np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
    grid = np.linspace(-7.0, 7.0, 401)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    logs = -0.5 * ((points[:, None] - corners) ** 2).sum(axis=2)
    share = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    mass = np.exp(logs).mean(axis=1)
    mass /= mass.sum()
    exact = np.log2(3.0) + float(mass @ (share * np.log2(np.maximum(share, 1e-300))).sum(axis=1))
    roles = Roles(three_classes(1200, "f"), three_classes(2400, "a"), three_classes(12_000, "t"))
    protectors = {
        one.kind: one.fit(roles.train.vectors, roles.train.attributes["y"]) for one in (LinearNuller(), Leace())
    }
    rows = assess(protectors, roles, "y", classifiers=["lda"], verification=False, map_method="none", options=QUIET)
    found = {row.labels["system"]: row for row in rows if row.about.role != "training"}
    assert float(found["unprotected"]["attribute_bits"]) == pytest.approx(exact, abs=0.02)
    for name in protectors:
        assert abs(float(found[name]["attribute_bits"])) < 0.02
        own = [row for row in rows if row.labels["system"] == name and row.about.role == "attack"]
        assert {row.about.of_class for row in own} == {"x", "y", "z"}
        assert max(float(row["d_ece"]) for row in own) < 0.02


def test_two_classes_have_no_bits_beside_their_evidence():
    data = three_classes(300, "a")
    two = data.take(data.attributes["y"] != "z")
    rows = assess(
        {}, Roles.split(two, "y"), "y", classifiers=["lda"], verification=False, map_method="none", options=QUIET
    )
    assert all("attribute_bits" not in row for row in rows)
    sure = ClassView(np.log(np.array([[0.8, 0.1, 0.1]])), np.array([0]), np.ones(1))
    assert attribute_bits(sure) == pytest.approx(np.log2(2.4))


def test_bands():
    bands = Bands.parse("12,18,30")
    assert bands.of(np.array([5.0, 12.0, 17.9, 18.0, 30.0])).tolist() == [
        "below 12",
        "12 to below 18",
        "12 to below 18",
        "18 to below 30",
        "30 or more",
    ]
    for wrong in ("", "12,x", "18,12", "12,12", "nan"):
        with pytest.raises(UsageError, match="bands: expected ascending numbers"):
            Bands.parse(wrong)
    data = people(np.eye(4), ["9", "10", "11", "8"], "a")
    with pytest.raises(InputError, match="everybody is below 12"):
        with_bands(data, "y", bands)
    with pytest.raises(InputError, match="y: row 1 is 'old'"):
        as_numbers(np.array(["9", "old"]), "y")


def test_cuts_by_number_share_nobody_and_are_alike():
    data = linear(90, "p")
    hands = balanced_parts(np.arange(30.0), 5, seed=1)
    assert np.bincount(hands).tolist() == [6] * 5
    seen = []
    for roles in splits_by_number(data, "y", 3):
        parts = [np.asarray(side.attributes["y"], dtype=float) for side in (roles.train, roles.attack, roles.test)]
        assert [len(part) for part in parts] == [30, 30, 30]
        assert np.ptp([np.median(part) for part in parts]) < 0.2
        seen.append(tuple(roles.test.speakers))
    assert len(set(seen)) == 3
    with pytest.raises(InputError, match="need at least nine"):
        split_by_number(linear(8, "p"), "y")


def test_intervals_and_nulls_are_by_person():
    data = linear(120, "p")
    rows = assess_number({}, split_by_number(data, "y"), "y", regressors=["ridge", "neighbours"], verification=False)
    for row in rows:
        assert row.counts == {"vectors": 40, "speakers": 40}
        assert row.signature.count("ci:speaker40")
        for name in ("attribute_bits", "attribute_correlation", "attribute_rank_correlation", "attribute_error"):
            one = row[name]
            assert one.low < float(one) < one.high
            assert one.p_value <= 0.05
        assert abs(row["attribute_correlation"].null.mean) < 0.1
        assert row["attribute_error"].null.mean > float(row["attribute_error"])
        assert row["attribute_bits"].null.mean < 0.0
    assert rows[0].about.development > rows[1].about.development
    few = assess_number({}, split_by_number(linear(24, "p"), "y"), "y", regressors=["ridge"], verification=False)
    assert few[0]["attribute_bits"].low is None
    assert "no-intervals" in {flag.code for flag in few[0].flags}


def test_what_cannot_be_done_is_said():
    data = linear(60, "p")
    with pytest.raises(UsageError, match="leace conceals classes; give bands of y for it, or use conditional"):
        fit_number_protectors(["leace"], data, "y")
    made = fit_number_protectors(["leace", "conditional"], data, "y", bands=Bands((0.0,)))
    assert [type(one).__name__ for one in made.values()] == ["Leace", "Conditional"]
    assert made["leace"].classes_.tolist() == ["0 or more", "below 0"]
    with pytest.raises(InputError, match="sex: row 0 is 'f'; expected a number"):
        fit(Embeddings(np.eye(4), None, None, {"sex": list("ffmm")}), "sex", "conditional")
    with pytest.raises(UsageError, match="unknown regressor 'qda'"):
        assess_number({}, split_by_number(data, "y"), "y", regressors=["qda"])
    with pytest.raises(UsageError, match="at least one regressor"):
        assess_number({}, split_by_number(data, "y"), "y", regressors=[])
    with pytest.raises(UsageError, match="is the name of unprotected vectors"):
        assess_number({"unprotected": None}, split_by_number(data, "y"), "y")


def test_a_regressor_of_your_own_enters_the_table():
    class Middle:
        def fit(self, x, y, weights, people):
            pass

        def predict(self, x):
            return np.zeros(len(x)), np.ones(len(x))

    register_regressor("middle", "always the middle")(lambda seed: [Middle()])
    try:
        (row,) = assess_number(
            {}, split_by_number(linear(60, "p"), "y"), "y", regressors=["middle"], verification=False
        )
        assert abs(float(row["attribute_bits"])) < 1e-3
        assert float(row["attribute_correlation"]) == 0.0
    finally:
        REGRESSORS.remove("middle")


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(6, 70, 90)
    x = np.repeat(rng.normal(size=(90, 5)) + np.outer(age, [0.1, 0.0, 0.0, 0.0, 0.0]), 4, axis=0)
    x += 0.3 * rng.normal(size=x.shape)
    who = np.repeat([f"p{i:02d}" for i in range(90)], 4)
    np.savez(tmp_path / "v.npz", vectors=x, speaker=who, age=np.repeat(age, 4), sex=np.repeat(["f", "m"] * 45, 4))
    return tmp_path / "v.npz"


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(["protect", *map(str, arguments)])
    return stop.value.code


def test_the_command_line_conceals_a_number(file, tmp_path, capsys):
    pytest.importorskip("safetensors")
    run("fit", file, "--attribute", "age", "--continuous", "-o", tmp_path / "m")
    assert json.loads((tmp_path / "m" / "model.json").read_text())["protector"] == "conditional"
    run("apply", tmp_path / "m", file, "-o", tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as made:
        assert "age" not in made.files
        assert "sex" in made.files
    quick = ["--classifier", "ridge", "--intervals", "20", "--null", "40", "-f", "json", "-o", tmp_path / "r.json"]
    run("evaluate", file, "--attribute", "age", "--continuous", "--bands", "18,40", "--protector", "leace",
        "--protector", "conditional", *quick)  # fmt: skip
    rows = read_results(tmp_path / "r.json")
    assert [row.labels["system"] for row in rows if row.about.role == "utility"] == [
        "unprotected",
        "leace",
        "conditional",
    ]
    assert len(set(rows[0].maps["vectors"].label)) == 4
    (found,) = [one for one in findings(rows) if one.attribute == "age"]
    assert rows[found.control].labels["system"] == "unprotected"
    assert "bits" in verdict(rows).paragraph
    capsys.readouterr()


@pytest.mark.parametrize("format", ["text", "md", "latex", "csv"])
def test_tables_of_a_number(file, format, capsys):
    run("evaluate", file, "--attribute", "age", "--continuous", "--classifier", "ridge", "--classifier", "neighbours",
        "--intervals", "20", "--null", "20", "-f", format)  # fmt: skip
    told = capsys.readouterr().out
    assert "conditional" in told
    assert ("attribute_bits" if format == "csv" else "mean absolute error") in told


def test_the_command_line_takes_bands(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # headings in one line
    run("evaluate", file, "--attribute", "age", "--bands", "18,40", "--protector", "leace", "--classifier", "logistic",
        "--intervals", "0", "--null", "0", "--no-verification")  # fmt: skip
    told = capsys.readouterr().out
    assert "18 to below 40" in told
    assert "bits about the attribute" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "--attribute", "age"], "say whether they are bands"),
        (["evaluate", "--attribute", "age", "--bands", "40,18"], "bands: expected ascending numbers"),
        (["evaluate", "--attribute", "sex", "--continuous"], "sex: row 0 is 'f'; expected a number"),
        (["evaluate", "--attribute", "age", "--continuous", "--front"], "goes without --front"),
        (["evaluate", "--attribute", "age", "--continuous", "--protector", "leace"], "leace conceals classes"),
        (["evaluate", "--attribute", "age", "--continuous", "--classifier", "qda"], "unknown regressor 'qda'"),
        (["evaluate", "--attribute", "age", "--bands", "18", "--classifier", "ridge"], "unknown classifier 'ridge'"),
        (["fit", "--attribute", "age", "--continuous", "--protector", "leace", "-o", "m"], "give --bands instead"),
        (["fit", "--attribute", "age", "--continuous", "--bands", "18", "-o", "m"], "fitted to one of them"),
        (["fit", "--attribute", "age", "--continuous", "--target", "d_ece=0.1", "-o", "m"], "goes without --target"),
    ],
)
def test_the_command_line_never_guesses(arguments, words, file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, *more = arguments
    assert run(command, file, *more) not in (0, None)
    assert words in " ".join(capsys.readouterr().err.split())

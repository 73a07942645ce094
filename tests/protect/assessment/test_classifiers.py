"""Attackers of attributes: what is known in closed form is found, and the tested people choose nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, MeasureResult, Options, findings
from zeroevidence.evaluation.finding.choosing import row_chosen_on_development
from zeroevidence.measure.pairs.zebra import LN2, evidence_gain
from zeroevidence.protect import Roles, assess
from zeroevidence.protect.assessment.choice import add_choice_flags
from zeroevidence.protect.assessment.class_learning import ClassSample, speaker_folds, train_classifiers
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier
from zeroevidence.protect.assessment.classifiers.log_linear import LogLinear
from zeroevidence.report.verdict import verdict

POINT = Options(intervals=0, null=0)
VECTORS = [name for name, kind in CLASSIFIERS.items() if kind.learns_from == "vectors"]


def people_of(vectors, kinds, each):
    """Embeddings of people, `each` vectors of everybody, and the class of each person."""
    who = np.repeat(np.arange(len(kinds)), each)
    names = np.array([f"s{i:04d}" for i in range(len(kinds))])
    ids = np.array([f"u{i:05d}" for i in range(len(who))])
    return Embeddings(vectors, ids, names[who], {"sex": np.array(["f", "m"])[np.asarray(kinds)[who]]})


def spread_classes(rng, people=240, each=12, d=6, told=4, variance=4.0):
    """Equal means; one class has `told` entries of another variance. No two vectors of a person have more in common."""
    kinds = np.arange(people) % 2
    x = rng.standard_normal((people * each, d))
    x[np.repeat(kinds, each) == 1, :told] *= np.sqrt(variance)
    return people_of(x, kinds, each)


def true_d_ece(told, variance):
    """By integration: the LLR depends on the squared length of `told` entries, which is chi-squared."""

    def llr(squared):
        return -0.5 * told * np.log(variance) + 0.5 * squared * (1.0 - 1.0 / variance)

    wide = quad(lambda s: chi2.pdf(s, told, scale=variance) * float(evidence_gain(llr(s))), 0.0, np.inf)[0]
    narrow = quad(lambda s: chi2.pdf(s, told) * float(evidence_gain(-llr(s))), 0.0, np.inf)[0]
    return (wide + narrow) / LN2


def by_attacker(rows):
    return {row.labels["attacker"]: row for row in rows if row.about.role != "training"}


def attack(data, classifiers, seed=0, options=POINT):
    split = Roles.split(data, "sex", seed=seed)
    return assess({}, split, "sex", classifiers=classifiers, verification=False, map_method="none", options=options)


@pytest.fixture(scope="module")
def spread_rows():
    return attack(spread_classes(np.random.default_rng(0)), ["logistic", "lda", "qda", "sphered", "kernel"])


@pytest.mark.parametrize(("told", "variance"), [(4, 4.0), (2, 3.0), (6, 0.3)])
def test_quadratic_attackers_find_what_is_known(told, variance):
    truth = true_d_ece(told, variance)
    assert 0.05 < truth < 0.6
    data = spread_classes(np.random.default_rng(told), people=900, each=20, told=told, variance=variance)
    rows = attack(data, ["logistic", "qda", "sphered"])
    found = by_attacker(rows)
    for name in ("qda", "sphered"):
        assert found[name]["d_ece"].value == pytest.approx(truth, abs=0.02)
        assert found[name].about.development == pytest.approx(truth, abs=0.02)
    assert found["logistic"]["d_ece"].value < min(0.05, 0.5 * truth)
    assert rows[0].labels["attacker"] != "logistic"


def test_straight_cuts_miss_a_difference_of_covariances_and_the_headline_does_not(spread_rows):
    found = by_attacker(spread_rows)
    for name in ("logistic", "lda"):
        assert found[name]["d_ece"].value < 0.04
    assert spread_rows[0].labels["attacker"] in ("qda", "sphered", "kernel")
    assert spread_rows[0]["d_ece"].value > true_d_ece(4, 4.0) - 0.03


def test_tested_people_choose_nothing(spread_rows):
    data = spread_classes(np.random.default_rng(0))
    split = Roles.split(data, "sex")
    names = np.unique(split.test.speakers)
    sexes = np.array([split.test.attributes["sex"][split.test.speakers == one][0] for one in names])
    shuffled = dict(zip(names, np.random.default_rng(1).permutation(sexes), strict=True))
    permuted = {"sex": np.array([shuffled[one] for one in split.test.speakers])}
    other = Roles(
        split.train, split.attack, Embeddings(split.test.vectors, split.test.ids, split.test.speakers, permuted)
    )
    kinds = ["logistic", "lda", "qda", "sphered", "kernel"]
    options = Options(intervals=20, null=20)
    rows = assess({}, other, "sex", classifiers=kinds, verification=False, map_method="none", options=options)
    order = [row.labels["attacker"] for row in spread_rows if row.about.role != "training"]
    assert [row.labels["attacker"] for row in rows if row.about.role != "training"] == order
    for name, row in by_attacker(rows).items():
        assert row.about.development == by_attacker(spread_rows)[name].about.development
    assert rows[0]["d_ece"].value < 0.05
    assert rows[findings(rows)[0].strongest].labels["attacker"] == order[0]


@pytest.mark.parametrize("shared", [False, True])
def test_gaussian_classes_are_those_of_scikit_learn(shared):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = (rng.standard_normal((300, 4)) + y[:, None]) * (1.0 + 0.5 * y[:, None])
    ours = GaussianClassifier(shared=shared, shrinkage=0.0)
    ours.fit(x, y, np.ones(300), np.arange(300))
    if shared:
        theirs = LinearDiscriminantAnalysis(solver="lsqr", priors=np.full(3, 1 / 3)).fit(x, y)
        told = theirs.predict_log_proba(x)
    else:
        theirs = QuadraticDiscriminantAnalysis(priors=np.full(3, 1 / 3), store_covariance=True).fit(x, y)
        told = theirs.predict_log_proba(x)
    np.testing.assert_allclose(ours.log_posteriors(x), told, atol=0.15)  # they divide by n - 1
    assert (ours.log_posteriors(x).argmax(axis=1) == told.argmax(axis=1)).mean() > 0.98


def test_sphering_makes_what_classes_share_the_identity():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 5)) * (1.0 + y[:, None]) + 3.0 * y[:, None]
    model = GaussianClassifier(components=5)
    model.fit(x, y, np.ones(400), np.arange(400))
    z = model.standardised.of(x) @ model.map
    within = np.mean([np.cov(z[y == k].T, bias=True) for k in (0, 1)], axis=0)
    np.testing.assert_allclose(within, np.eye(5), atol=1e-9)


@pytest.mark.parametrize("name", VECTORS)
def test_every_classifier_of_vectors_finds_distant_classes(name):
    rng = np.random.default_rng(0)
    kinds = np.arange(48) % 2
    x = rng.standard_normal((48, 5))[np.repeat(np.arange(48), 6)] + 0.3 * rng.standard_normal((288, 5))
    x[:, 0] += 6.0 * np.repeat(kinds, 6)
    row = by_attacker(attack(people_of(x, kinds, 6), [name]))[name]
    assert row["d_ece"].value > 0.5
    assert row.about.development > 0.5
    assert not row.about.pooled


@pytest.mark.parametrize("name", VECTORS)
def test_entries_that_never_vary_do_no_harm(name):
    rng = np.random.default_rng(0)
    kinds = np.arange(36) % 2
    x = rng.standard_normal((36 * 6, 4))
    x[:, 0] += 5.0 * np.repeat(kinds, 6)
    x[:, 2] = 7.0 + 1e-13 * rng.standard_normal(len(x))
    assert by_attacker(attack(people_of(x, kinds, 6), [name]))[name]["d_ece"].value > 0.5


def test_fusion_weighs_and_calibrates():
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 2
    x = rng.standard_normal((90 * 6, 4))
    mark = np.repeat(kinds, 6) == 1
    x[mark, 0] *= 3.0  # for quadratic attackers
    x[mark, 1] += 1.5  # for all
    found = by_attacker(attack(people_of(x, kinds, 6), ["logistic", "boosting", "qda", "fusion"]))
    alone = max(found[name]["d_ece"].value for name in ("logistic", "boosting", "qda"))
    assert found["fusion"]["d_ece"].value > alone - 0.02
    told = np.log(np.array([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]))
    calibration = LogLinear()
    calibration.fit(100.0 * told, np.array([1, 0, 0, 1]), np.ones(4), np.arange(4))
    assert np.abs(np.exp(calibration.log_posteriors(100.0 * told)) - 0.5).max() < 0.01  # right as often as wrong


def test_a_person_tells_more_than_a_vector():
    rng = np.random.default_rng(0)
    kinds = np.arange(120) % 2
    x = rng.standard_normal((120 * 20, 4))
    x[:, 0] += 0.6 * np.repeat(kinds, 20)
    rows = attack(people_of(x, kinds, 20), ["logistic", "qda", "pooled", "person"])
    found = by_attacker(rows)
    assert found["logistic"]["d_ece"].value < 0.15
    assert min(found[name]["d_ece"].value for name in ("pooled", "person")) > 0.35
    assert found["pooled"].counts["target"] + found["pooled"].counts["nontarget"] == 40
    assert [row.about.pooled for row in rows if row.about.role != "training"] == [False, False, True, True]
    finding = findings(rows)[0]
    assert not rows[finding.strongest].about.pooled  # one vector is the usual threat
    assert rows[finding.pooled].about.pooled
    assert "From all recordings of one person together" in verdict(rows).paragraph


def test_the_spread_of_a_person_tells_too():
    rng = np.random.default_rng(0)
    kinds = np.arange(120) % 2
    x = rng.standard_normal((120, 4))[np.repeat(np.arange(120), 20)] * 3.0
    x += rng.standard_normal(x.shape) * np.where(np.repeat(kinds, 20) == 1, 1.0, 0.4)[:, None]
    found = by_attacker(attack(people_of(x, kinds, 20), ["logistic", "person"]))
    assert found["person"]["d_ece"].value > 0.6
    assert found["logistic"]["d_ece"].value < 0.15


def test_same_seed_same_attack():
    data = spread_classes(np.random.default_rng(0), people=60, each=4)
    one, other = (attack(data, ["perceptron", "qda", "fusion", "pooled"]) for _ in range(2))
    assert one == other


def test_people_are_held_out_whole():
    y = np.repeat([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], 3)
    people = np.repeat(np.arange(10), 3)
    folds = speaker_folds(y, people, seed=0)
    assert len(folds) == 10
    assert folds.max() == 3  # four people of the smaller class
    for fold in range(4):
        assert set(y[folds[people] != fold]) == set(y[folds[people] == fold]) == {0, 1}
    assert speaker_folds(np.array([0, 0, 1]), np.arange(3), seed=0) is None


class Memory:
    """Knows those it has seen."""

    def fit(self, x, y, weights, people):
        self.seen = {float(row[0]): int(k) for row, k in zip(x, y, strict=True)}

    def log_posteriors(self, x):
        known = np.array([[self.seen.get(float(row[0]), -1) == k for k in (0, 1)] for row in x])
        return np.log(np.where(known, 0.99, 0.5))


def test_strength_is_that_on_people_held_out():
    rng = np.random.default_rng(0)
    rows = ClassSample(rng.standard_normal((80, 2)), np.arange(80) % 2, np.arange(80))
    kind = replace(CLASSIFIERS["logistic"], name="memory", candidates=lambda seed: [Memory()])
    (learned,) = train_classifiers([kind], rows, seed=0)
    assert learned.evidence(1) == 0.0
    (seen,) = train_classifiers([kind], rows, seed=0, cross_validated=False)
    assert seen.held_out is None


def test_without_cross_validation_settings_are_the_usual_and_the_tested_choose():
    data = spread_classes(np.random.default_rng(0), people=60, each=4)
    split = Roles.split(data, "sex")
    rows = assess(
        {}, split, "sex", cross_validated=False, verification=False, map_method="none", options=POINT, classifiers=None
    )
    found = by_attacker(rows)
    assert set(found) == {name for name, kind in CLASSIFIERS.items() if not kind.combines}
    assert all(row.about.development is None for row in rows)
    single = [row for row in found.values() if not row.about.pooled]
    assert rows[0]["d_ece"].value == max(row["d_ece"].value for row in single)


def test_a_class_of_one_person_cannot_be_held_out():
    data = spread_classes(np.random.default_rng(0), people=60, each=4)
    few = np.isin(data.attributes["sex"], ["f"]) | np.isin(data.speakers, ["s0001", "s0003", "s0005"])
    rows = attack(data.take(few), ["logistic", "qda", "fusion"])
    assert set(by_attacker(rows)) == {"logistic", "qda"}
    assert all("not-cross-validated" in {flag.code for flag in row.flags} for row in by_attacker(rows).values())
    enough = attack(data, ["logistic"])
    assert not any("not-cross-validated" in {flag.code for flag in row.flags} for row in enough)


def test_who_combines_needs_others():
    data = spread_classes(np.random.default_rng(0), people=60, each=4)
    with pytest.raises(UsageError, match="fusion combines"):
        attack(data, ["fusion", "person"])


def rows_with(*intervals):
    """Rows of attackers with these D_ECEs; the first was chosen."""
    base = attack(spread_classes(np.random.default_rng(0), people=36, each=2), ["logistic"])[0]
    made = []
    for number, (low, value, high) in enumerate(intervals):
        about = replace(base.about, development=0.5 - 0.1 * number)
        metrics = {"d_ece": MeasureResult(value, "bit", low=low, high=high)}
        made.append(Evaluation(metrics, base.counts, base.setup, {**base.labels, "attacker": f"a{number}"}, about))
    return made


def test_a_headline_that_is_clearly_beaten_says_so():
    rows = rows_with((0.1, 0.2, 0.3), (0.2, 0.28, 0.35), (0.4, 0.5, 0.6))
    flagged = add_choice_flags(rows, [slice(0, 3)])
    assert [[flag.code for flag in row.flags] for row in flagged] == [["headline-beaten"], [], []]
    assert "a2 clearly learns more" in flagged[0].flags[0].sentence
    fair = add_choice_flags(rows[:2], [slice(0, 2)])
    assert not any(row.flags for row in fair)
    assert row_chosen_on_development(rows, [0, 1, 2], findings(rows)[0].chance) == 0

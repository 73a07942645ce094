"""Attackers of attributes: what is known in closed form is found, and the tested people choose nothing."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.effort import slow
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, MeasureResult, Options, findings
from zeroevidence.evaluation.finding.chance import row_chosen_on_development
from zeroevidence.measure.pairs.zebra import LN2, d_ece, evidence_gain
from zeroevidence.protect import AttackOptions, Roles, assess
from zeroevidence.protect.assessment.class_learning import ClassSample, speaker_folds, train_classifiers
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.assessment.classifiers.estimators import GaussianClassifier, LogLinear
from zeroevidence.protect.assessment.rows import add_choice_flags
from zeroevidence.report.verdict import verdict

POINT = Options(intervals=0, null=0)
VECTORS = [name for name, kind in CLASSIFIERS.items() if kind.learns_from == "vectors"]


def people(count, each, d, *, shift=0.0, spread=1.0, told=1, of_person=0.0, noise=1.0, seed=0):
    """Vectors of people; those of one class differ in the mean (shift) or spread of their first `told` entries."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(count), each)
    second = who % 2 == 1
    x = of_person * rng.standard_normal((count, d))[who] + noise * rng.standard_normal((len(who), d))
    x[second, :told] = spread * x[second, :told] + shift
    ids = np.array([f"u{i:05d}" for i in range(len(who))])
    return Embeddings(x, ids, np.array([f"s{i:04d}" for i in who]), {"sex": np.where(second, "m", "f")})


def true_d_ece(told, variance):
    """By integration: the LLR depends on the squared length of `told` entries, which is chi-squared."""

    def llr(squared):
        return -0.5 * told * np.log(variance) + 0.5 * squared * (1.0 - 1.0 / variance)

    wide = quad(lambda s: chi2.pdf(s, told, scale=variance) * float(evidence_gain(llr(s))), 0.0, np.inf)[0]
    narrow = quad(lambda s: chi2.pdf(s, told) * float(evidence_gain(-llr(s))), 0.0, np.inf)[0]
    return (wide + narrow) / LN2


def by_attacker(rows):
    return {row.labels["attacker"]: row for row in rows if row.about.role != "training"}


def attack(data, classifiers, options=POINT, **how):
    roles = data if isinstance(data, Roles) else Roles.split(data, "sex")
    return assess({}, roles, "sex", AttackOptions(classifiers, verification=False, map_method="none", **how), options)


@pytest.mark.parametrize(
    ("told", "variance"), [(4, 4.0), pytest.param(2, 3.0, marks=slow), pytest.param(6, 0.3, marks=slow)]
)
def test_quadratic_attackers_find_what_is_known(told, variance):
    truth = true_d_ece(told, variance)
    assert 0.05 < truth < 0.6
    data = people(900, 20, 6, spread=np.sqrt(variance), told=told, seed=told)
    rows = attack(data, ["logistic", "lda", "qda", "sphered"])
    attackers = by_attacker(rows)
    for name in ("qda", "sphered"):
        assert attackers[name]["d_ece"].value == pytest.approx(truth, abs=0.02)
        assert attackers[name].about.development == pytest.approx(truth, abs=0.02)
    for name in ("logistic", "lda"):
        assert attackers[name]["d_ece"].value < min(0.05, 0.5 * truth)
    assert rows[0].labels["attacker"] in ("qda", "sphered")


def test_tested_people_choose_nothing():
    roles = Roles.split(people(240, 12, 6, spread=2.0, told=4), "sex")
    kinds = ["logistic", "lda", "qda"]
    _, first, person = np.unique(roles.test.speakers, return_index=True, return_inverse=True)
    shuffled = {"sex": np.random.default_rng(1).permutation(roles.test.attributes["sex"][first])[person]}
    test = Embeddings(roles.test.vectors, roles.test.ids, roles.test.speakers, shuffled)
    rows = attack(roles, kinds)
    other = attack(Roles(roles.train, roles.attack, test), kinds, options=Options(intervals=20, null=20))
    orders = [[row.labels["attacker"] for row in one if row.about.role != "training"] for one in (rows, other)]
    assert orders[0] == orders[1]
    for name, row in by_attacker(other).items():
        assert row.about.development == by_attacker(rows)[name].about.development
    assert other[0]["d_ece"].value < 0.05
    assert other[findings(other)[0].strongest].labels["attacker"] == orders[0][0]


@pytest.mark.parametrize("shared", [False, True])
def test_gaussian_classes_are_those_of_scikit_learn(shared):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = (rng.standard_normal((300, 4)) + y[:, None]) * (1.0 + 0.5 * y[:, None])
    ours = GaussianClassifier(shared=shared, shrinkage=0.0)
    ours.fit(x, y, np.ones(300), np.arange(300))
    priors = np.full(3, 1 / 3)
    linear = LinearDiscriminantAnalysis(solver="lsqr", priors=priors)
    theirs = (linear if shared else QuadraticDiscriminantAnalysis(priors=priors)).fit(x, y).predict_log_proba(x)
    np.testing.assert_allclose(ours.log_posteriors(x), theirs, atol=0.15)  # they divide by n - 1
    assert (ours.log_posteriors(x).argmax(axis=1) == theirs.argmax(axis=1)).mean() > 0.98


def test_sphering_makes_what_classes_share_the_identity():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 5)) * (1.0 + y[:, None]) + 3.0 * y[:, None]
    model = GaussianClassifier(components=5)
    model.fit(x, y, np.ones(400), np.arange(400))
    z = model.standardised.of(x) @ model.map
    np.testing.assert_allclose(np.mean([np.cov(z[y == k].T, bias=True) for k in (0, 1)], axis=0), np.eye(5), atol=1e-9)


@pytest.mark.parametrize("name", VECTORS)
def test_every_classifier_of_vectors_finds_distant_classes(name):
    data = people(48, 6, 5, shift=6.0, of_person=1.0, noise=0.3)
    vectors = np.array(data.vectors)
    vectors[:, 2] = 7.0 + 1e-13 * vectors[:, 2]  # an entry that never varies does no harm
    row = by_attacker(attack(Embeddings(vectors, data.ids, data.speakers, data.attributes), [name]))[name]
    assert row["d_ece"].value > 0.5
    assert row.about.development > 0.5
    assert not row.about.pooled


def test_fusion_weighs_and_calibrates():
    data = people(90, 6, 4, shift=1.5, spread=3.0)
    attackers = by_attacker(attack(data, ["logistic", "boosting", "qda", "fusion"]))
    alone = max(attackers[name]["d_ece"].value for name in ("logistic", "boosting", "qda"))
    assert attackers["fusion"]["d_ece"].value > alone - 0.02
    logs = np.log(np.array([[0.1, 0.9], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]))
    calibration = LogLinear()
    calibration.fit(100.0 * logs, np.array([1, 0, 0, 1]), np.ones(4), np.arange(4))
    assert np.abs(np.exp(calibration.log_posteriors(100.0 * logs)) - 0.5).max() < 0.01  # right as often as wrong


def test_a_person_tells_more_than_a_vector():
    pooling = [name for name, kind in CLASSIFIERS.items() if kind.pools]
    rows = attack(people(120, 20, 4, shift=0.6), ["logistic", "qda", *pooling])
    attackers = by_attacker(rows)
    assert attackers["logistic"]["d_ece"].value < 0.15
    assert pooling == ["mean", "person", "pooled"]
    for name in pooling:
        assert attackers[name]["d_ece"].value > 0.35
        assert attackers[name].counts["target"] + attackers[name].counts["nontarget"] == 40
        assert "mutual_information" not in attackers[name].metrics  # that is of single vectors
    assert [row.about.pooled for row in rows if row.about.role != "training"] == [False] * 2 + [True] * 3
    finding = findings(rows)[0]
    assert not rows[finding.strongest].about.pooled  # one vector is the usual threat
    assert rows[finding.pooled].about.pooled
    assert "From all recordings of one person together" in verdict(rows).paragraph


def of_people(data, values):
    """Means over the vectors of each person, and whether the person is of the second class, in plain NumPy."""
    names = np.unique(data.speakers)
    means = np.stack([values[data.speakers == name].mean(axis=0) for name in names])
    return means, np.array([data.attributes["sex"][data.speakers == name][0] == "m" for name in names])


def test_attackers_of_people_by_other_means():
    """Regression on standardised means of people, and log-odds of vectors averaged over people: the same D_ECE."""
    roles = Roles.split(people(90, 8, 4, shift=0.5, of_person=0.4), "sex")
    (x, y), (tested, truth) = (of_people(part, np.asarray(part.vectors)) for part in (roles.attack, roles.test))
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    model.fit(x, y, logisticregression__sample_weight=np.full(len(y), 1.0))
    odds = model.decision_function(tested)
    row = by_attacker(attack(roles, ["mean"], cross_validated=False))["mean"]
    assert row["d_ece"].value == pytest.approx(d_ece(odds[truth], odds[~truth]), abs=1e-9)

    sample, test = (
        ClassSample(
            np.asarray(part.vectors), (part.attributes["sex"] == "m") * 1, np.unique(part.speakers, False, True)[1]
        )
        for part in (roles.attack, roles.test)
    )
    attackers = list(train_classifiers([CLASSIFIERS["logistic"], CLASSIFIERS["pooled"]], sample, seed=0))
    logs = attackers[0].log_posteriors(test.x)
    odds, truth = of_people(roles.test, logs[:, 1] - logs[:, 0])
    row = by_attacker(attack(roles, ["logistic", "pooled"]))["pooled"]
    assert row["d_ece"].value == pytest.approx(d_ece(odds[truth], odds[~truth]), abs=1e-9)


def test_people_are_held_out_whole():
    y = np.repeat([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], 3)
    persons = np.repeat(np.arange(10), 3)
    folds = speaker_folds(y, persons, seed=0)
    assert len(folds) == 10
    assert folds.max() == 3  # four people of the smaller class
    for fold in range(4):
        assert set(y[folds[persons] != fold]) == set(y[folds[persons] == fold]) == {0, 1}
    assert speaker_folds(np.array([0, 0, 1]), np.arange(3), seed=0) is None


class Memory:
    """Knows those it has seen."""

    def fit(self, x, y, weights, people):
        self.seen = {float(row[0]): int(k) for row, k in zip(x, y, strict=True)}

    def log_posteriors(self, x):
        known = np.array([[self.seen.get(float(row[0]), -1) == k for k in (0, 1)] for row in x])
        return np.log(np.where(known, 0.99, 0.5))


def test_strength_is_that_on_people_held_out():
    rows = ClassSample(np.random.default_rng(0).standard_normal((80, 2)), np.arange(80) % 2, np.arange(80))
    kind = replace(CLASSIFIERS["logistic"], name="memory", candidates=lambda seed: [Memory()])
    (learned,) = train_classifiers([kind], rows, seed=0)
    assert learned.evidence(1) == 0.0
    (seen,) = train_classifiers([kind], rows, seed=0, cross_validated=False)
    assert seen.held_out is None


def test_without_cross_validation_the_tested_people_choose():
    data = people(60, 4, 6, spread=2.0, told=4)
    rows = attack(data, None, cross_validated=False)
    attackers = by_attacker(rows)
    assert set(attackers) == {name for name, kind in CLASSIFIERS.items() if not kind.combines}
    assert all(row.about.development is None for row in rows)
    assert rows[0]["d_ece"].value == max(row["d_ece"].value for row in attackers.values() if not row.about.pooled)
    few = np.isin(data.attributes["sex"], ["f"]) | np.isin(data.speakers, ["s0001", "s0003", "s0005"])
    for some, flagged in ((data.take(few), True), (data, False)):  # a class of one person cannot be held out
        rows = attack(some, ["logistic", "fusion"])
        assert ("fusion" in by_attacker(rows)) is not flagged
        assert ("not-cross-validated" in {flag.code for flag in rows[0].flags}) is flagged
    with pytest.raises(UsageError, match="fusion combines"):
        attack(data, ["fusion", "person"])


def test_a_headline_that_is_clearly_beaten_says_so():
    base, rows = attack(people(36, 2, 6), ["logistic"])[0], []
    for number, (low, value, high) in enumerate([(0.1, 0.2, 0.3), (0.2, 0.28, 0.35), (0.4, 0.5, 0.6)]):
        about = replace(base.about, development=0.5 - 0.1 * number)
        metrics = {"d_ece": MeasureResult(value, "bit", low=low, high=high)}
        rows.append(Evaluation(metrics, base.counts, base.setup, {**base.labels, "attacker": f"a{number}"}, about))
    flagged = add_choice_flags(rows, [slice(0, 3)])
    assert [[flag.code for flag in row.flags] for row in flagged] == [["headline-beaten"], [], []]
    assert "a2 clearly learns more" in flagged[0].flags[0].sentence
    assert not any(row.flags for row in add_choice_flags(rows[:2], [slice(0, 2)]))
    assert row_chosen_on_development(rows, [0, 1, 2], findings(rows)[0].chance) == 0

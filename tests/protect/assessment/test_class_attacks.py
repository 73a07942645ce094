from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options, findings
from zeroevidence.measure.attribute.mutual_information import mutual_information
from zeroevidence.protect import LinearNuller, Roles, assess
from zeroevidence.protect.assessment.class_attacks import attribute_scores
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS, ClassifierKind
from zeroevidence.protect.assessment.maps import project_to_plane
from zeroevidence.protect.assessment.systems import zero_entry_flags
from zeroevidence.report.tables.attribute_classes import render_attribute_classes
from zeroevidence.uncertainty.null import PairNull
from zeroevidence.uncertainty.resampling.clusters import find_clusters, find_owners

OPTIONS = Options(intervals=50, null=50)


def people(rng, *, speakers=36, each=8, d=10, told=3.0, kinds=("f", "m")):
    """Vectors of speakers whose class moves the first entry; a second attribute moves the second."""
    kind = np.arange(speakers) % len(kinds)
    accent = rng.integers(0, 2, speakers)
    centre = rng.standard_normal((speakers, d)) * 1.5
    centre[:, 0] = told * kind
    centre[:, 1] = 4.0 * accent
    who = np.repeat(np.arange(speakers), each)
    vectors = centre[who] + 0.5 * rng.standard_normal((len(who), d))
    names = np.array([f"s{i:02d}" for i in range(speakers)])
    return Embeddings(
        vectors,
        np.array([f"u{i:04d}" for i in range(len(who))]),
        names[who],
        {"sex": np.array(kinds)[kind][who], "accent": np.array(["n", "s"])[accent][who]},
    )


@pytest.fixture(scope="module")
def assessed():
    roles = Roles.split(people(np.random.default_rng(0)), "sex")
    train = roles.train
    nuller = LinearNuller(shrinkage=0.1).fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    return roles, assess({"linear": nuller}, roles, "sex", keep=["accent"], options=OPTIONS)


def found(rows, **labels):
    return [row for row in rows if all(row.labels.get(k) == v for k, v in labels.items())]


def test_thirds_of_the_people_of_each_class(assessed):
    roles, _ = assessed
    parts = [set(part.speakers.tolist()) for part in (roles.train, roles.attack, roles.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 36
    for part in (roles.train, roles.attack, roles.test):
        assert len(np.unique(part.speakers)) == 12
        assert set(part.attributes["sex"]) == {"f", "m"}


def test_protection_lowers_the_evidence_and_keeps_speakers_and_the_other_attribute(assessed):
    _, rows = assessed
    before = found(rows, system="unprotected", attribute="sex", split="test")
    after = found(rows, system="linear", attribute="sex", split="test")
    assert {row.labels["attacker"] for row in before} == set(CLASSIFIERS)
    assert max(row.metrics["d_ece"].value for row in before) > 0.5
    strongest = after[0].metrics["d_ece"]
    single = [row for row in after if not row.about.pooled]
    assert after[0].about.development == max(row.about.development for row in single)
    assert strongest.value < 0.4
    assert strongest.low is None  # six tested people of each class are too few for an interval
    assert "no-intervals" in {one.code for one in after[0].flags}
    assert after[0].metrics["mutual_information"].value < before[0].metrics["mutual_information"].value
    assert found(rows, system="linear", attribute="accent", split="test")[0].metrics["d_ece"].value > 0.5
    plain, protected = (row for row in rows if row.about.role == "utility")
    assert (plain.labels["system"], protected.labels["system"]) == ("unprotected", "linear")
    assert plain.labels["backend"] == protected.labels["backend"] == "plda"
    assert protected.metrics["eer"].value < 0.2
    assert "null:speaker50" in after[0].signature
    assert "ci:speaker12" in after[0].signature


def test_rows_say_what_they_are_about(assessed):
    _, rows = assessed
    for row in rows:
        if row.about.question == "identity":
            assert row.about.role == "utility"
            continue
        unprotected = row.labels["system"] == "unprotected"
        tested = "control" if unprotected else "attack"
        assert row.about.role == ("training" if row.labels["split"] == "train" else tested)
        assert row.about.attribute == row.labels["attribute"]
    assert {row.about.attribute for row in rows} == {"sex", "accent", None}


def test_the_first_row_of_each_system_is_what_the_finding_names(assessed):
    _, rows = assessed
    for finding in findings(rows):
        assert finding.question == "attribute"
        for i in (*finding.by_system, finding.control):
            system = rows[i].labels["system"]
            assert rows[i] is found(rows, system=system, attribute=finding.attribute)[0]
            assert rows[i].maps
        assert rows[finding.strongest].labels["system"] == "linear"


def test_rows_carry_maps_and_curves(assessed):
    _, rows = assessed
    first = found(rows, system="unprotected", attribute="sex")[0]
    assert set(first.maps["vectors"].label) == {"f", "m"}
    assert len(first.maps["vectors"].x) == 12 * 8
    assert "ece" in first.curves


@pytest.mark.parametrize("format", ["text", "md", "latex", "csv", "json"])
def test_tables(assessed, format):
    _, rows = assessed
    text = render_attribute_classes(rows, format)
    assert "linear" in text
    if format in ("text", "md", "latex"):
        for word in ("Classification", "tag", "utual information", "verification"):
            assert word in text


def test_same_seed_same_rows(assessed):
    roles, rows = assessed
    train = roles.train
    nuller = LinearNuller(shrinkage=0.1).fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    again = assess({"linear": nuller}, roles, "sex", classifiers=["boosting"], verification=False, options=OPTIONS)
    one = found(again, system="linear", attacker="boosting", split="test")[0]
    other = found(rows, system="linear", attribute="sex", attacker="boosting", split="test")[0]
    assert one.metrics["d_ece"] == other.metrics["d_ece"]


def test_three_classes_get_a_row_each():
    data = people(np.random.default_rng(1), kinds=("a", "b", "c"))
    rows = assess(
        {},
        Roles.split(data, "sex"),
        "sex",
        classifiers=["logistic"],
        verification=False,
        map_method="none",
        options=OPTIONS,
    )
    tested = found(rows, split="test")
    assert [row.about.of_class for row in tested] == [row.labels["class"] for row in tested] == ["a", "b", "c"]


class Coin:
    """Knows nothing."""

    def fit(self, x, y, weights, people):
        self.classes = len(np.unique(y))

    def log_posteriors(self, x):
        return np.random.default_rng(0).dirichlet(np.ones(self.classes), len(x))


@pytest.fixture
def coin():
    yield CLASSIFIERS.add(ClassifierKind("coin", "guesses", lambda seed: [Coin()]))
    CLASSIFIERS.remove("coin")


def test_a_registered_classifier_is_an_attacker(assessed, coin):
    roles, _ = assessed
    rows = assess({}, roles, "sex", classifiers=["coin"], verification=False, options=OPTIONS)
    assert [row.labels["attacker"] for row in rows] == ["coin", "coin"]
    assert {flag.code for flag in rows[0].flags} >= {"attacker-at-chance"}
    with pytest.raises(UsageError, match=r"at least one classifier of .*, coin"):
        assess({}, roles, "sex", classifiers=[])


def test_labels_are_permuted_over_people():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.standard_normal(20), 50) + 0.01 * rng.standard_normal(1000)
    speakers = np.repeat([f"s{i}" for i in range(20)], 50)
    positive = np.repeat(np.arange(20) % 2 == 0, 50)
    told = attribute_scores(scores, positive, np.arange(1000).astype(str), speakers)
    owners = find_owners(find_clusters(told))
    assert owners is not None
    by_person = PairNull(told.target, told.nontarget, None, people=owners).draw(0, 30)["d_ece"]
    by_score = PairNull(told.target, told.nontarget, None).draw(0, 30)["d_ece"]
    assert by_person.mean() > 5 * by_score.mean()  # twenty people, not a thousand


def test_comparisons_have_no_owner():
    names = np.array(["a", "b"])
    compared = Scores([2.0, 1.0], [0.0, 0.5], Pairs([0, 1], [0, 1]), Pairs([0, 1], [1, 0]), names, names, names, names)
    assert find_owners(find_clusters(compared)) is None
    assert find_owners(None) is None


def test_maps_do_not_depend_on_the_sign_of_a_component():
    x = np.random.default_rng(0).standard_normal((50, 4)) * [5.0, 3.0, 1.0, 1.0]
    plane = project_to_plane(x)
    assert plane.shape == (50, 2)
    assert abs(np.corrcoef(plane[:, 0], x[:, 0])[0, 1]) > 0.95
    assert (plane[np.abs(plane).argmax(axis=0), [0, 1]] > 0).all()


@slow
def test_umap():
    pytest.importorskip("umap")
    code = (
        "import numpy as np; from zeroevidence.protect.assessment.maps import project_to_plane as project\n"
        "x = np.random.default_rng(0).standard_normal((10, 4))\n"
        "first, second = project(x, 'umap'), project(x, 'umap')\n"
        "print(first.shape, np.isfinite(first).all(), np.array_equal(first, second))"
    )
    without_compiler = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # compiling takes a minute, ten vectors a second
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=without_compiler)
    assert done.stdout.split() == ["(10,", "2)", "True", "True"]


def test_mutual_information_of_known_dependence():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    x = np.stack([y + 0.01 * rng.standard_normal(3000), rng.standard_normal(3000)], axis=1)
    told = mutual_information(x, y)
    assert told[0] == pytest.approx(1.0, abs=0.02)  # one entry tells all: one bit
    assert told[1] == pytest.approx(0.0, abs=0.03)
    several = mutual_information(np.repeat(x, 4, axis=0) + 1e-6 * rng.standard_normal((12000, 2)), np.repeat(y, 4))
    assert several[0] == pytest.approx(1.0, abs=0.05)  # a sample of the rows


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: Embeddings(d.vectors, d.ids, None, d.attributes), "speakers are not known"),
        (lambda d: Embeddings(d.vectors, d.ids, d.speakers), "no attribute 'sex'"),
        (lambda d: Embeddings(d.vectors, d.ids, d.speakers, {"sex": np.roll(d.attributes["sex"], 1)}), "more than one"),
        (lambda d: d.take(np.isin(d.speakers, ["s00", "s01", "s02", "s03"])), "at least 3"),
    ],
)
def test_data_that_cannot_be_split(change, words):
    with pytest.raises(InputError, match=words):
        Roles.split(change(people(np.random.default_rng(0))), "sex")


def test_people_in_two_groups_and_unknown_attackers(assessed):
    roles, _ = assessed
    with pytest.raises(InputError, match="share"):
        Roles(roles.train, roles.train, roles.test)
    with pytest.raises(UsageError, match="unknown classifier"):
        assess({}, roles, "sex", classifiers=["oracle"])
    with pytest.raises(UsageError, match="call the protector something else"):
        assess({"unprotected": None}, roles, "sex")


def test_zeros_are_warned_of(assessed):
    roles, rows = assessed
    assert not any(flag.code == "zeros" for row in rows for flag in row.flags)
    (found,) = zero_entry_flags(np.maximum(roles.test.vectors, 0.0))
    assert found.code == "zeros"
    assert f"{100 * np.mean(roles.test.vectors <= 0.0):.0f} % of the entries" in found.sentence

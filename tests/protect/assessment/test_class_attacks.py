import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options, findings
from zeroevidence.evaluation.finding.beside import changes_by_protection
from zeroevidence.protect import AttackOptions, LinearNuller, Roles, assess
from zeroevidence.protect.assessment.class_attacks import attribute_scores
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS
from zeroevidence.protect.assessment.rows import project_to_plane, zero_entry_flags
from zeroevidence.report.attributes import render_attribute_classes
from zeroevidence.uncertainty.groups import find_clusters, find_owners
from zeroevidence.uncertainty.null import PairNull

OPTIONS = Options(intervals=5, null=5)
MARKERS = ("marker", "unchanged")


def people(speakers=36, each=8, d=10):
    """Vectors of speakers whose sex moves the first entry, and whose accent the second."""
    rng = np.random.default_rng(0)
    sex, accent = np.arange(speakers) % 2, rng.integers(0, 2, speakers)
    centre = rng.standard_normal((speakers, d)) * 1.5
    centre[:, :2] = np.stack([3.0 * sex, 4.0 * accent], axis=1)
    who = np.repeat(np.arange(speakers), each)
    vectors = centre[who] + 0.5 * rng.standard_normal((len(who), d))
    labels = {"sex": np.array(["f", "m"])[sex[who]], "accent": np.array(["n", "s"])[accent[who]]}
    return Embeddings(vectors, [f"u{i:04d}" for i in range(len(who))], [f"s{i:02d}" for i in who], labels)


@pytest.fixture(scope="module")
def assessed():
    roles = Roles.split(people(), "sex")
    train = roles.train
    nuller = LinearNuller(shrinkage=0.1).fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zeroevidence.evaluation.resampling._HALVES", 2)  # nobody looks at intervals
        return roles, assess({"linear": nuller}, roles, "sex", AttackOptions(keep=["accent"]), OPTIONS)


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
    assert found(rows, system="linear", attribute="accent", split="test")[0].metrics["d_ece"].value > 0.35
    plain, protected = (row for row in rows if row.about.role == "utility")
    assert (plain.labels["system"], protected.labels["system"]) == ("unprotected", "linear")
    assert protected.metrics["eer"].value < 0.2
    assert "null:speaker5" in after[0].signature


def test_the_first_row_of_each_system_is_what_the_finding_names(assessed):
    _, rows = assessed
    for finding in findings(rows):
        assert finding.question == "attribute"
        for i in (*finding.by_system, finding.control):
            system = rows[i].labels["system"]
            assert rows[i] is found(rows, system=system, attribute=finding.attribute)[0]
            assert len(rows[i].maps["vectors"].x) == 12 * 8
            assert "ece" in rows[i].curves
        assert rows[finding.strongest].labels["system"] == "linear"


@pytest.mark.parametrize("format", ["text", "latex", "csv", "json"])
def test_tables(assessed, format):
    text = render_attribute_classes(assessed[1], format)
    assert "linear" in text
    assert ("utual information" in text) is (format in ("text", "md", "latex"))


def test_strongest_attackers_of_vectors_and_of_people_are_in_every_table(assessed):
    text = render_attribute_classes(assessed[1], "md")
    classification, attackers, tags, _, _ = (part for part in text.split("\n\n") if part.startswith("|"))
    for table in (classification, tags):
        assert [table.count(f"| {word} |") for word in ("vector", "person")] == [4, 4]
    assert [attackers.count(f"| {word} |") for word in ("vector", "person")] == [9, 3]
    assert attackers.count("\\*") == 8  # of vectors and of people, two attributes of two systems
    assert "No attacker had all vectors" not in text
    single = [row for row in assessed[1] if not row.about.pooled]
    text = render_attribute_classes(single, "text")
    assert "which tell more than one; the classifiers mean, person, pooled have." in text.replace("\n", " ")


class Marker:
    """Adds an offset of a person's own to every vector of that person."""

    def __init__(self, data, size):
        draws = np.random.default_rng(1)
        offsets = {name: size * draws.normal(size=data.vectors.shape[1]) for name in np.unique(data.speakers)}
        self.offsets = {x.tobytes(): offsets[name] for x, name in zip(data.vectors, data.speakers, strict=True)}

    def transform(self, vectors, speakers=None):
        return vectors + np.stack([self.offsets[x.tobytes()] for x in vectors])


class Blur:
    """Adds noise to every vector."""

    def transform(self, vectors, speakers=None):
        return vectors + 2.0 * np.random.default_rng(0).normal(size=vectors.shape)


def test_protection_that_marks_people_is_flagged():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(60), 8)
    vectors = rng.normal(size=(60, 6))[who] + rng.normal(size=(480, 6))
    labels = {"sex": np.where(who % 2, "m", "f")}
    data = Embeddings(vectors, [f"u{i:04d}" for i in range(480)], [f"s{i:02d}" for i in who], labels)
    roles = Roles.split(data, "sex")
    train = roles.train
    nuller = LinearNuller(noise_seed=0).fit(train.vectors, train.attributes["sex"], speakers=train.speakers)
    systems = {"marker": Marker(data, 1.5), "unchanged": Marker(data, 0.0), "linear": nuller, "noise": Blur()}
    options = Options(intervals=20, null=0)
    rows = assess(systems, roles, "sex", AttackOptions(["logistic"], map_method="none"), options)
    verified = {row.labels["system"]: row for row in rows if row.about.role == "utility"}
    flagged = {name: [flag for flag in row.flags if flag.code == "people-marked"] for name, row in verified.items()}
    assert {name for name, flags in flagged.items() if flags} == {"marker"}
    by_measure = [changes_by_protection(list(verified.values()), measure) for measure in ("eer", "top1")]
    changes = dict(zip(verified, zip(*by_measure, strict=True), strict=True))
    assert changes["unprotected"] == (None, None)
    assert changes["noise"][0].low > 0.0 > changes["noise"][1].high  # the other direction is no mark
    for name in MARKERS:
        for place, measure in enumerate(("eer", "top1")):
            value = float(verified[name][measure]) - float(verified["unprotected"][measure])
            assert changes[name][place].value == pytest.approx(value)
    before, after = (100.0 * float(verified[name]["eer"]) for name in ("unprotected", "marker"))
    assert f"falls from {before:.2f}% to {after:.2f}%" in flagged["marker"][0].sentence
    assert f"{100.0 * changes['marker'][0].value:+.2f}" in render_attribute_classes(rows, "text")


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


def test_maps_do_not_depend_on_the_sign_of_a_component():
    x = np.random.default_rng(0).standard_normal((50, 4)) * [5.0, 3.0, 1.0, 1.0]
    plane = project_to_plane(x)
    assert plane.shape == (50, 2)
    assert abs(np.corrcoef(plane[:, 0], x[:, 0])[0, 1]) > 0.95
    assert (plane[np.abs(plane).argmax(axis=0), [0, 1]] > 0).all()


@slow
def test_umap(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling takes a minute, ten vectors a second
    pytest.importorskip("umap")
    x = np.random.default_rng(0).standard_normal((10, 4))
    first, second = project_to_plane(x, "umap"), project_to_plane(x, "umap")
    assert first.shape == (10, 2)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: Embeddings(d.vectors, d.ids, None, d.attributes), "speakers are not known"),
        (lambda d: Embeddings(d.vectors, d.ids, d.speakers, {"sex": np.roll(d.attributes["sex"], 1)}), "more than one"),
        (lambda d: d.take(np.isin(d.speakers, ["s00", "s01", "s02", "s03"])), "at least 3"),
    ],
)
def test_data_that_cannot_be_split(change, words):
    with pytest.raises(InputError, match=words):
        Roles.split(change(people()), "sex")


def test_people_in_two_groups_and_unknown_attackers(assessed):
    roles, _ = assessed
    with pytest.raises(InputError, match="share"):
        Roles(roles.train, roles.train, roles.test)
    with pytest.raises(UsageError, match="unknown classifier"):
        assess({}, roles, "sex", AttackOptions(["oracle"]))
    with pytest.raises(UsageError, match="at least one classifier of"):
        assess({}, roles, "sex", AttackOptions([]))
    with pytest.raises(UsageError, match="call the protector something else"):
        assess({"unprotected": None}, roles, "sex")


def test_zeros_are_warned_of(assessed):
    roles, rows = assessed
    assert not any(flag.code == "zeros" for row in rows for flag in row.flags)
    (found,) = zero_entry_flags(np.maximum(roles.test.vectors, 0.0))
    assert found.code == "zeros"
    assert f"{100 * np.mean(roles.test.vectors <= 0.0):.0f} % of the entries" in found.sentence

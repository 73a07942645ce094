"""Result files: what is written is read again, and everything else is refused by name."""

import json
import math

import numpy as np
import pytest

import zeroevidence as ze
from tests.evaluation.made import named_search
from zeroevidence.errors import InputError
from zeroevidence.evaluation import People
from zeroevidence.evaluation.results import LARGEST_TEXT, MOST_ROWS, from_json, read_results, to_json


@pytest.fixture(scope="module")
def row():
    mated = np.arange(48) % 12
    scores = np.random.default_rng(1).normal(size=(48, 12)) + 1.5 * np.eye(12)[mated]
    return ze.evaluate(named_search(scores, mated), options=ze.Options(null=20))


def document(row):
    return json.loads(to_json([row]))


def read(changed):
    return from_json(json.dumps(changed), path="r.json")


def test_round_trip(row):
    assert from_json(to_json([row, row])) == [row, row]


def test_infinite_and_missing_values(row):
    metrics = {
        "cllr": ze.MeasureResult(math.inf, "bit"),
        "lid_neg": ze.MeasureResult(math.nan, "bit", low=-math.inf, high=math.inf),
        "tag": ze.MeasureResult("A", "category"),
    }
    text = to_json([ze.Evaluation(metrics)])
    json.loads(text, parse_constant=pytest.fail)
    (again,) = from_json(text)
    assert again["cllr"].value == math.inf
    assert math.isnan(again["lid_neg"].value)
    assert (again["lid_neg"].low, again["lid_neg"].high) == (-math.inf, math.inf)
    assert again["tag"].value == "A"


@pytest.mark.parametrize("version", [1, 2])
def test_earlier_formats_are_refused(row, version):
    changed = document(row) | {"schema": f"zeroevidence/evaluation/{version}"}
    with pytest.raises(InputError, match=r"r\.json: .*evaluate again"):
        read(changed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "r.json:1: not JSON"),
        ("[]", "r.json: expected a result with schema"),
        ('{"schema": "zeroevidence/evaluation/3"}', "has no rows"),
    ],
)
def test_texts_that_are_no_results_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        from_json(text, path="r.json")


def change(*path, to):
    """A change of a document below its first row."""

    def apply(whole):
        part = whole["rows"][0]
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = to

    return apply


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (change("trials", to=[]), "row 1: has no part 'trials'; expected metrics, counts"),
        (change("about", "mood", to="good"), "row 1.about: has no field 'mood'; expected question, role"),
        (change("metrics", "eer", to={"value": 0.5}), "row 1.metrics.eer: has no 'unit'"),
        (
            change("metrics", "tag_counts", "value", to={"a": 3}),
            "row 1.metrics.tag_counts.value: expected numbers by the names 0, A, B, C, D, E, F, got a",
        ),
        (change("metrics", "eer", "plain", to=0.1), "row 1.metrics.eer: has no field 'plain'"),
        (change("setup", "colour", to="red"), "row 1.setup: has no field 'colour'"),
        (change("setup", "search", "colour", to="red"), "row 1.setup.search: has no field 'colour'"),
        (change("metrics", "eer", "low", to="high"), "row 1.metrics.eer.low: expected"),
        (change("metrics", "eer", "value", to=1.5), "row 1.metrics.eer: 1.5 lies outside of 0 to 1"),
        (change("metrics", "eer", "value", to="A"), "row 1.metrics.eer.value: expected a number, got 'A'"),
        (change("metrics", "tag", "value", to=3), "row 1.metrics.tag.value: expected a category, got 3"),
        (change("metrics", "tag", "value", to="Z"), "row 1.metrics.tag.value: expected 0 or A"),
        (change("metrics", "tag", "low", to=0.1), "row 1.metrics.tag: has 'low', but its value is no single number"),
        (change("metrics", "eer", "low", to=0.9), "row 1.metrics.eer: its interval from 0.9 to"),
        (change("metrics", "eer", "level", to=95), "row 1.metrics.eer.level: expected a number from 0 to 1, got 95"),
        (change("metrics", "d_ece", "p_value", to=None), "row 1.metrics.d_ece: has a null, but no p_value"),
        (change("metrics", "eer", "spread", "people", to=0), "row 1.metrics.eer.spread: expected an error from 0 on"),
        (change("counts", "target", to=-1), "row 1.counts.target: expected a number from 0 on, got -1"),
        (change("counts", to={}), "row 1.setup: has 'search', but trials and identities are not counted"),
        (change("setup", "dcf_prior", to=None), "row 1.setup: has 'linkability', but no 'dcf_prior'"),
        (change("curves", "ece", "x", to=[1.0]), "row 1.curves.ece: x, y, baseline, low, high are not equally long"),
        (change("people", "trials", to=[1]), "row 1.people: speaker, trials"),
        (change("surfaces", to={"s": {"x": [1], "y": ["a"], "z": [[]]}}), "row 1.surfaces.s: does not have a number"),
        (change("flags", to=[{"code": "a"}]), "row 1.flags"),
        (change("labels", to={"system": 3}), "row 1.labels.system: expected text, got 3"),
        (change("counts", "speakers", to=300), "row 1.counts.speakers: shows spk:300, but the signature has spk:12;"),
        (change("counts", "target", to=49), "row 1.counts.target: shows n:49+528, but the signature has n:48+528;"),
        (change("setup", "seed", to=1), "row 1.setup.seed: shows seed:1, but the signature has seed:0;"),
        (change("setup", "omega", to=2.0), "row 1.setup.omega: shows omega:2, but the signature has nothing;"),
        (change("setup", "null", to=None), "row 1.setup.null: shows nothing, but the signature has null:"),
        (change("setup", "version", to="0.1"), "row 1.setup.version: shows v:0.1, but the signature has v:"),
        (change("setup", "search", "ddof", to=1), "row 1.setup.search: shows ddof:1, but the signature has ddof:0;"),
        (change("signature", to="ZE|x"), "row 1.setup: shows "),
        (change("metrics", "d_ece", "value", to=0.0001), "row 1.metrics.d_ece.value: 0.0001 lies beyond its limit "),
        (change("metrics", "d_ece", "bound", to=0.0), "row 1.metrics.d_ece.value: "),
        (change("metrics", "eer", "bound", to=0.99), "row 1.metrics.eer.value: "),
    ],
)
def test_damage_is_named(row, apply, message):
    whole = document(row)
    apply(whole)
    with pytest.raises(InputError) as caught:
        read(whole)
    assert str(caught.value).startswith(f"r.json: {message}")


def test_rows_that_are_gone_are_missed(row):
    whole = json.loads(to_json([row, row]))
    del whole["rows"][1]
    with pytest.raises(InputError, match=r"r\.json: signature: is not that of its 1 rows; the file was changed"):
        read(whole)


def test_files_of_earlier_versions_have_no_version_but_in_the_signature(row):
    whole = document(row)
    del whole["rows"][0]["setup"]["version"]
    for part in (whole, whole["rows"][0]):
        part["signature"] = part["signature"].rpartition("|v:")[0] + "|v:0.1.9"
    assert read(whole) == [row]
    change("counts", "speakers", to=300)(whole)
    with pytest.raises(InputError, match=r"row 1\.counts\.speakers"):
        read(whole)


@pytest.mark.parametrize("name", ["metrics", "counts", "setup", "labels", "about", "flags", "signature"])
def test_parts_that_must_be_there(row, name):
    whole = document(row)
    del whole["rows"][0][name]
    with pytest.raises(InputError, match=f"row 1: has no '{name}'"):
        read(whole)


def test_a_speaker_may_have_the_name_of_a_number():
    row = ze.Evaluation({}, people=People(("inf", "nan", "1"), (1, 1, 1), (0.0,) * 3, (0.0,) * 3, (0.0,) * 3))
    assert from_json(to_json([row]))[0].people.speaker == ("inf", "nan", "1")


def test_more_rows_than_can_be_shown_are_refused(row, tmp_path):
    with pytest.raises(InputError, match=rf"r\.json: has {MOST_ROWS + 1} rows; expected at most {MOST_ROWS}"):
        read(document(row) | {"rows": [0] * (MOST_ROWS + 1)})
    with (tmp_path / "r.json").open("wb") as stream:
        stream.truncate(LARGEST_TEXT + 1)  # takes no room on the disk
    with pytest.raises(InputError, match=r"r\.json: has 256 MiB; expected a result of at most 256 MiB"):
        read_results(tmp_path / "r.json")


def test_results_of_earlier_versions_are_adjusted_by_holm():
    """They have no adjusted p-values and no permutations, and the test of a list is that of its area."""
    options = ze.Options(intervals=0, null=19, linkability="pav")
    row = ze.evaluate([2.0, 3.0, 1.0, 2.5], [0.0, 1.5, 0.5, 1.2], options=options)
    document = json.loads(to_json([row, row]))
    for record in document["rows"]:
        for number, result in enumerate(part for part in record["metrics"].values() if "null" in part):
            del result["p_adjusted"], result["null"]["draws"]
            result["null"]["tested_by"], result["p_value"] = "area", 0.01 + 0.1 * number
    for read in from_json(json.dumps(document)):
        tested = [result for result in read.metrics.values() if result.null is not None]
        # one test for each of two rows; no measure is more unusual than it is alone
        assert [result.p_adjusted for result in tested] == [max(0.02, result.p_value) for result in tested]
        assert len(tested) > 1

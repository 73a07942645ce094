"""Results in format 1 are still read: what it told in labels and sentences comes in as values."""

import json

import pytest

from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import InputError
from zeroevidence.evaluation import About, Flag, Setup, findings, read_results
from zeroevidence.evaluation.reading.results import from_json, to_json
from zeroevidence.evaluation.rows.flags import FLAGS
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.null import Null

OLD = "zeroevidence/evaluation/1"
SEARCH = "ZE|one-to-one+one-to-n|cal:pav|rows:logistic|search:8x4|ci:speaker400:auto|null:speaker99|seed:0|v:0.1.0"
UNPROTECTED = "unprotected (enrolment original, trained on original)"
RANDOM = "random (enrolment noise, trained on original)"
IGNORANT = "ignorant (enrolment original, trained on original)"
LAZY = "lazy-informed (enrolment anonymised, trained on original)"
ADAPTER = "semi-informed (enrolment anonymised, adapter network, trained on anonymised)"
FEW = "few-speakers: 4 speakers are too few for trustworthy intervals; collect at least 15."


def metric(value, unit="bit", p_value=None, **more):
    null = (
        {} if p_value is None else {"null": {"mean": 0.01, "q95": 0.03, "corrected": value - 0.01}, "p_value": p_value}
    )
    return {"value": value, "unit": unit, **null, **more}


def searched(top1, alid, d_ece, *, p_value=0.01, flags=(), **labels):
    """A row of an audit."""
    return {
        "labels": {"dataset": "d", "split": "eval", "backend": "cosine", **labels},
        "counts": {"target": 8, "nontarget": 24, "speakers": 4, "trials": 8, "identities": 4},
        "metrics": {
            "eer": metric(0.2, "rate", low=0.1, high=0.3, method="interpolated"),
            "d_ece": metric(d_ece, p_value=p_value, low=0.1, high=0.5, method="pav"),
            "tag": {"value": "B", "unit": "category"},
            "top1": metric(top1, "rate"),
            "alid": metric(alid, p_value=p_value),
        },
        "flags": list(flags),
        "curves": {
            "cmc": {"x": [1, 2, 3, 4], "y": [0.5, 0.75, 0.875, 1.0], "baseline": [0.25, 0.5, 0.75, 1.0]},
            "lid_ccdf": {"x": ["-inf", 0.5, 2.0], "y": [1.0, 0.5, 0.25]},
        },
        "people": {
            "speaker": ["p1", "p2", "p3", "p4"],
            "trials": [2, 2, 2, 2],
            "alid": [1.5, 1.0, 0.5, 0.25],
            "lid_max": [2.0, 1.5, 1.0, 0.5],
            "linked": [1.0, 0.5, 0.5, 0.0],
        },
        "signature": SEARCH,
    }


def audited():
    anonymised = {"enrolment": "anonymised", "trial": "anonymised"}
    original, noise = (dict.fromkeys(anonymised, side) for side in ("original", "noise"))
    failed = "attacker-at-chance: this attacker does no better than chance; so much for that."
    return [
        searched(1.0, 1.9, 0.7, system="none", attacker=UNPROTECTED, **original),
        searched(0.25, 0.0, 0.01, p_value=0.6, flags=[failed], system="noise", attacker=RANDOM, **noise),
        searched(0.4, 0.2, 0.1, system="s", attacker=IGNORANT, enrolment="original", trial="anonymised"),
        searched(0.9, 1.6, 0.6, flags=[FEW, "odd: never heard of"], system="s", attacker=LAZY, **anonymised),
    ]


def told(system, d_ece, *, split="test", attacker="logistic", **labels):
    """A row on an attribute."""
    return {
        "labels": {"system": system, "attribute": "sex", "split": split, "attacker": attacker, **labels},
        "counts": {"target": 9, "nontarget": 9, "speakers": 6},
        "metrics": {"d_ece": metric(d_ece, p_value=None if split == "train" else 0.01)},
        "flags": [],
        "maps": {"vectors": {"x": [0.0, 1.0], "y": [1.0, 0.0], "label": ["f", "m"]}},
        "signature": "ZE|one-to-one|n:9+9|spk:6|seed:0|v:0.1.0",
    }


def verified(system):
    """Speaker verification, which should go on working."""
    side = "original" if system == "none" else "protected"
    row = searched(1.0, 2.0, 0.7, system=system, split="test", enrolment=side, trial=side, backend="plda")
    del row["labels"]["dataset"]
    return row


def protection():
    return [
        told("none", 0.6),
        told("none", 0.7, split="train"),
        verified("none"),
        told("linear", 0.2),
        told("linear", 0.7, split="train"),
        verified("linear"),
    ]


def tandem(attack, cost):
    return {
        "labels": {"system": "cm", "attack": attack},
        "counts": {"target": 4, "nontarget": 4, "spoof": 4},
        "metrics": {
            "tdcf_min": metric(cost, "relative cost"),
            "tdcf_joint_min": metric(0.9 * cost, "relative cost"),
            "cm_eer": metric(0.04, "rate"),
        },
        "flags": ["speakers-unknown: intervals resample trials, not people, and may be too narrow; give a key."],
        "surfaces": {"t_dcf": {"x": [0.0, 1.0], "y": [0.0, 1.0], "z": [[0.1, 0.2], [0.3, "inf"]]}},
        "signature": f"ZE|tandem|preset:2019|attack:{attack}|v:0.1.0",
    }


def document(*rows):
    return json.dumps({"schema": OLD, "signature": "ZE|rows:0", "rows": rows})


def read(*rows):
    return from_json(document(*rows))


def test_rows_of_an_audit_know_their_attackers():
    rows = read(*audited())
    assert [row.about for row in rows] == [
        About(role="control", threat=ThreatModel("unprotected", "original", "original")),
        About(role="floor", threat=ThreatModel("random", "noise", "noise")),
        About(role="attack", threat=ThreatModel("ignorant", "original", "anonymised")),
        About(role="attack", threat=ThreatModel("lazy-informed", "anonymised", "anonymised")),
    ]
    assert [row.labels["system"] for row in rows] == ["unprotected", "random", "s", "s"]
    assert [row.labels["attacker"] for row in rows] == [UNPROTECTED, RANDOM, IGNORANT, LAZY]
    assert dict(rows[3].labels) == audited()[3]["labels"]


def test_the_same_words_for_unprotected_and_other_trials_are_told_apart():
    words = {"enrolment": "original", "attacker": IGNORANT}
    ignorant, mistaken = read(
        searched(0.4, 0.2, 0.1, system="s", trial="anonymised", **words),
        searched(0.4, 0.2, 0.1, system="s", trial="original", **words),
    )
    assert ignorant.about.threat.name == "ignorant"
    assert mistaken.about.threat is None  # no such attacker was ever written


def test_an_adapter_network_and_an_attacker_of_ones_own():
    sides = dict.fromkeys(("enrolment", "trial"), "anonymised")
    adapter, own = read(
        searched(0.4, 0.2, 0.1, system="s", attacker=ADAPTER, **sides),
        searched(0.4, 0.2, 0.1, system="s", attacker="patient (enrolment anonymised, trained on original)", **sides),
    )
    assert adapter.about.threat.adapter
    assert str(adapter.about.threat) == ADAPTER
    assert own.about == About()
    assert own.labels["attacker"].startswith("patient (")


def test_the_unprotected_system_of_a_challenge_is_called_so():
    sides = dict.fromkeys(("enrolment", "trial"), "original")
    (row,) = read(searched(1.0, 1.9, 0.7, system="original", attacker=UNPROTECTED, **sides))
    assert (row.labels["system"], row.about.role) == ("unprotected", "control")
    (mine,) = read(searched(1.0, 1.9, 0.7, system="original"))
    assert (mine.labels["system"], mine.about) == ("original", About())  # a name that somebody gave


def test_rows_on_an_attribute_know_their_parts():
    rows = read(*protection())
    assert [row.about.question for row in rows] == ["attribute", "attribute", "identity"] * 2
    assert [row.about.role for row in rows] == ["control", "training", "utility", "attack", "training", "utility"]
    assert [row.labels["system"] for row in rows] == ["unprotected"] * 3 + ["linear"] * 3
    assert {row.about.attribute for row in rows if row.about.question == "attribute"} == {"sex"}
    (north,) = read(told("flow", 0.1, **{"class": "north"}))
    assert (north.about.of_class, north.labels["class"]) == ("north", "north")
    assert north.maps["vectors"].label == ("f", "m")


def test_rows_of_a_tandem_know_the_attack():
    rows = read(tandem("all", 0.2), tandem("A01", 0.6))
    assert [row.about for row in rows] == [About("spoofing", attack="all"), About("spoofing", attack="A01")]
    assert rows[0].surfaces["t_dcf"].z == ((0.1, 0.2), (0.3, float("inf")))
    assert [flag.code for flag in rows[0].flags] == ["speakers-unknown"]


def test_flags_come_with_their_codes():
    rows = read(*audited())
    assert [flag.code for flag in rows[1].flags] == ["attacker-at-chance"]
    few, odd = rows[3].flags
    assert few == Flag("few-speakers", "warning", FEW.partition(": ")[2])
    assert odd == Flag("note", "note", "odd: never heard of")
    for code, (severity, _) in FLAGS.items():
        (row,) = read({**audited()[0], "flags": [f"{code}: some words: and more."]})
        assert row.flags == (Flag(code, severity, "some words: and more."),)


def test_numbers_nulls_and_curves_are_as_they_were():
    row = read(*audited())[3]
    assert (row["d_ece"].value, row["d_ece"].low, row["d_ece"].high) == (0.6, 0.1, 0.5)
    assert row["d_ece"].null == Null(0.01, 0.03, 0.01, 0.59)
    assert row["d_ece"].p_value == 0.01
    assert row["tag"].value == "B"
    assert row["eer"].method == "interpolated"
    assert row.curves["lid_ccdf"].x == (float("-inf"), 0.5, 2.0)
    assert row.people.speaker == ("p1", "p2", "p3", "p4")
    assert row.is_search


def test_the_signature_is_kept_as_it_was_recorded():
    for row, old in zip(read(*audited(), tandem("all", 0.2)), [*audited(), tandem("all", 0.2)], strict=True):
        assert row.signature == old["signature"]
        assert row.setup.recorded == old["signature"]
        assert row.setup == Setup(recorded=row.signature, version=row.setup.version)


def test_what_was_read_is_written_in_the_new_format():
    rows = read(*audited(), *protection(), tandem("all", 0.2))
    text = to_json(rows)
    assert json.loads(text)["schema"] != OLD
    assert from_json(text) == rows


def test_the_verdict_of_an_old_audit():
    rows = read(*audited())
    found = verdict(rows)
    assert found.headline == "Protected voices are still recognised"
    assert (found.finding.strongest, found.finding.control, found.finding.floor) == (3, 0, 1)
    assert found.finding.chance[3].p_value == pytest.approx(0.04)  # two measures of two attackers, by Holm
    assert "without protection it is 100\u00a0%" in found.paragraph


def test_the_verdict_of_an_old_protection():
    rows = read(*protection())
    found = verdict(rows)
    assert found.headline == "Protected voices still give away sex"
    assert (found.finding.strongest, found.finding.control) == (3, 0)
    assert "errs in 20\u00a0% of the cases with the protection, and 20\u00a0% without" in found.paragraph
    assert [one.question for one in findings(rows)] == ["attribute"]


def test_the_verdict_of_an_old_tandem():
    found = verdict(read(tandem("A01", 0.6), tandem("all", 0.2), tandem("A02", 0.4)))
    assert found.headline == "How well spoofed speech is kept out"
    assert found.finding.strongest == 1
    assert "A01 is stopped least" in found.paragraph


@pytest.mark.parametrize("rows", [audited(), protection(), [tandem("all", 0.2), tandem("A01", 0.6)]])
def test_pages_of_old_results(rows):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from zeroevidence.report.html.page import to_html

    results = read(*rows)
    page = to_html(results)
    assert verdict(results).headline in page
    for row in results:
        assert row.signature in page
    intervals = any(one.low is not None for row in results for one in row.metrics.values())
    assert ("Intervals cover 95 %" in page) == intervals
    assert "seed" not in page[page.index('id="methods"') : page.index('id="reproduce"')]  # nobody knows it any more


def test_old_files_and_folders_are_read(tmp_path):
    (tmp_path / "result.json").write_text(document(*audited()))
    assert read_results(tmp_path) == read_results(tmp_path / "result.json") == read(*audited())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"flags": [3]}, r"row 1.flags\[0\]: expected text, got 3"),
        ({"labels": None}, "row 1.labels: expected names and values, got None"),
        ({"signature": 5}, "row 1.signature: expected text, got 5"),
        ({"counts": {"target": "many"}}, "row 1.counts.target: expected a whole number, got .many."),
    ],
)
def test_damaged_rows_are_refused(change, words):
    with pytest.raises(InputError, match=words):
        read({**audited()[0], **change})


@pytest.mark.parametrize("part", ["labels", "counts", "metrics", "flags", "signature"])
def test_rows_that_lack_something_are_refused(part):
    row = audited()[0]
    del row[part]
    with pytest.raises(InputError, match=f"not complete: it has no '{part}'"):
        read(row)

"""One result in many formats: same numbers, nothing lost, nothing that breaks the format."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.report import FORMATS, render
from zeroevidence.report.citations import BIBTEX
from zeroevidence.report.jsonfile import from_json

EVIL = "a|b & 50%_$\\{x}<script>\nnew"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return [
        ze.evaluate(
            ze.Scores(rng.normal(shift, 1, 50), rng.normal(0, 1, 400)),
            labels={"system": name, "sex": "f"},
            options=ze.Options(intervals=20, null=10),
        )
        for name, shift in (("weak", 0.3), (EVIL, 2.0))
    ]


def test_json_has_schema_and_full_precision(rows):
    document = json.loads(render(rows, "json"))
    assert document["schema"] == "zeroevidence/evaluation/1"
    assert document["signature"].startswith("ZE|rows:2|")
    for row, written in zip(rows, document["rows"], strict=True):
        assert written["labels"] == dict(row.labels)
        assert written["counts"] == {"target": 50, "nontarget": 400}
        assert written["flags"] == list(row.flags)
        for name, metric in row.metrics.items():
            assert written["metrics"][name]["value"] == metric.value
            assert written["metrics"][name]["unit"] == CATALOGUE[name].unit


def test_json_comes_back_as_it_was(rows):
    text = render(rows, "json")
    assert render(from_json(text), "json") == text


def test_infinite_values_are_valid_json():
    row = ze.evaluate(ze.Scores([-np.inf, 1.0], [0.0, 0.5]))
    text = render([row], "json")
    strict = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert strict["rows"][0]["metrics"]["cllr"]["value"] == "inf"
    assert from_json(text)[0].metrics["cllr"].value == np.inf


def _document(**changed):
    """A result of one row in which something is wrong."""
    row = {"labels": {}, "counts": {}, "metrics": {}, "flags": [], "signature": "ZE"}
    return json.dumps({"schema": "zeroevidence/evaluation/1", "rows": [{**row, **changed}]})


def test_what_is_not_a_number_comes_back(rows):
    metric = replace(rows[0].metrics["eer"], value=math.nan, low=-math.inf, high=math.inf)
    (back,) = from_json(render([rows[0].with_metrics({"eer": metric})], "json"))
    assert math.isnan(back.metrics["eer"].value)
    assert (back.metrics["eer"].low, back.metrics["eer"].high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "r.json:1: not JSON"),
        ("[]", "r.json: expected a result with schema"),
        ('{"schema": "other/1"}', "got 'other/1'"),
        ('{"schema": "zeroevidence/evaluation/1", "rows": [{}]}', "not complete"),
        ('{"schema": "zeroevidence/evaluation/1"}', "not complete"),
        (_document(counts={"target": "x"}), "target is 'x', expected a whole number"),
        (_document(labels={"system": 3}), "system is 3, expected text"),
        (_document(flags=[1]), "a flag is 1, expected text"),
        (_document(signature=None), "signature is None, expected text"),
        (_document(metrics={"eer": {"value": 0.5}}), "unit of eer is None"),
        (_document(metrics={"eer": {"value": 0.5, "unit": "rate", "low": "x"}}), "'x' is not a number"),
        (_document(metrics={"eer": {"value": True, "unit": "rate"}}), "True is not a number"),
        (_document(metrics={"eer": {"unit": "rate"}}), "it has no 'value'"),
    ],
)
def test_json_that_is_none_of_ours(text, message):
    with pytest.raises(InputError, match=message):
        from_json(text, path="r.json")


def test_csv_has_a_line_for_each_number(rows):
    lines = list(csv.DictReader(io.StringIO(render(rows, "csv"))))
    value = next(x["value"] for x in lines if x["measure"] == "d_ece" and x["system"] == EVIL)
    assert float(value) == rows[1].metrics["d_ece"].value
    assert {x["key"] for x in lines if x["measure"] == "tag_counts"} == {"0", "A", "B", "C", "D", "E", "F"}
    assert all(x["signature"].startswith("ZE|") for x in lines)


def test_markdown_is_one_table_whatever_the_labels(rows):
    lines = render(rows, "md").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "<script" not in "".join(lines)
    assert f"{100 * rows[0].metrics['eer'].value:.2f}" in table[2]


def test_latex_is_escaped(rows):
    text = render(rows, "latex")
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(body) == 3
    assert len({line.replace(r"\&", "").count("&") for line in body}) == 1
    assert r"a|b \& 50\%\_\$\textbackslash{}\{x\}" in text


def test_text_explains_a_single_row(rows):
    text = render(rows[:1], "text")
    assert "perfect privacy" in text
    assert rows[0].signature in text


def test_text_table_shows_every_row(rows):
    text = render(rows, "text")
    for row in rows:
        assert row.signature in text
        assert f"{row.metrics['d_ece'].value:.4f}" in text
    assert "\x1b" not in text


def test_unknown_format():
    with pytest.raises(UsageError, match="expected one of text, json, md, latex, csv"):
        render([], "xml")
    assert FORMATS == ("text", "json", "md", "latex", "csv")


def test_every_reference_has_an_entry_and_every_entry_is_used():
    used = {key for entry in CATALOGUE.values() for key in entry.references}
    assert used == set(BIBTEX)

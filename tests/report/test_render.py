"""One result in many formats: same numbers, nothing lost, nothing that breaks the format."""

import csv
import io
import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.measure_result import RESULT_COLUMNS
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import FORMATS, render
from zeroevidence.report.table import result_cell

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
    assert document["schema"] == "zeroevidence/evaluation/3"
    assert document["signature"].startswith("ZE|rows:2|")
    for row, written in zip(rows, document["rows"], strict=True):
        assert written["labels"] == dict(row.labels)
        assert written["counts"] == {"target": 50, "nontarget": 400}
        assert written["flags"] == [asdict(flag) for flag in row.flags]
        for name, metric in row.metrics.items():
            assert written["metrics"][name]["value"] == metric.value
            assert written["metrics"][name]["unit"] == MEASURES[name].unit


def test_json_comes_back_as_it_was(rows):
    text = render(rows, "json")
    assert render(from_json(text), "json") == text


_ROW = {"labels": {}, "counts": {}, "metrics": {}, "flags": [], "signature": "ZE"}


def _document(**changed):
    """A result of one row in which something is wrong."""
    row = {**_ROW, "about": {}, "setup": {}, **changed}
    return json.dumps({"schema": "zeroevidence/evaluation/3", "rows": [row]})


def test_what_is_not_a_number_comes_back(rows):
    metric = replace(rows[0].metrics["eer"], value=math.nan, low=-math.inf, high=math.inf)
    text = render([rows[0].with_metrics({"eer": metric})], "json")
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    (back,) = from_json(text)
    assert math.isnan(back.metrics["eer"].value)
    assert (back.metrics["eer"].low, back.metrics["eer"].high) == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "r.json:1: not JSON"),
        ("[]", "r.json: expected a result with schema"),
        ('{"schema": "zeroevidence/evaluation/2", "rows": [{}]}', "earlier format .*; evaluate again"),
        ('{"schema": "zeroevidence/evaluation/3", "rows": [{}]}', "row 1: has no 'metrics'"),
        ('{"schema": "zeroevidence/evaluation/3"}', "has no rows"),
        (_document(about={"mood": "good"}), "row 1.about: has no field 'mood'; expected question, role"),
        (_document(metrics={"eer": {"value": 0.5}}), "row 1.metrics.eer: has no 'unit'"),
        (_document(metrics={"eer": {"value": "half", "unit": "rate"}}), "eer.value: expected a number, got 'half'"),
        (_document(metrics={"tag": {"value": "Z", "unit": "category"}}), "tag.value: expected 0 or A .* or F, got 'Z'"),
        (
            _document(metrics={"tag_counts": {"value": {"a": 3}, "unit": "count"}}),
            "tag_counts.value: expected numbers by the names 0, A, B, C, D, E, F, got a",
        ),
        (
            _document(metrics={"tag": {"value": "A", "unit": "category", "low": 0.1}}),
            "row 1.metrics.tag: has 'low', but its value is no single number",
        ),
        (_document(metrics={"eer": {"value": 1.5, "unit": "rate"}}), "1.5 lies outside of 0 to 1"),
        (_document(metrics={"eer": {"value": 0.5, "unit": "rate", "low": 0.4, "high": 0.3}}), "turned round"),
        (_document(counts={"target": -1}), "counts.target: expected a number from 0 on"),
        (_document(mood="good"), "row 1: has no part 'mood'; expected metrics, counts"),
    ],
)
def test_json_that_is_none_of_ours(text, message):
    with pytest.raises(InputError, match=message):
        from_json(text, path="r.json")


@pytest.mark.parametrize("value", [0.5, 3, "some", {"a": 1, "b": 0.5}, math.inf])
def test_measures_that_nobody_here_knows_are_kept(value):
    text = to_json(from_json(to_json([ze.Evaluation({"mine": ze.MeasureResult(value, "rate")})])))
    assert from_json(text)[0]["mine"].value == value


def test_csv_has_a_line_for_each_number(rows):
    text = render(rows, "csv")
    declared = " ".join(column.name for column in RESULT_COLUMNS if column.name != "estimate")
    assert declared == "value unit method low high bound per_person level p_value p_adjusted"
    columns = f"sex measure key {declared} flags signature"
    assert text.splitlines()[0].split(",") == ["system", *columns.split()]
    lines = list(csv.DictReader(io.StringIO(text)))
    value = next(x["value"] for x in lines if x["measure"] == "d_ece" and x["system"] == EVIL)
    assert float(value) == rows[1].metrics["d_ece"].value
    assert {x["key"] for x in lines if x["measure"] == "tag_counts"} == {"0", "A", "B", "C", "D", "E", "F"}
    assert all(x["signature"].startswith("ZE|") for x in lines)


@pytest.mark.parametrize("format", FORMATS)
def test_estimates_are_shown_where_asked_for(rows, format):
    """JSON always holds them; a column of tables stands behind the measures that have one."""
    plain, shown = (render(rows, format, measures=["d_ece", "linkability"], estimate=asked) for asked in (False, True))
    estimate = rows[1]["d_ece"].estimate
    assert estimate is not None
    assert abs(estimate - rows[1]["d_ece"].value) > 1e-3
    assert rows[1]["linkability"].estimate is None
    digits = str(estimate) if format in ("json", "csv") else f"{estimate:.4f}"
    assert digits in shown
    assert (digits in plain) == (format == "json")
    if format in ("md", "latex"):
        for name in ("D_ECE", "linkability"):
            heading = name.replace("D_ECE", r"$D_{\mathrm{ECE}}$" if format == "latex" else r"D\_ECE")
            assert shown.count(f"{heading} estimate") == (name == "D_ECE")


def test_markdown_is_one_table_whatever_the_labels(rows):
    lines = render(rows, "md").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 4
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert "<script" not in "".join(lines)
    assert f"{100 * rows[0].metrics['eer'].value:.2f}" in table[2]


def test_latex_is_escaped(rows):
    text = render(rows, "latex", measures=["eer"])
    body = [line.partition(" % row")[0] for line in text.splitlines() if r" \\" in line]
    assert body.pop(0) == r"\multicolumn{2}{l}{sex: f} \\"
    assert len(body) == 3
    assert len({line.replace(r"\&", "").count("&") for line in body}) == 1
    assert r"a|b \& 50\%\_\$\textbackslash{}\{x\}" in text


@pytest.mark.parametrize("format", ["md", "latex"])
def test_files_keep_signatures_and_say_shared_labels_once(rows, format):
    text = render(rows, format, measures=["eer"])
    assert all(row.signature in text for row in rows)
    assert text.count("sex: f") == 1


@pytest.mark.parametrize("format", ["text", "md", "latex"])
def test_measures_are_chosen_by_name(rows, format):
    text = render(rows, format, measures=["dcf_min", "cllr"])
    assert 0 < text.index("min DCF") < text.index("Cllr", text.index("min DCF"))
    cell = result_cell(rows[0].metrics["cllr"])
    assert f"{cell.fitted().text if format == 'latex' else cell.text}" in text
    assert "EER [" not in text
    with pytest.raises(UsageError, match="unknown measure 'eerie'"):
        render(rows, format, measures=["eerie"])


def test_unknown_format():
    with pytest.raises(UsageError, match="expected one of text, json, md, latex, csv"):
        render([], "xml")
    assert FORMATS == ("text", "json", "md", "latex", "csv")

"""One result in many formats: same numbers, nothing lost, nothing that breaks the format."""

import csv
import io
import json
import math
from dataclasses import asdict

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.errors import UsageError
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

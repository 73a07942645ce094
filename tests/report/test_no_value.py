"""A measure without a value: LID- where no utterance misleads, in every output."""

import csv
import io
import json

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.cli.output import Gate
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import findings
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import render
from zeroevidence.report.evaluations import listed_table
from zeroevidence.report.table import result_cell


@pytest.fixture(scope="module")
def row():
    """Twelve people whom every trial points to."""
    mated = np.repeat(np.arange(12), 3)
    scores = np.random.default_rng(0).normal(size=(36, 12)) * 0.1 + 5.0 * np.eye(12)[mated]
    return ze.evaluate(
        ze.ScoreMatrix(scores, mated), labels={"system": "clear"}, options=ze.Options(intervals=20, null=0)
    )


def test_value_is_missing_and_takes_no_interval(row):
    assert row["pdr"].value == 1.0
    assert np.isnan(row["lid_neg"].value)
    assert row.number("lid_neg") is None
    assert (row["lid_neg"].low, row["lid_neg"].high) == (None, None)
    assert MEASURES["lid_neg"].discloses == "up"  # the paper's arrow: lower is more private


def test_files_hold_null_and_an_empty_cell(row):
    assert json.loads(to_json([row]))["rows"][0]["metrics"]["lid_neg"]["value"] is None
    assert np.isnan(from_json(to_json([row]))[0]["lid_neg"].value)
    lines = {line["measure"]: line for line in csv.DictReader(io.StringIO(render([row], "csv")))}
    assert lines["lid_neg"]["value"] == ""
    assert float(lines["alid"]["value"]) == row["alid"].value
    frame = row.to_frame()
    assert frame.filter(frame["measure"] == "lid_neg")["value"].to_list() == [None]


def test_people_read_a_dash(row):
    assert result_cell(row["lid_neg"]).flat == "–"
    for text in (render([row], format, measures=["lid_neg"]) for format in ("md", "latex", "text")):
        assert "–" in text
        assert "nan" not in text
    assert "<td>–</td>" in row._repr_html_()
    table, _ = listed_table(findings([row])[0], ["lid_neg", "alid"])
    assert [(cell.text, cell.sort_key) for cell in table.cells[0]][-2] == ("–", "")


def test_gates_and_comparisons_say_that_it_is_missing(row):
    with pytest.raises(UsageError, match="clear has no lid_neg"):
        Gate.parse("lid_neg>0").failures([row])
    with pytest.raises(UsageError, match="has no lid_neg"):
        ze.compare([row, row], ["lid_neg"])

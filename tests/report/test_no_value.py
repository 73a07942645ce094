"""A measure without a value: LID- where no utterance misleads, in every output."""

import csv
import io
import json

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.finding.gate import Gate
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.evaluations import to_csv, to_latex, to_markdown, to_text
from zeroevidence.report.layout import value
from zeroevidence.report.page_tables import all_rows


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
    lines = {line["measure"]: line for line in csv.DictReader(io.StringIO(to_csv([row])))}
    assert lines["lid_neg"]["value"] == ""
    assert float(lines["alid"]["value"]) == row["alid"].value
    frame = row.to_frame()
    assert frame.filter(frame["measure"] == "lid_neg")["value"].to_list() == [None]


def test_people_read_a_dash(row):
    assert value(row["lid_neg"]) == "–"
    for text in (to_markdown([row], ["lid_neg"]), to_latex([row], ["lid_neg"]), to_text([row], measures=["lid_neg"])):
        assert "–" in text
        assert "nan" not in text
    assert "<td>–</td>" in row._repr_html_()
    assert "nan" not in repr(all_rows([row], None, ["lid_neg", "alid"]))


def test_gates_and_comparisons_say_that_it_is_missing(row):
    with pytest.raises(UsageError, match="clear has no lid_neg"):
        Gate.parse("lid_neg>0").failures([row])
    with pytest.raises(UsageError, match="has no lid_neg"):
        ze.compare([row, row], ["lid_neg"])

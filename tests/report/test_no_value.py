"""A measure without a value, in every output: LID- where no utterance misleads, LID+ where none reveals anything."""

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


@pytest.fixture(scope="module", params=["lid_neg", "lid_pos"])
def name(request):
    """The measure that has no value."""
    return request.param


@pytest.fixture(scope="module")
def row(name):
    """Twelve people whom every trial points to, or from whom every trial points away."""
    mated = np.repeat(np.arange(12), 3)
    scores, dev = (np.random.default_rng(seed).normal(size=(36, 12)) * 0.1 + 5.0 * np.eye(12)[mated] for seed in (0, 1))
    return ze.evaluate(
        ze.ScoreMatrix(scores if name == "lid_neg" else -scores, mated),
        dev=ze.ScoreMatrix(dev, mated),
        labels={"system": "clear"},
        options=ze.Options(intervals=20, null=0),
    )


def test_value_is_missing_and_takes_no_interval(row, name):
    assert row["pdr"].value == (1.0 if name == "lid_neg" else 0.0)
    assert np.isnan(row[name].value)
    assert row.number(name) is None
    assert (row[name].low, row[name].high) == (None, None)
    other = "lid_pos" if name == "lid_neg" else "lid_neg"
    assert row["alid"].value == pytest.approx(row[other].value)  # eq. 9: the share of the other is 1
    assert MEASURES[name].discloses == "up"  # the paper's arrow: lower is more private


def test_files_hold_null_and_an_empty_cell(row, name):
    assert json.loads(to_json([row]))["rows"][0]["metrics"][name]["value"] is None
    assert np.isnan(from_json(to_json([row]))[0][name].value)
    lines = {line["measure"]: line for line in csv.DictReader(io.StringIO(render([row], "csv")))}
    assert lines[name]["value"] == ""
    assert float(lines["alid"]["value"]) == row["alid"].value
    frame = row.to_frame()
    assert frame.filter(frame["measure"] == name)["value"].to_list() == [None]


def test_people_read_a_dash(row, name):
    assert result_cell(row[name]).flat == "–"
    for text in (render([row], format, measures=[name]) for format in ("md", "latex", "text")):
        assert "–" in text
        assert "nan" not in text
    assert "<td>–</td>" in row._repr_html_()
    table, _ = listed_table(findings([row])[0], [name, "alid"])
    assert [(cell.text, cell.sort_key) for cell in table.cells[0]][-2] == ("–", "")


def test_gates_and_comparisons_say_that_it_is_missing(row, name):
    with pytest.raises(UsageError, match=f"clear has no {name}"):
        Gate.parse(f"{name}>0").failures([row])
    with pytest.raises(UsageError, match=f"has no {name}"):
        ze.compare([row, row], [name])

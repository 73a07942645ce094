"""A column of results is declared once, beside its field, and every table and file follows."""

import csv
import io
import json
from dataclasses import fields, replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.evaluation.made import named_search
from zeroevidence.evaluation.results import to_json
from zeroevidence.evaluation.rows.evaluation import records, to_frame
from zeroevidence.evaluation.rows.measure_result import RESULT_COLUMNS, MeasureResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import render


@pytest.fixture(scope="module")
def row():
    mated = np.arange(60) % 12
    scores = np.random.default_rng(0).normal(size=(60, 12)) + 1.5 * np.eye(12)[mated]
    return ze.evaluate(named_search(scores, mated), options=ze.Options(null=20), run=ze.Run(level=0.9))


def test_columns_are_the_fields_that_hold_single_values():
    assert [column.name for column in RESULT_COLUMNS] == [
        *("value", "unit", "method", "estimate", "low", "high", "bound", "per_person", "level", "p_value"),
        "p_adjusted",
    ]
    assert {column.name for column in RESULT_COLUMNS} | {"null", "spread"} == {f.name for f in fields(MeasureResult)}


def test_every_column_reaches_every_table(row):
    names = {column.name for column in RESULT_COLUMNS}
    assert names <= set(next(iter(records([row]))))
    assert names <= set(to_frame([row]).columns)
    assert names <= set(next(csv.DictReader(io.StringIO(render([row], "csv", estimate=True)))))
    full = json.loads(to_json([row]))["rows"][0]["metrics"]["d_ece"]
    assert names - {"method", "per_person"} <= set(full)  # people have as many recordings each


def test_value_is_the_definition_whatever_else_is_computed(row):
    bare = ze.evaluate(row.scores, options=ze.Options(intervals=0, null=0))
    for name in ("d_ece", "cllr_min", "eer_rocch", "linkability", "dcf_min"):
        assert bare[name].value == row[name].value, name
        assert bare[name].estimate is None
        assert (row[name].estimate is not None) == MEASURES[name].estimated


def test_intervals_of_measures_without_an_estimate_are_corrected_all_the_same(row):
    """An interval lies around the corrected value, so that it holds that of people like these."""
    for name in ("linkability", "dcf_min"):
        result = row[name]
        corrected = row.replicates.corrected(name, result.value)
        assert result.estimate is None
        assert corrected != result.value
        low, high = np.clip(result.spread.limits(corrected, 0.9), 0.0, 1.0)
        assert (result.low, result.high) == (min(low, result.value), max(high, result.value))


def test_interval_and_bound_reach_the_value(row):
    for name, result in row.metrics.items():
        if result.low is not None:
            assert result.low <= result.value <= result.high, name
        if result.bound is not None:
            sign = 1.0 if MEASURES[name].discloses == "up" else -1.0
            assert sign * result.bound >= sign * result.value, name


def test_level_is_in_the_result_and_in_the_signature(row):
    assert row.setup.level == 0.9
    assert row["d_ece"].level == 0.9
    assert "|level:0.9|" in row.signature
    wide = ze.evaluate(row.scores, options=ze.Options(null=0), run=ze.Run(level=0.99))
    assert wide["eer"].low < row["eer"].low
    assert wide["eer"].high > row["eer"].high
    assert "90 % interval" in row._repr_html_()
    assert "95 %" not in row._repr_html_()


def test_quantile_of_the_null_is_at_the_level(row):
    null = row["d_ece"].null
    assert null.quantile == pytest.approx(np.quantile(null.draws, 0.9, method="higher"), rel=1e-5)


def test_a_number_stands_for_the_result():
    result = MeasureResult(0.25, "bit", estimate=0.2)
    assert (float(result), result.corrected, replace(result, estimate=None).corrected) == (0.25, 0.2, 0.25)
    with pytest.raises(TypeError, match="not a single number"):
        float(MeasureResult("A", "category"))

"""The confidence level of an evaluation in every text that is made of it."""

import pytest

import zeroevidence as ze
from zeroevidence.evaluation.rows.measure_result import RESULT_COLUMNS
from zeroevidence.report import page, render
from zeroevidence.report.inputs import ReportInputs
from zeroevidence.report.verdict import verdict

HOW = {"options": ze.Options(intervals=20, null=19), "run": ze.Run(level=0.9)}


@pytest.fixture(scope="module")
def rows(search, against):
    labels = {"dataset": "d", "backend": "cosine"}
    return [
        search(6.0, system="unprotected", about=against.control, **HOW, **labels),
        search(2.5, seed=3, system="sys", about=against.lazy, **HOW, **labels),
    ]


def test_texts_have_the_level_of_the_evaluation(rows):
    found = verdict(rows)
    for text in (render(rows, "text"), render(rows[1:], "text"), " ".join((*found.summary, found.paragraph))):
        assert "90\u00a0%" in text.replace(" %", "\u00a0%")
        assert "95\u00a0%" not in text.replace(" %", "\u00a0%")


def test_the_report_has_the_level_and_the_columns_that_results_declare(rows, without_figures):
    text = page.to_html(ReportInputs(rows)).replace("\u00a0", " ")
    assert "95 %" not in text
    assert "90 % interval</span>" in text
    assert "at most 10 %." in text  # of tests find a leak where nothing leaks
    numbers = text.partition('<section id="numbers"')[2].partition("</section>")[0]
    estimate = rows[1].metrics["d_ece"].estimate
    assert f"<small>estimate {estimate:.4f}</small>" in numbers
    assert all(
        column.description in text for column in RESULT_COLUMNS if column.in_report and column.name != "per_person"
    )

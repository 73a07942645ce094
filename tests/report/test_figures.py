"""Figures that other processes draw are those that this one draws."""

from __future__ import annotations

from functools import partial

import pytest

from zeroevidence import Options, Run, evaluate
from zeroevidence.parallel import compute_each
from zeroevidence.report.inputs import ReportInputs, ReportOptions
from zeroevidence.report.page import to_html

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


def test_the_page_is_the_same() -> None:
    rows = [
        evaluate(
            [2.0 + shift, 3.0, 1.5, 0.2],
            [0.0, 1.0, 1.7, -0.4],
            labels={"system": name},
            options=Options(intervals=0, null=0),
        )
        for name, shift in (("one", 0.0), ("two", 0.7))
    ]
    by_others = ReportOptions(each=partial(compute_each, run=Run(cores=2)))
    assert to_html(ReportInputs(rows), by_others) == to_html(ReportInputs(rows))

"""Tables of attributes show estimates where asked for."""

import pytest

from zeroevidence.evaluation import About, Evaluation, MeasureResult
from zeroevidence.report.attributes import render_attribute_classes, render_pareto_front

ATTACK = Evaluation(
    {
        "d_ece": MeasureResult(0.25, "bit", estimate=0.2125),
        "cllr_min": MeasureResult(0.5, "bit", estimate=0.5375),
        "tag_counts": MeasureResult({"A": 3}, "count"),
    },
    labels={"system": "flow", "attacker": "linear"},
    about=About(question="attribute", attribute="sex", protector="flow", strength=1.0),
)
VERIFICATION = Evaluation(
    {
        "eer": MeasureResult(0.1, "rate"),
        "top1": MeasureResult(0.9, "rate"),
        "cllr_min": MeasureResult(0.3, "bit", estimate=0.3215),
    },
    labels={"system": "flow"},
    about=About(role="utility", protector="flow", strength=1.0),
)


@pytest.mark.parametrize("format", ["text", "md", "latex"])
@pytest.mark.parametrize(
    ("render", "estimates"),
    [(render_attribute_classes, ("0.2125", "0.5375", "0.3215")), (render_pareto_front, ("0.2125",))],
)
def test_estimates_are_columns_where_asked_for(render, estimates, format):
    plain, shown = (render([ATTACK, VERIFICATION], format, estimate=asked) for asked in (False, True))
    for number in estimates:
        assert number not in plain
        assert number in shown
    assert "0.2500" in plain
    assert "0.2500" in shown

"""Results at the edges: nothing to see, everything to see, infinite, tiny and huge scores."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import spread
from zeroevidence import plot
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.reading.results import from_json, to_json

pytest.importorskip("matplotlib")

INF = np.inf
CASES = {
    "separated": ze.Scores([3.0, 4.0], [1.0, 2.0]),
    "equal": ze.Scores([1.0, 1.0], [1.0, 1.0]),
    "infinite": ze.Scores([INF, INF, 0.0], [-INF, 0.0]),
    "only infinite": ze.Scores([INF], [-INF]),
    "huge": ze.Scores([1e308, 1e300], [-1e308, 0.0]),
    "tiny": ze.Scores([5e-324, 0.0], [0.0, 1e-310]),
    "wrong way": ze.Scores([1.0, 2.0], [3.0, 4.0]),
    "perfect search": ze.ScoreMatrix(5 * np.eye(3), [0, 1, 2]),
    "flat search": ze.ScoreMatrix(np.ones((4, 3)), [0, 1, 2, 0]),
}


@pytest.mark.parametrize("name", spread(list(CASES), 4))
def test_every_figure_that_is_offered_can_be_drawn(name):
    result = ze.evaluate(CASES[name], labels={"system": name}, options=Options(intervals=0, null=0))
    row = from_json(to_json([result]))[0]
    kinds = plot.available(row)
    assert {"ece", "det", "tippett", "pav"} <= set(kinds)
    for kind in kinds:
        plot.to_bytes(kind, row, format="png")


def test_infinite_measures_are_no_points():
    result = ze.evaluate(CASES["infinite"], options=Options(intervals=0, null=0))
    worse = ze.evaluate(ze.Scores([-INF, 1.0], [INF, 0.0]), options=Options(intervals=0, null=0))
    assert worse.metrics["cllr"].value == INF
    assert len(plot.scatter([result, worse], x="cllr", y="eer").get_lines()) == 1
    with pytest.raises(ze.UsageError, match="as finite numbers"):
        plot.scatter(worse, x="cllr", y="eer")


def test_numbers_beyond_any_axis_are_drawn_at_its_end():
    row = ze.evaluate(CASES["perfect search"], options=Options(intervals=0, null=0))
    giant = {name: replace(curve, x=(*curve.x[:-1], 1.5e308)) for name, curve in row.curves.items() if curve.x}
    assert "<svg" in plot.to_svg("lid-ccdf", replace(row, curves=giant))

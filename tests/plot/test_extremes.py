"""Results at the edges: nothing to see, everything to see, infinite, tiny and huge scores."""

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import spread
from zeroevidence import plot
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json

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


@pytest.mark.parametrize("kind", ["lid-ccdf", "histogram", "det"])
def test_numbers_near_the_largest_that_there_are(kind):
    from dataclasses import replace

    from zeroevidence import ScoreMatrix, evaluate
    from zeroevidence.evaluation.rows.curves import Curve
    from zeroevidence.plot.figures import to_svg

    mated = np.arange(40) % 8
    scores = np.random.default_rng(0).normal(size=(40, 8)) + 2.0 * np.eye(8)[mated]
    row = evaluate(ScoreMatrix(scores, mated), options=Options(intervals=0, null=0))
    giant = {name: Curve((*one.x[:-1], 1.5e308), one.y, one.baseline) for name, one in row.curves.items() if one.x}
    try:
        assert "<svg" in to_svg(kind, replace(row, curves=giant))
    except ze.InputError as error:
        assert "too large to be drawn" in str(error)  # noqa: PT017 (either is right: which one depends on the axis)

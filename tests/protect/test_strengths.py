"""Strengths of protectors: limits, noise without another fit, and the Pareto front."""

from itertools import product

import numpy as np
import pytest

from tests.protect.people import voices
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.finding.beside import front_points, on_front
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.protect import AttackOptions, Roles
from zeroevidence.protect.strengths import STRENGTHS, Limit, assess_strengths, fit_at_strengths, set_strength
from zeroevidence.report.attributes import render_pareto_front


@pytest.fixture(scope="module")
def data():
    return voices()


@pytest.mark.parametrize("text", ["eer", "eer=", "eer=x%", "top1=3", "eer=-1%", "d_ece=nan"])
def test_limits_that_cannot_be_read(text):
    with pytest.raises(UsageError, match=r"expected eer=2%, eer=\+1% or d_ece=0\.1"):
        Limit.parse(text)


@pytest.mark.parametrize("text", ["eer=2%", "eer=+0.5%", "d_ece=0.1"])
def test_limits_are_written_as_they_are_read(text):
    assert str(Limit.parse(text)) == text


def test_strength_without_fitting_again(data):
    fitted = fit_at_strengths("leace", data, "sex", strengths=(0.0, 2.0))
    quiet, loud = fitted[0.0], fitted[2.0]
    assert (quiet.noise, loud.noise) == (0.0, 2.0)
    assert quiet.noise_root_ is loud.noise_root_
    np.testing.assert_array_equal(set_strength(loud, 0.0).transform(data.vectors), quiet.transform(data.vectors))


def test_points_that_nothing_beats():
    assert on_front([(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.5)]) == [True, True, False, True]
    assert on_front([(1.0, 1.0), (1.0, 1.0)]) == [True, True]


def test_the_front_over_strengths(data):
    attacked = AttackOptions(["logistic", "mean"])
    rows = assess_strengths(Roles.split(data, "sex"), "sex", {"leace": {}}, attacked, Options(intervals=0, null=0))
    points = front_points(rows)
    expected = [("unprotected", 0.0), *(("leace", strength) for strength in STRENGTHS)]
    assert [(point.protector, point.strength) for point in points] == expected
    assert float(points[1].utility["eer"]) < float(points[-1].utility["eer"])
    names = {"vector": {"logistic"}, "person": {"mean"}, "either": {"logistic", "mean"}}
    for (utility, sign), judged in product((("eer", 1.0), ("top1", -1.0)), names):
        points = front_points(rows, utility=utility, judged=judged)
        attacks = [row for row in rows if row.about.role != "training" and row.labels.get("attacker") in names[judged]]
        for point in points:
            place = (point.protector, point.strength)
            learned = [float(row["d_ece"]) for row in attacks if (row.about.protector, row.about.strength) == place]
            assert float(point.attack["d_ece"]) == max(learned)
        pairs = [(sign * float(point.utility[utility]), float(point.attack["d_ece"])) for point in points]
        assert [point.on_front for point in points] == on_front(pairs)
        assert any(point.on_front for point in points)
    assert front_points(from_json(to_json(rows)), utility="top1") == points
    for shown, tells_of_people in ((rows, True), ([row for row in rows if not row.about.pooled], False)):
        text = render_pareto_front(shown, "md")
        assert ("attacker of a person" in text) is tells_of_people
        assert ("No attacker had all vectors of a person" in text) is not tells_of_people

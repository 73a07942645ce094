"""How many people a protector needs: said where data can say it, and not otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.evaluation.reading.results import from_json, to_json
from zeroevidence.protect import LinearNuller, Roles, assess
from zeroevidence.protect.fitting import protector_fits
from zeroevidence.protect.tradeoff.extrapolation import PeopleEstimate, people_needed
from zeroevidence.protect.tradeoff.people_curve import (
    OVER_PEOPLE,
    PeopleCurve,
    add_people_curves,
    people_curve,
    with_curve,
)
from zeroevidence.report.html.page import to_html
from zeroevidence.report.tables.attribute_classes import render_attribute_classes

PEOPLE = np.array([10.0, 20.0, 40.0, 80.0])


def noisy(evidence, spread, seed=0):
    return evidence + np.random.default_rng(seed).normal(0.0, spread, (200, len(evidence)))


@pytest.mark.parametrize(("floor", "slope", "power"), [(0.02, 16.0, 1.0), (0.0, 1.5, 0.5), (0.05, 30.0, 1.0)])
def test_a_curve_of_the_form_is_continued(floor, slope, power):
    evidence = floor + slope * PEOPLE**-power
    truth = (slope / (0.1 - floor)) ** (1.0 / power)
    found = people_needed(PEOPLE, evidence, noisy(evidence, 0.0005), 0.1)
    assert found.people == pytest.approx(truth, rel=0.02)
    assert found.low < truth < found.high
    assert not found.why


@pytest.mark.parametrize(
    ("evidence", "spread", "words"),
    [
        (0.3 + 2.0 / PEOPLE, 0.002, "level off"),
        (0.5 + 0.0 * PEOPLE, 0.01, "does not fall"),
        (0.02 + 4.0 * PEOPLE**-0.5, 0.0005, "more than 10 times"),
        (0.6 - 0.01 * np.log(PEOPLE), 0.05, "does not fall"),
    ],
)
def test_what_cannot_be_said_is_not_said(evidence, spread, words):
    found = people_needed(PEOPLE, evidence, noisy(evidence, spread), 0.1)
    assert found.people is found.low is found.high is None
    assert words in found.why


def test_too_few_sizes_and_people_that_suffice():
    assert "too few" in people_needed(PEOPLE[:2], np.array([0.5, 0.3]), noisy(np.array([0.5, 0.3]), 0.01), 0.1).why
    small = np.array([0.3, 0.2, 0.1, 0.05])
    assert people_needed(PEOPLE, small, noisy(small, 0.005), 0.1).reached


def voices(rng, people, each=3, d=16, told=2.5):
    kinds = np.arange(people) % 2
    centre = rng.standard_normal((people, d))
    centre[:, 0] += told * kinds
    who = np.repeat(np.arange(people), each)
    names = np.array([f"s{i:03d}" for i in range(people)])
    x = centre[who] + 0.2 * rng.standard_normal((len(who), d))
    return Embeddings(
        x, np.array([f"u{i}" for i in range(len(who))]), names[who], {"sex": np.array(["f", "m"])[kinds[who]]}
    )


@pytest.fixture(scope="module")
def roles():
    return Roles.split(voices(np.random.default_rng(0), 288), "sex")


def test_more_people_leave_less(roles):
    seen = []

    def fit(some):
        seen.append(set(some.speakers.tolist()))
        return LinearNuller(shrinkage="auto").fit(some.vectors, some.attributes["sex"], speakers=some.speakers)

    curve = people_curve(fit, roles, "sex", classifiers=["logistic"])
    assert curve.people == (12, 24, 48, 96)
    assert curve.evidence[0] > curve.evidence[-1] + 0.05
    assert seen[0] < seen[1] < seen[2] < seen[-1]  # nested
    assert seen[0] != seen[3]  # drawn anew
    assert all(not some & set(roles.test.speakers.tolist()) for some in seen)
    assert people_curve(fit, roles, "sex", classifiers=["logistic"]) == curve


@slow
def test_rows_carry_the_curve_to_every_output(roles):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    fits = protector_fits(["linear"], "sex", parameters={"shrinkage": "auto"})
    protectors = {"linear": fits["linear"](roles.train)}
    rows = assess(
        protectors, roles, "sex", classifiers=["logistic", "lda", "fusion"], options=Options(intervals=0, null=0)
    )
    rows = add_people_curves(rows, fits, roles, "sex", target=0.05)
    (with_curve,) = [row for row in rows if OVER_PEOPLE in row.curves]
    assert with_curve is next(row for row in rows if row.about.role == "attack")
    codes = {flag.code for flag in with_curve.flags}
    assert len(codes & {"people-needed", "people-unknown", "people-enough"}) == 1
    assert ("people_needed" in with_curve) == ("people-needed" in codes)
    assert from_json(to_json(rows)) == rows
    text = render_attribute_classes(rows, "text")
    assert "D_ECE by the number of people fitted on" in text
    assert "for a D_ECE of 0.05" in " ".join(text.split()) or "people-enough" in text
    page = to_html(rows)
    assert "figure-over-training" in page
    assert render_attribute_classes(rows, "csv")


@pytest.mark.parametrize(
    ("needed", "code"),
    [
        (PeopleEstimate(50.0, 40.0, 70.0), "people-needed"),
        (PeopleEstimate(reached=True), "people-enough"),
        (PeopleEstimate(why="the curve does not fall"), "people-unknown"),
    ],
)
def test_one_of_three_notes_says_how_many_people_are_needed(needed, code):
    row = Evaluation({}, labels={"system": "linear"})
    (note,) = with_curve(row, PeopleCurve((10, 20), (0.4, 0.3), 0.1, needed, 0.95)).flags
    assert note.code == code
    assert "linear" in note.sentence

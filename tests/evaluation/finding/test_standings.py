"""Systems side by side: the attacker that learns most, the common scale, and what is missing."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.threat import threat_from_sides
from zeroevidence.evaluation import Evaluation, MeasureResult, Setup
from zeroevidence.evaluation.finding.standings import common_measure, lacks, standings
from zeroevidence.evaluation.rows.about import About

PLAIN = {"intervals": 0, "null": 0}


def search(shift, system, sides=("anonymised", "anonymised"), trained_on="original", people=8, **options):
    mated = np.repeat(np.arange(people), 3)
    scores = np.random.default_rng(0).normal(size=(len(mated), people)) + shift * np.eye(people)[mated]
    names = np.array([f"p{i}" for i in range(people)])
    matrix = ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)
    about = About.against(threat_from_sides(*sides, trained_on))
    return ze.evaluate(matrix, labels={"system": system}, about=about, **(PLAIN | options))


def published(system, eer):
    about = About.against(threat_from_sides("anonymised", "anonymised", "anonymised"))
    measured = {"eer": MeasureResult.of("eer", eer)}
    return Evaluation(measured, setup=Setup(recorded="as published|x:1"), labels={"system": system}, about=about)


def test_the_strongest_attack_of_each_system_and_its_control():
    rows = [
        search(3.0, "unprotected", ("original", "original")),
        search(0.2, "a", ("original", "anonymised")),
        search(1.5, "a"),
        search(0.5, "b"),
        published("c", 0.4),
        published("c", 0.2),
    ]
    lines = standings(rows)
    assert [(line.row, line.attempts, line.control) for line in lines] == [
        (2, (1, 2), 0),
        (3, (3,), 0),
        (5, (4, 5), 0),
    ]
    assert all(line.chance.beaten is None for line in lines)


def test_original_trials_say_nothing_about_a_system():
    rows = [search(3.0, "a", ("original", "original"), "anonymised"), search(0.5, "a")]
    assert rows[0].about.role == "attack"
    assert [line.row for line in standings(rows)] == [1]


def test_people_that_were_searched_apart_have_a_line_each():
    rows = [ze.evaluate([2.0, 1.0], [0.0, 1.5], labels={"system": "a", "sex": sex}, **PLAIN) for sex in "fm"]
    assert [line.row for line in standings(rows)] == [0, 1]


def test_the_scale_is_what_all_have_and_means_the_same_in_all():
    small, large = search(1.0, "a"), search(1.0, "b", people=12)
    assert common_measure([small, small]) == "alid"
    assert common_measure([small, large]) == "d_ece"
    assert common_measure([small, published("c", 0.3)]) == "eer"
    assert common_measure([Evaluation({}, labels={"system": "x"})]) is None


@pytest.mark.parametrize(
    ("options", "missing"), [(PLAIN, ["no-interval", "no-null"]), ({"intervals": 8, "null": 9}, [])]
)
def test_what_is_missing_is_a_value(options, missing):
    assert lacks(search(1.0, "a", **options)) == missing
    assert lacks(published("c", 0.3)) == ["published"]
    assert lacks(ze.evaluate([2.0, 1.0], [0.0, 1.5], **PLAIN))[:2] == ["no-search", "no-speakers"]

"""The EER over the pairs of a closed-set search: those of enrolled people, and when it is given."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeroevidence as ze
from tests.effort import repetitions
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs
from zeroevidence.report import render

QUICK = ze.Options(intervals=0, null=0)


def search(seed, strangers, people=12, level=0.0):
    """Five trials of each enrolled person, and trials of others, whose scores are higher by `level`."""
    rng = np.random.default_rng(seed)
    mated = np.concatenate((np.repeat(np.arange(people), 5), np.full(strangers, -1)))
    scores = rng.normal(size=(len(mated), people)).round(1)
    scores[mated < 0] += level
    enrolled = np.flatnonzero(mated >= 0)
    scores[enrolled, mated[enrolled]] += 1.5
    return ScoreMatrix(scores, mated)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(-2.0, 2.0))
@settings(max_examples=repetitions(5, 40))
def test_it_is_the_eer_without_trials_of_people_who_are_not_enrolled(seed, strangers, level):
    matrix = search(seed, strangers, level=level)
    row = ze.evaluate(matrix, options=QUICK)
    enrolled = matrix.take(np.flatnonzero(matrix.mated >= 0)).to_scores()
    assert row["eer_closed_set"].value == ze.eer(enrolled.target, enrolled.nontarget)
    everything = matrix.to_scores()
    assert row["eer"].value == ze.eer(everything.target, everything.nontarget)
    assert row["eer_closed_set"].method == "interpolated, pairs of the search"
    assert row["eer"].method == "interpolated, all pairs"
    (note,) = [flag.sentence for flag in row.flags if flag.code == "not-enrolled"]
    assert note.startswith(f"{strangers} trials are of people who are not enrolled")
    raised = ze.evaluate(matrix.with_scores(np.exp(matrix.scores)), options=QUICK)
    assert raised["eer_closed_set"].value == row["eer_closed_set"].value


def test_it_is_given_only_where_the_search_leaves_trials_out():
    row = ze.evaluate(search(0, 0), options=QUICK)
    assert "alid" in row
    assert "eer_closed_set" not in row
    assert row["eer"].method == "interpolated"
    assert not any(flag.code == "not-enrolled" for flag in row.flags)
    assert "eer_closed_set" not in ze.evaluate([1.0, 2.0], [0.0, 1.5], options=QUICK)


def test_trials_that_are_incomplete_are_left_out_without_the_note_on_enrolment():
    scores = search(0, 0).to_scores()
    keep = np.arange(len(scores.nontarget)) > 0
    pairs = Pairs(scores.nontarget_pairs.enrolment[keep], scores.nontarget_pairs.trial[keep])
    fewer = replace(scores, nontarget=scores.nontarget[keep], nontarget_pairs=pairs)
    row = ze.evaluate(fewer, options=QUICK)
    assert {flag.code for flag in row.flags} == {"incomplete-rows"}
    assert row.counts["incomplete"] == 1
    rest = search(0, 0).take(np.arange(1, 60)).to_scores()
    assert row["eer_closed_set"].value == ze.eer(rest.target, rest.nontarget)


def test_its_interval_is_that_of_the_search_alone():
    matrix = search(1, 20)
    row = ze.evaluate(matrix, options=ze.Options(intervals=50, null=0))
    alone = ze.evaluate(matrix.take(np.flatnonzero(matrix.mated >= 0)), options=ze.Options(intervals=50, null=0))
    for side in ("value", "low", "high", "bound"):
        assert getattr(row["eer_closed_set"], side) == pytest.approx(getattr(alone["eer"], side), abs=1e-9)
    assert json.loads(render([row], "json"))["rows"][0]["metrics"]["eer_closed_set"]["low"] is not None


def test_published_scores(shared):
    home = shared / "scores" / "vpc2020"
    case, dev = (read_scores(home / "samegender_f0orig" / f"aa_{sex}.scores", home / f"trials_{sex}") for sex in "fm")
    row = ze.evaluate(case, dev=dev, options=QUICK)
    assert 100 * row["eer"].value == pytest.approx(31.2, abs=0.05)
    assert 100 * row["eer_closed_set"].value == pytest.approx(32.1, abs=0.05)
    (note,) = [flag.sentence for flag in row.flags if flag.code == "not-enrolled"]
    assert note.startswith("186 trials are of people who are not enrolled: one-to-one measures such as the EER count")

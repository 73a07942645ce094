"""Flags: raised when they should be, and not otherwise."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Pairs
from zeroevidence.data.threat import threat_from_sides
from zeroevidence.evaluation import About, together
from zeroevidence.evaluation.rows.flags import FLAGS, Flag, flag

QUICK = ze.Options(intervals=20, null=40, linkability="pav")


def codes(row):
    return {flag.code for flag in row.flags}


def matrix(separation, n_speakers=20, per_speaker=8, seed=0, named=True):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    scores = rng.normal(size=(len(mated), n_speakers))
    scores[np.arange(len(mated)), mated] += separation
    names = np.array([f"{seed}s{i}" for i in range(n_speakers)])
    speakers = {"trial_speakers": names[mated], "enrolment_speakers": names} if named else {}
    return ze.ScoreMatrix(scores, mated, **speakers)


def test_a_good_evaluation_has_none():
    result = ze.evaluate(matrix(2.0), dev=matrix(2.0, seed=1), options=QUICK)
    assert result.flags == ()


def test_eer_above_half():
    assert "eer-above-half" in codes(ze.evaluate(matrix(-2.0), options=QUICK))


def test_chance_is_no_privacy():
    result = ze.evaluate(matrix(0.0), dev=matrix(0.0, seed=1), options=QUICK)
    assert "attacker-at-chance" in codes(result)
    assert "a weak attack is not evidence of privacy" in " ".join(flag.sentence for flag in result.flags)


def test_unknown_people():
    rng = np.random.default_rng(0)
    assert "scores-independent" in codes(
        ze.evaluate(ze.Scores(rng.normal(size=30) + 1, rng.normal(size=90)), options=QUICK)
    )
    assert "speakers-unknown" in codes(ze.evaluate(matrix(2.0, named=False), options=QUICK))


def test_few_speakers():
    assert "no-intervals" in codes(ze.evaluate(matrix(2.0, n_speakers=8), options=QUICK))
    assert "few-speakers" in codes(ze.evaluate(matrix(2.0, n_speakers=12), options=QUICK))


def test_overlap_unchecked():
    result = ze.evaluate(matrix(2.0), dev=matrix(2.0, seed=1, named=False), options=QUICK)
    assert "overlap-unchecked" in codes(result)


def test_incomplete_rows():
    scores = matrix(2.0).to_scores()
    fewer = ze.Scores(
        scores.target,
        scores.nontarget[1:],
        scores.target_pairs,
        Pairs(scores.nontarget_pairs.enrolment[1:], scores.nontarget_pairs.trial[1:]),
        scores.enrolments,
        scores.trials,
        scores.enrolment_speakers,
        scores.trial_speakers,
    )
    assert "incomplete-rows" in codes(ze.evaluate(fewer, options=QUICK))


def test_relaxed_rules_are_flagged():
    relaxed = (RelaxedRule("duplicates", 3, "keep-last"), RelaxedRule("missing", 12))
    result = ze.evaluate(matrix(2.0), options=QUICK, relaxed=relaxed)
    assert {"duplicates", "missing"} <= codes(result)
    assert "|duplicates:keep-last:3|missing:12|" in result.signature


SIDES = {
    "unprotected": ("original", "original", "original"),
    "ignorant": ("original", "anonymised", "original"),
    "lazy-informed": ("anonymised", "anonymised", "original"),
    "semi-informed": ("anonymised", "anonymised", "anonymised"),
}


def row(attacker, separation, system="x"):
    threat = threat_from_sides(*SIDES[attacker])
    assert threat.name == attacker
    return ze.evaluate(matrix(separation), labels={"system": system}, about=About.against(threat), options=QUICK)


def test_positive_control():
    alone = together([row("lazy-informed", 1.0)])
    assert "no-positive-control" in codes(alone[0])
    both = together([row("unprotected", 3.0), row("lazy-informed", 1.0)])
    assert all(one.flags == () for one in both)
    failed = together([row("unprotected", 0.0), row("lazy-informed", 1.0)])
    assert "control-failed" in codes(failed[0])


def test_attacker_weaker_than_a_cheaper_one():
    rows = together([row("unprotected", 3.0), row("ignorant", 2.0), row("lazy-informed", 1.0)])
    assert [("weaker-than-cheaper" in codes(one)) for one in rows] == [False, False, True]
    rows = together([row("unprotected", 3.0), row("ignorant", 1.0), row("semi-informed", 2.0)])
    assert not any("weaker-than-cheaper" in codes(one) for one in rows)
    other = together([row("unprotected", 3.0), row("ignorant", 2.0, "y"), row("lazy-informed", 1.0)])
    assert not any("weaker-than-cheaper" in codes(one) for one in other)


@pytest.mark.parametrize("name", ["eer", "d_ece", "alid", "linkability", "top1"])
def test_every_scalar_has_an_interval_around_it(name):
    result = ze.evaluate(matrix(1.0), options=ze.Options(intervals=300, null=0))
    metric = result.metrics[name]
    assert metric.low < metric.high
    assert metric.low - 0.05 <= metric.value <= metric.high + 0.05


def test_a_flag_is_a_value():
    one = flag("missing", count=3)
    assert (one.code, one.severity) == ("missing", "warning")
    assert str(one).startswith("missing: 3 trials")
    with pytest.raises(ze.UsageError, match="severity"):
        Flag("x", "loud", "sentence")
    assert all(severity in ("fault", "warning", "note") for severity, _ in FLAGS.values())


def test_the_bound_where_nothing_is_to_find_is_not_blamed_for_finding_nothing():
    threat = ze.ThreatModel("random", "noise", "noise")
    row = ze.evaluate(matrix(-0.3), about=About.against(threat), options=QUICK)
    assert row["eer"].value > 0.5
    assert not {"attacker-at-chance", "eer-above-half"} & codes(row)

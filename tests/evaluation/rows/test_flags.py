"""Flags: raised when they should be, and not otherwise."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.data.scores import Pairs
from zeroevidence.data.threat import threat_from_sides
from zeroevidence.evaluation import About, MeasureResult, flag_rows
from zeroevidence.evaluation.rows.flags import FLAGS, Flag, flag
from zeroevidence.protect.assessment.rows import negative_bits_flags
from zeroevidence.uncertainty.spread import Spread

QUICK = ze.Options(intervals=20, null=20, linkability="pav")


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


@pytest.mark.parametrize(
    ("code", "separation", "dev", "changed"),
    [
        ("eer-above-half", -2.0, None, {}),
        ("attacker-at-chance", 0.0, matrix(0.0, seed=1), {}),
        ("overlap-unchecked", 2.0, matrix(2.0, seed=1, named=False), {}),
        ("not-enrolled", 2.0, None, {"mated": np.where(np.arange(160) < 4, -1, matrix(2.0).mated)}),
    ],
)
def test_each_flag_has_its_reason(code, separation, dev, changed):
    """`test_a_good_evaluation_has_none` is the other side."""
    assert code in codes(ze.evaluate(replace(matrix(separation), **changed), dev=dev, options=QUICK))


def test_unknown_people():
    rng = np.random.default_rng(0)
    assert "scores-independent" in codes(
        ze.evaluate(ze.Scores(rng.normal(size=30) + 1, rng.normal(size=90)), options=QUICK)
    )
    assert "speakers-unknown" in codes(ze.evaluate(matrix(2.0, named=False), options=QUICK))


@pytest.mark.parametrize(
    ("people", "separation", "expected"),
    [
        (8, 2.0, {"no-intervals"}),
        (12, 2.0, {"few-speakers"}),
        (9, 0.0, {"no-intervals", "too-few-to-test"}),
        (10, 0.0, {"few-speakers", "attacker-at-chance"}),
    ],
)
def test_few_speakers(people, separation, expected):
    found = codes(ze.evaluate(matrix(separation, n_speakers=people), options=QUICK))
    assert found & {"no-intervals", "few-speakers", "too-few-to-test", "attacker-at-chance"} == expected


SIDES = {
    "unprotected": ("original", "original", "original"),
    "ignorant": ("original", "anonymised", "original"),
    "lazy-informed": ("anonymised", "anonymised", "original"),
    "semi-informed": ("anonymised", "anonymised", "anonymised"),
}


@cache
def row(attacker, separation, system="x"):
    threat = threat_from_sides(*SIDES[attacker])
    assert threat.name == attacker
    return ze.evaluate(matrix(separation), labels={"system": system}, about=About.against(threat), options=QUICK)


def test_positive_control():
    alone = flag_rows([row("lazy-informed", 1.0)])
    assert "no-positive-control" in codes(alone[0])
    both = flag_rows([row("unprotected", 3.0), row("lazy-informed", 1.0)])
    assert all(one.flags == () for one in both)
    failed = flag_rows([row("unprotected", 0.0), row("lazy-informed", 1.0)])
    assert "control-failed" in codes(failed[0])


def test_attacker_weaker_than_a_cheaper_one():
    rows = flag_rows([row("unprotected", 3.0), row("ignorant", 2.0), row("lazy-informed", 1.0)])
    assert [("weaker-than-cheaper" in codes(one)) for one in rows] == [False, False, True]
    rows = flag_rows([row("unprotected", 3.0), row("ignorant", 1.0), row("semi-informed", 2.0)])
    assert not any("weaker-than-cheaper" in codes(one) for one in rows)
    other = flag_rows([row("unprotected", 3.0), row("ignorant", 2.0, "y"), row("lazy-informed", 1.0)])
    assert not any("weaker-than-cheaper" in codes(one) for one in other)


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


def some_pairs(seed):
    """Comparisons of people whom nothing tells apart: all of one person, and some of two."""
    scores = matrix(0.0, per_speaker=3, seed=seed).to_scores()
    kept = np.flatnonzero(np.random.default_rng(seed).random(len(scores.nontarget)) < 0.3)
    pairs = Pairs(scores.nontarget_pairs.enrolment[kept], scores.nontarget_pairs.trial[kept])
    return replace(scores, nontarget=scores.nontarget[kept], nontarget_pairs=pairs)


@pytest.mark.parametrize("intervals", [20, pytest.param(0, marks=slow)])
def test_perfect_protection_is_hardly_ever_called_a_fault(intervals):
    options = ze.Options(intervals=intervals, null=0, linkability="pav")
    rows = [ze.evaluate(some_pairs(seed), options=options) for seed in range(40)]
    assert sum(row.number("eer") > 0.5 for row in rows) > 10
    assert sum("eer-above-half" in codes(row) for row in rows) <= 1  # of 40: 2.5 %


RELAXED = ("pooled", "negated", "llr-unit", "llr-column", "no-attack", "duplicates", "missing", "infinite")


@pytest.mark.parametrize("rule", RELAXED)
def test_a_relaxed_rule_is_told_and_no_other(rule):
    plain = ze.Options(intervals=0, null=0, linkability="pav")
    scores = [2.0, 3.0, 1.5], [0.0, 1.0, 1.7]
    row = ze.evaluate(*scores, options=plain, relaxed=(RelaxedRule(rule, 3, "10"),))
    assert codes(row) & set(RELAXED) == {rule}
    assert not codes(ze.evaluate(*scores, options=plain)) & set(RELAXED)


def measured_row(attacker, spread=None, **values):
    """A row by hand; `spread` is the standard error of its first measure."""
    metrics = {name: MeasureResult.of(name, value) for name, value in values.items()}
    first = next(iter(metrics))
    known = None if spread is None else Spread(spread, 30.0, 29.0, 0.0, 0.0)
    metrics[first] = replace(metrics[first], spread=known)
    threat = threat_from_sides(*SIDES[attacker])
    counts = {"identities": 30, "trials": 90, "speakers": 30}
    return ze.Evaluation(metrics, counts, labels={"system": "x"}, about=About.against(threat))


@pytest.mark.parametrize(
    ("cheap", "informed", "spread", "weaker"),
    [
        ({"top1": 0.5}, {"top1": 0.2}, 0.05, True),
        ({"top1": 0.5}, {"top1": 0.4}, 0.05, False),  # within the interval of the difference
        ({"top1": 0.5}, {"top1": 0.2}, None, False),  # nothing says how far other people would move it
        ({"top1": 0.2}, {"top1": 0.5}, 0.05, False),
        # top-1 decides where there is one: D_ECE may say the contrary
        ({"top1": 0.2, "d_ece": 0.3}, {"top1": 0.3, "d_ece": 0.1}, 0.01, False),
        ({"top1": 0.3, "d_ece": 0.1}, {"top1": 0.2, "d_ece": 0.3}, 0.01, True),
        ({"d_ece": 0.3}, {"d_ece": 0.1}, 0.01, True),
        ({"d_ece": 0.11}, {"d_ece": 0.1}, 0.01, False),
    ],
)
def test_an_attacker_is_weaker_beyond_the_interval_of_the_difference(cheap, informed, spread, weaker):
    rows = flag_rows([measured_row("ignorant", spread, **cheap), measured_row("lazy-informed", spread, **informed)])
    assert ["weaker-than-cheaper" in codes(one) for one in rows] == [False, weaker]


def test_negative_bits_are_noted():
    for bits, expected in ((-0.1, {"bits-negative"}), (0.0, set()), (0.1, set())):
        flags = negative_bits_flags({"attribute_bits": MeasureResult(bits, "bit")})
        assert {flag.code for flag in flags} == expected

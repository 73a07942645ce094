"""Paired comparison: differences, correction, ranking, refusal."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import zeroevidence as ze
from zeroevidence.evaluation.comparable import check_same_trials
from zeroevidence.evaluation.comparison import compare
from zeroevidence.uncertainty.compare import Difference, MeasuredSystem, difference, holm, holm_levels, tie_groups
from zeroevidence.uncertainty.spread import Spread


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(
    st.lists(
        st.tuples(st.floats(-1.0, 1.0), st.floats(0.01, 1.0), st.integers(5, 60), st.floats(0, 1), st.floats(0, 1)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([0.8, 0.95, 0.99]),
)
def test_an_adjusted_interval_excludes_0_exactly_where_the_adjusted_p_value_is_small(drawn, level):
    spreads = [(value, Spread(error, people, people - 1.0, *beyond)) for value, error, people, *beyond in drawn]
    found = [Difference.from_spread(value, spread, level) for value, spread in spreads]
    p_values = [one.p_value for one in found]
    for one, p, tested in zip(found, holm(p_values), holm_levels(p_values, level), strict=True):
        adjusted = one.at_level(tested)
        assert tested >= level - 1e-12
        assert adjusted.low <= one.low + 1e-12
        assert adjusted.high >= one.high - 1e-12
        if abs(p - (1.0 - level)) > 1e-9:  # but for rounding
            assert (adjusted.low > 0.0 or adjusted.high < 0.0) == (p < 1.0 - level)


def test_levels_of_holm_by_hand():
    """Of three pairs the first is tested at a third of 5 %, the second at a half; none after one that fails."""
    assert holm_levels([0.03, 0.001, 0.2]) == pytest.approx([0.975, 1 - 0.05 / 3, 0.975])
    assert holm_levels([0.001, 0.02, 0.04]) == pytest.approx([1 - 0.05 / 3, 0.975, 0.95])
    assert holm_levels([0.02, 0.02]) == pytest.approx([0.975, 0.95])
    assert (holm_levels([0.9]), holm_levels([])) == (pytest.approx([0.95]), [])


@pytest.mark.parametrize("level", [0.95, 0.995])
def test_a_detectable_difference_is_seen_as_often_as_said(level):
    """Means over 30 people whose differences are Gaussian, and differ by what is said to be detectable."""
    rng = np.random.default_rng(1)
    unshifted = rng.normal(0.0, 0.1, (600, 30))

    def found(values):
        without = (values.sum() - values) / 29
        nothing = MeasuredSystem(0.0, np.zeros(30))
        return difference(MeasuredSystem(values.mean(), without), nothing, SHARES, 30.0).at_level(level)

    size = np.mean([found(values).detectable for values in unshifted])
    seen = np.mean([found(values + size).low > 0.0 for values in unshifted])
    half = np.mean([found(values + size / 2).low > 0.0 for values in unshifted])
    assert seen == pytest.approx(0.8, abs=0.05)
    assert half < 0.5


SHARES = np.full(30, 1 / 30)


def test_a_system_does_not_differ_from_itself():
    drawn = np.random.default_rng(0).normal(size=30)
    same = difference(MeasuredSystem(0.3, drawn), MeasuredSystem(0.3, drawn), SHARES, 30.0)
    assert (same.value, same.p_value, same.detectable) == (0.0, 1.0, None)
    assert np.isnan([same.low, same.high]).all()


def test_common_noise_cancels():
    """Means over people who differ much from each other, but little between systems: a paired t test."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=30), 0.01 * rng.normal(size=30)
    first, second = common + own + 0.01, common
    found = difference(*(MeasuredSystem(one.mean(), (one.sum() - one) / 29) for one in (first, second)), SHARES, 30.0)
    paired = stats.ttest_rel(first, second)
    assert (found.low, found.high) == pytest.approx(paired.confidence_interval())
    assert found.p_value == pytest.approx(paired.pvalue)


def test_development_people_add_their_variance():
    rng = np.random.default_rng(0)
    people, others = rng.normal(size=30), rng.normal(size=20)
    values = MeasuredSystem(people.mean(), (people.sum() - people) / 29, (others.sum() - others) / 19)
    found = difference(values, MeasuredSystem(0.0, np.zeros(30), np.zeros(20)), SHARES, 30.0)
    assert found.spread.error == pytest.approx(np.sqrt(people.var(ddof=1) / 30 + others.var(ddof=1) / 20))
    fewer = difference(values, MeasuredSystem(0.0, np.zeros(30)), SHARES, 30.0)
    assert fewer.spread.error == pytest.approx(np.sqrt(people.var(ddof=1) / 30))


@pytest.mark.parametrize("people", [30, 12])
def test_trials_lost_to_one_rival_are_counted_once(people):
    """Chance alone decides, and each lost trial has one rival: the variance is that of independent trials.

    With few people less freedom would make limits longer, so that the spread stays.
    """
    rng, trials, estimated, values = np.random.default_rng(0), 10, [], []
    shares, speaker = np.full(people, 1 / people), np.repeat(np.arange(people), trials)
    for _ in range(300):
        systems = []
        for _ in range(2):
            rival = (speaker + rng.integers(1, people, len(speaker))) % people
            lost = rng.random(len(speaker)) < 0.1
            pairs = np.zeros((people, people))
            np.add.at(pairs, (speaker[lost], rival[lost]), 1 / len(speaker))
            won = people * trials * (1 - pairs.sum())
            without = [
                (won - (trials - pairs[g].sum() * len(speaker)) + pairs[:, g].sum() * len(speaker))
                / (len(speaker) - trials)
                for g in range(people)
            ]
            systems.append(MeasuredSystem(won / len(speaker), np.array(without), None, pairs))
        once = difference(*systems, shares, people)
        twice = difference(*(replace(system, rivalries=None) for system in systems), shares, people)
        values.append(once.value)
        estimated.append((once.spread.error**2, twice.spread.error**2))
    true = 2 * 0.1 * 0.9 / (people * trials)
    assert np.var(values) == pytest.approx(true, rel=0.25)
    once, twice = np.mean(estimated, axis=0)
    assert twice == pytest.approx((0.9 + 1.0) / 0.9 * true, rel=0.1)
    assert once == pytest.approx(true if people == 30 else twice, rel=0.15)


def test_what_single_rivals_take_is_what_their_absence_gives():
    (data,) = systems((1.0,), n_speakers=12, per_speaker=4)
    measured = ze.evaluate(data, options=ze.Options(null=0)).replicates
    true, expected = data.scores[np.arange(48), data.mated][:, None], np.zeros((12, 12))
    for rival in range(12):
        others = np.delete(data.scores, rival, axis=1)
        gained = (others <= true).all(axis=1) & (data.scores > true).any(axis=1) & (data.mated != rival)
        expected[:, rival] = np.bincount(data.mated, gained, 12) / 48
    # groups are people in another order
    for name in ("top1", "link_probability"):
        for sums in (np.ravel, lambda pairs: pairs.sum(axis=0), lambda pairs: pairs.sum(axis=1)):
            assert np.sort(sums(measured.rivalries[name])) == pytest.approx(np.sort(sums(expected)))
    assert measured.rivalries["top1"].sum() > 0.0


def test_values_that_are_missing_tell_nothing():
    nothing = np.full(30, np.nan)
    found = difference(MeasuredSystem(0.3, nothing), MeasuredSystem(0.2, nothing), SHARES, 30.0)
    assert (found.p_value, found.detectable) == (1.0, None)
    assert found.at_level(0.99).level == 0.99


def test_groups_end_where_the_first_is_left_behind():
    # c differs from a; b differs from neither
    assert tie_groups("abc", {frozenset("ac")}) == [1, 1, 2]
    assert (tie_groups("cab", set()), tie_groups("a", set())) == ([1, 1, 1], [1])


def systems(separations, seed=0, n_speakers=30, per_speaker=10):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    names = np.array([f"s{i}" for i in range(n_speakers)])
    common = rng.normal(size=(len(mated), n_speakers))
    found = []
    for separation in separations:
        scores = common + 0.3 * rng.normal(size=common.shape)
        scores[np.arange(len(mated)), mated] += separation
        found.append(ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names))
    return found


@pytest.mark.parametrize("family", ["measure", "all"])
def test_ranking_and_ties(family):
    options = ze.Options(null=0)
    names = ("weak", "alike", "strong")
    made = zip(names, systems((0.5, 0.52, 2.5)), strict=True)
    rows = [ze.evaluate(data, labels={"system": name}, options=options) for name, data in made]
    comparisons = compare(rows, ("eer", "d_ece", "alid"), family=family)
    together = sorted(pair.difference.p_value for comparison in comparisons for pair in comparison.pairs)
    for comparison in comparisons:
        assert [one.system for one in comparison.ranking][-1] == "strong"
        assert [one.group for one in comparison.ranking] == [1, 1, 2], comparison.measure
        by_pair = {(one.first, one.second): one for one in comparison.pairs}
        assert by_pair["weak", "strong"].p_holm < 0.05
        assert by_pair["weak", "alike"].p_holm > 0.05
        assert comparison.signature.startswith("ZE|rows:3|")
        tested = together if family == "all" else sorted(pair.difference.p_value for pair in comparison.pairs)
        assert (comparison.tests, comparison.together) == ((9, 9) if family == "all" else (3, None))
        assert comparison.signature.endswith("|together:9") == (family == "all")
        # What is shown adds up: the ranking has the values, the differences are theirs, and their intervals hold them.
        values = {one.system: one.value for one in comparison.ranking}
        assert values == {row.labels["system"]: row[comparison.measure].value for row in rows}
        for one in comparison.pairs:
            assert one.difference.value == values[one.first] - values[one.second]
            assert one.difference.low <= one.difference.value <= one.difference.high
            assert (one.difference.low > 0 or one.difference.high < 0) == (one.p_holm < 0.05)
            assert comparison.tells_apart(one.second, one.first) == (one.p_holm < 0.05)
            assert one.difference.level > 0.95 or one.p_holm == max(pair.p_holm for pair in comparison.pairs)
            assert one.difference.detectable > 0
            place = tested.index(one.difference.p_value)
            stepped = [p * (len(tested) - before) for before, p in enumerate(tested[: place + 1])]
            assert one.p_holm == pytest.approx(min(1.0, max(stepped)))
        assert not comparison.is_first_told_apart


def test_other_trials_are_refused_and_named():
    one, two = systems((1.0, 1.0))
    check_same_trials([("a", one.to_scores()), ("b", two.to_scores())])
    fewer = two.take(np.arange(290))
    with pytest.raises(ze.InputError, match=r"10 target trial\(s\) of a are not target trials of b, among .*'29 290'"):
        check_same_trials([("a", one.to_scores()), ("b", fewer.to_scores())])
    with pytest.raises(ze.InputError, match=r"10 target trial\(s\) of b are not target trials of a"):
        check_same_trials([("a", fewer.to_scores()), ("b", two.to_scores())])


def test_trials_without_names_cannot_be_paired():
    with pytest.raises(ze.InputError, match="x: nobody said who was compared with whom"):
        check_same_trials([("x", ze.Scores([1.0], [0.0])), ("y", ze.Scores([1.0], [0.0]))])


def test_measures_that_cannot_be_compared():
    options = ze.Options(intervals=20, null=0)
    rows = [ze.evaluate(data, options=options) for data in systems((0.5, 1.0), n_speakers=5)]
    with pytest.raises(ze.UsageError, match="tag is not a measure that can be compared"):
        compare(rows, ("tag",))
    with pytest.raises(ze.UsageError, match="1 has no deid"):
        compare(rows, ("deid",))
    with pytest.raises(ze.UsageError, match="at least two systems"):
        compare(rows[:1], ("eer",))
    with pytest.raises(ze.UsageError, match="family: expected one of measure, all, got 'none'"):
        compare(rows, ("eer",), family="none")
    without = [replace(row, replicates=None) for row in rows]
    with pytest.raises(ze.UsageError, match="eer has no interval in these results"):
        compare(without, ("eer",))


def test_results_that_are_not_paired_are_refused():
    one, two = systems((0.5, 1.0), n_speakers=5)
    quick = {"options": ze.Options(intervals=20, null=0)}
    first = ze.evaluate(one, labels={"system": "a"}, **quick)
    with pytest.raises(ze.UsageError, match="b and a left out other people"):
        ze.compare([first, ze.evaluate(two, labels={"system": "b"}, run=ze.Run(seed=1), **quick)])
    fewer = ze.evaluate(two.take(np.arange(40)), labels={"system": "b"}, **quick)
    with pytest.raises(ze.InputError, match="are not target trials of b"):
        ze.compare([first, fewer])

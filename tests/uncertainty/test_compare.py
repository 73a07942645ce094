"""Paired comparison: differences, correction, ranking, refusal."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import zeroevidence as ze
from zeroevidence.evaluation.comparing.comparison import compare
from zeroevidence.evaluation.comparing.same_trials import check_same_trials
from zeroevidence.uncertainty.compare import difference, holm, tie_groups


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


SHARES = np.full(30, 1 / 30)


def test_a_system_does_not_differ_from_itself():
    drawn = np.random.default_rng(0).normal(size=30)
    same = difference(0.3, 0.3, (drawn, drawn), SHARES, 30.0)
    assert (same.value, same.low, same.high, same.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_common_noise_cancels():
    """Means over people who differ much from each other, but little between systems: a paired t test."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=30), 0.01 * rng.normal(size=30)
    first, second = common + own + 0.01, common
    left_out = tuple((one.sum() - one) / 29 for one in (first, second))
    found = difference(first.mean(), second.mean(), left_out, SHARES, 30.0)
    paired = stats.ttest_rel(first, second)
    assert 0 < found.low < paired.confidence_interval().low
    assert paired.pvalue < found.p_value < 0.01


def test_values_that_are_missing_tell_nothing():
    nothing = np.full(30, np.nan)
    assert difference(0.3, 0.2, (nothing, nothing), SHARES, 30.0).p_value == 1.0


def test_groups_end_where_the_first_is_left_behind():
    # 2 differs from 0; 1 differs from neither
    assert tie_groups([0, 1, 2], {frozenset((0, 2))}) == [1, 1, 2]
    assert tie_groups([2, 0, 1], set()) == [1, 1, 1]
    assert tie_groups([0], set()) == [1]


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


def test_ranking_and_ties():
    options = ze.Options(null=0)
    names = ("weak", "alike", "strong")
    rows = [
        ze.evaluate(data, labels={"system": name}, options=options)
        for name, data in zip(names, systems((0.5, 0.52, 2.5)), strict=True)
    ]
    for comparison in compare(rows, ("eer", "d_ece", "alid")):
        assert [one.system for one in comparison.ranking][-1] == "strong"
        assert [one.group for one in comparison.ranking] == [1, 1, 2], comparison.measure
        by_pair = {(one.first, one.second): one for one in comparison.pairs}
        assert by_pair["weak", "strong"].p_holm < 0.05
        assert by_pair["weak", "alike"].p_holm > 0.05
        assert comparison.signature.startswith("ZE|rows:3|")
        # What is shown adds up: the ranking has the values, the differences are theirs, and their intervals hold them.
        values = {one.system: one.value for one in comparison.ranking}
        assert values == {row.labels["system"]: row[comparison.measure].value for row in rows}
        for one in comparison.pairs:
            assert one.difference.value == values[one.first] - values[one.second]
            assert one.difference.low <= one.difference.value <= one.difference.high


def test_other_trials_are_refused_and_named():
    one, two = systems((1.0, 1.0))
    check_same_trials([("a", one.to_scores()), ("b", two.to_scores())])
    fewer = two.take(np.arange(290))
    with pytest.raises(
        ze.InputError, match=r"10 target trial\(s\) of a are not target trials of b, among them '29 290'"
    ):
        check_same_trials([("a", one.to_scores()), ("b", fewer.to_scores())])
    with pytest.raises(ze.InputError, match=r"10 target trial\(s\) of b are not target trials of a"):
        check_same_trials([("a", fewer.to_scores()), ("b", two.to_scores())])


def test_swapped_labels_are_other_trials():
    one, two = systems((1.0, 1.0), n_speakers=4, per_speaker=2)
    moved = ze.ScoreMatrix(two.scores, np.roll(two.mated, 1))
    with pytest.raises(ze.InputError, match="are not target trials of b"):
        check_same_trials([("a", one.to_scores()), ("b", moved.to_scores())])


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
    without = [replace(row, replicates=None) for row in rows]
    with pytest.raises(ze.UsageError, match="eer has no interval in these results"):
        compare(without, ("eer",))


def test_results_that_are_not_paired_are_refused():
    one, two = systems((0.5, 1.0), n_speakers=5)
    quick = {"null": 0, "intervals": 20}
    first = ze.evaluate(one, labels={"system": "a"}, **quick)
    with pytest.raises(ze.UsageError, match="b and a left out other people"):
        ze.compare([first, ze.evaluate(two, labels={"system": "b"}, seed=1, **quick)])
    fewer = ze.evaluate(two.take(np.arange(40)), labels={"system": "b"}, **quick)
    with pytest.raises(ze.InputError, match="are not target trials of b"):
        ze.compare([first, fewer])


def test_the_usual_measures_are_compared():
    rows = [ze.evaluate(data, null=0, intervals=20) for data in systems((0.5, 1.0), n_speakers=5)]
    assert [one.measure for one in ze.compare(rows)] == ["eer", "d_ece", "linkability", "alid"]

"""Limits against closed forms: means, rates without errors, two sources of spread; bias of few people."""

import numpy as np
import pytest
from scipy import stats

from zeroevidence.uncertainty.spread import (
    Spread,
    effective_number,
    estimate_bias,
    estimate_spread,
    is_biased,
)


def of_mean(sample):
    """The spread of a mean, by leaving values out."""
    left_out = np.array([np.delete(sample, i).mean() for i in range(len(sample))])
    return estimate_spread(sample.mean(), left_out, np.full(len(sample), 1 / len(sample)), float(len(sample)))


def test_the_standard_error_of_a_mean_is_the_usual_one():
    sample = np.random.default_rng(0).normal(size=25)
    found = of_mean(sample)
    assert found.error == pytest.approx(stats.sem(sample))
    assert found.freedom == 24


def test_without_room_for_the_unseen_limits_are_those_of_a_t_test():
    sample = np.random.default_rng(0).normal(1.0, 1.0, size=25)
    found = of_mean(sample)
    plain = Spread(found.error, found.people, found.freedom, 0.0, 0.0)
    expected = stats.ttest_1samp(sample, 0.0)
    assert plain.limits(sample.mean()) == pytest.approx(tuple(expected.confidence_interval()))
    assert plain.p_value(sample.mean()) == pytest.approx(expected.pvalue)
    one_sided = stats.ttest_1samp(sample, 0.0, alternative="less").confidence_interval()
    assert plain.at_most(sample.mean()) == pytest.approx(one_sided.high)
    assert plain.at_least(sample.mean()) == pytest.approx(2 * sample.mean() - one_sided.high)


def test_no_error_seen_is_clopper_and_pearson():
    found = estimate_spread(0.0, np.zeros(30), np.full(30, 1 / 30), 30.0, unseen=[1.0])
    exact = stats.binomtest(0, 30).proportion_ci(method="exact")
    assert found.limits(0.0) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("errors", [1, 2, 3])
def test_few_errors_are_near_clopper_and_pearson(errors):
    sample = np.zeros(30)
    sample[:errors] = 1.0
    left_out = (sample.sum() - sample) / 29
    found = estimate_spread(sample.mean(), left_out, np.full(30, 1 / 30), 30.0, unseen=[1.0 - sample.mean()])
    exact = stats.binomtest(errors, 30).proportion_ci(method="exact")
    assert found.limits(sample.mean())[1] == pytest.approx(exact.high, abs=0.03)


def test_many_alike_leave_little_room_for_the_unseen():
    sample = np.random.default_rng(1).normal(size=400)
    found = of_mean(sample)
    low, high = found.limits(sample.mean())
    expected = stats.ttest_1samp(sample, 0.0).confidence_interval()
    assert high - low == pytest.approx(expected.high - expected.low, rel=0.05)
    assert low < expected.low


def test_one_person_who_differs_widens_only_one_side():
    sample = np.append(np.zeros(29), 1.0)
    low, high = of_mean(sample).limits(sample.mean())
    assert high - sample.mean() > 1.2 * (sample.mean() - low)


def test_the_p_value_is_the_level_at_which_the_limit_touches_zero():
    found = Spread(error=0.1, people=20.0, freedom=19.0, below=0.5, above=0.2)
    level = 1.0 - found.p_value(0.4)
    assert found.limits(0.4, level)[0] == pytest.approx(0.0, abs=1e-9)
    assert found.p_value(0.0) == 1.0
    assert found.p_value(-0.4) < found.p_value(0.4)


def test_two_sources_by_welch_and_satterthwaite():
    first, second = Spread(0.3, 20.0, 19.0, 0.0, 0.0), Spread(0.4, 8.0, 7.0, 0.0, 0.0)
    both = first.combine(second)
    assert both.error == pytest.approx(0.5)
    assert both.freedom == pytest.approx(0.5**4 / (0.3**4 / 19 + 0.4**4 / 7))


def test_unequal_people_count_as_fewer():
    shares = 1.0 / np.arange(1, 31)
    assert effective_number(np.ones(30)) == pytest.approx(30.0)
    assert 9 < effective_number(shares) < 11


def test_nothing_to_leave_out_gives_no_spread():
    assert estimate_spread(0.1, np.array([0.1]), np.ones(1), 1.0) is None
    assert estimate_spread(0.1, np.array([np.nan, np.nan, 0.1]), np.full(3, 1 / 3), 3.0) is None
    assert estimate_spread(np.inf, np.zeros(9), np.full(9, 1 / 9), 9.0) is None


def test_two_groups_of_two_people_are_the_fewest():
    """The jackknife error of two values is half their distance, with one degree of freedom."""
    found = estimate_spread(0.5, np.array([0.4, 0.7]), np.full(2, 0.5), 2.0)
    assert found.error == pytest.approx(0.15)
    assert (found.people, found.freedom) == (2.0, 1.0)
    assert estimate_spread(0.5, np.array([0.4, np.nan, 0.7]), np.full(3, 1 / 3), 2.0).error == pytest.approx(0.15)
    assert estimate_spread(0.5, np.array([0.4, 0.7]), np.full(2, 0.5), np.nextafter(2.0, 0.0)) is None
    assert estimate_spread(0.5, np.array([0.4, np.nan]), np.full(2, 0.5), 9.0) is None
    assert estimate_spread(np.nan, np.array([0.4, 0.7]), np.full(2, 0.5), 9.0) is None


@pytest.mark.parametrize("kinds", [(), (-2.0,), (3.0,), (-2.0, 3.0)])
def test_room_for_people_of_unseen_kinds_by_hand(kinds):
    """What each group is by itself, weighed by how far the error rests on few and by one more person like that."""
    sample, people, more = np.array([0.0, 0.2, 0.3, 0.1, 1.4, 0.4]), 5.0, 0.1
    left_out = (sample.sum() - sample) / 5
    shares = np.array([0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
    found = estimate_spread(sample.mean(), left_out, shares, people, kinds, model_error=more)
    away = left_out.mean() - left_out
    error = np.sqrt(5 / 6 * (away**2).sum() + more**2)
    alone = away / np.maximum(shares, 1 / people)
    few = np.sqrt(min(1.0, 3.0 * (away**4).sum() / (away**2).sum() ** 2))
    for side, room in ((-1.0, found.below), (1.0, found.above)):
        unseen = max(0.0, *(side * alone), *(side * change for change in kinds))
        assert room == pytest.approx(unseen * max(few, min(1.0, unseen / people / error)))
    assert found.error == pytest.approx(error)
    assert found.freedom == people - 1.0


@pytest.mark.parametrize(("rule", "rate"), [("oracle", 3 / 4), ("kernel", 1 / 2), ("entropy", 1.0)])
def test_bias_is_exact_for_its_rate(rule, rate):
    n, bias = 50, 0.3
    value, halves = 1.0 + bias * n**-rate, np.full(8, 1.0 + bias * (n / 2) ** -rate)
    assert value - estimate_bias(value, halves, rule) == pytest.approx(1.0)
    assert estimate_bias(1.0, np.full(3, np.nan), rule) == 0.0
    assert is_biased(rule)


def test_more_people_bring_the_limit_nearer():
    found = of_mean(np.random.default_rng(0).normal(size=25))
    needed = found.people_for(0.1)
    assert found.of_people(needed).at_most(0.0) <= 0.1 < found.of_people(needed - 1).at_most(0.0)
    assert found.of_people(100.0).error == pytest.approx(found.error / 2.0)
    assert found.people_for(0.0) is None
    assert Spread(0.0, 10.0, 9.0, 0.0, 0.0).people_for(0.0) is None
    assert found.people_for(1e-9) is None


def test_a_mean_of_ten_thousand_needs_the_people_of_the_textbook():
    plain = Spread(error=0.1, people=100.0, freedom=99.0, below=0.0, above=0.0)  # a deviation of 1
    assert plain.people_for(0.05) == pytest.approx((1.645 / 0.05) ** 2, rel=0.01)

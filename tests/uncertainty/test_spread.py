"""Limits against closed forms: means, rates without errors, two sources of spread; bias of few people."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from zeroevidence.uncertainty.recordings import RecordingNumbers
from zeroevidence.uncertainty.spread import Spread, estimate_bias, estimate_spread, is_biased, skewed, unskewed


def of_mean(sample, numbers=None, unseen=()):
    """The spread of a mean over people, by leaving them out; skewness is corrected where numbers are given."""
    people = len(sample)
    left_out = (sample.sum() - sample) / (people - 1)
    recordings = None if numbers is None else RecordingNumbers.of(np.asarray(numbers, float))
    shares = np.full(people, 1 / people)
    return estimate_spread(sample.mean(), left_out, shares, float(people), unseen, recordings=recordings)


def test_without_numbers_of_recordings_limits_are_those_of_a_t_test():
    sample = np.random.default_rng(0).normal(1.0, 1.0, size=25)
    found = of_mean(sample)
    assert (found.error, found.freedom) == (pytest.approx(stats.sem(sample)), 24)
    expected = stats.ttest_1samp(sample, 0.0)
    assert found.limits(sample.mean()) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.p_value(sample.mean()) == pytest.approx(expected.pvalue)
    plain = Spread(found.error, found.people, found.freedom, 0.0, 0.0)
    one_sided = stats.ttest_1samp(sample, 0.0, alternative="less").confidence_interval()
    assert plain.at_most(sample.mean()) == pytest.approx(one_sided.high)
    assert plain.at_least(sample.mean()) == pytest.approx(2 * sample.mean() - one_sided.high)
    assert found.at_most(sample.mean()) > one_sided.high  # people of another kind are allowed for


def test_no_error_seen_is_clopper_and_pearson():
    found = estimate_spread(0.0, np.zeros(30), np.full(30, 1 / 30), 30.0, unseen=[1.0])
    exact = stats.binomtest(0, 30).proportion_ci(method="exact")
    assert found.limits(0.0) == pytest.approx((exact.low, exact.high))
    reverse = found.reverse()
    assert reverse.limits(0.0) == pytest.approx((-exact.high, 0.0))
    assert reverse.p_value(exact.high) == pytest.approx(0.05)


@pytest.mark.parametrize("exposed", [1, 2, 3, 10])
def test_a_few_exposed_people_are_a_rate_with_the_limits_of_a_binomial(exposed):
    """Garwood's limits of a count, which Clopper and Pearson's are near while the share is small."""
    sample = np.zeros(400)
    sample[:exposed] = 5.0
    low, high = of_mean(sample, np.full(400, 7)).limits(sample.mean())
    exact = stats.binomtest(exposed, 400).proportion_ci(method="exact")
    assert (low, high) == (pytest.approx(5.0 * exact.low, abs=0.003), pytest.approx(5.0 * exact.high, rel=0.04))


@pytest.mark.parametrize("skewness", [-1.0, -0.3, 0.0, 1e-4, 0.2, 1.0])
@pytest.mark.parametrize("quantile", [0.0, 1.6, 2.5])
def test_quantiles_of_a_skewed_value_and_back(quantile, skewness):
    away = skewed(quantile, skewness)
    assert unskewed(away, skewness) == pytest.approx(quantile, abs=1e-9)
    if skewness:
        events = skewness**-2.0
        tail = stats.norm.sf(quantile)
        other = stats.gamma.isf(tail, events + 1.0) - events if skewness > 0 else events - stats.gamma.ppf(tail, events)
        assert away == pytest.approx(other / np.sqrt(events), abs=1e-3)


def test_the_p_value_is_the_level_at_which_the_limit_touches_zero():
    found = Spread(error=0.1, people=20.0, freedom=19.0, below=0.5, above=0.2, skewness=0.3)
    for value in (0.25, -0.25):
        limits = found.limits(value, 1.0 - found.p_value(value))
        assert min(np.abs(limits)) == pytest.approx(0.0, abs=1e-9)
    assert found.p_value(0.0) == 1.0
    assert found.p_value(-0.25) > found.p_value(0.25)


def test_people_who_were_not_seen_are_in_one_sided_limits_alone():
    plain = Spread(error=0.1, people=20.0, freedom=19.0, below=0.0, above=0.0)
    allowed = Spread(error=0.1, people=20.0, freedom=19.0, below=2.0, above=3.0, talkative_above=0.5, tail=0.4)
    assert allowed.limits(0.4) == plain.limits(0.4)
    share = 1.0 - 0.05 ** (1.0 / 20.0)
    assert 0.4 - allowed.at_least(0.4) == pytest.approx(np.hypot(0.4 - plain.at_least(0.4), share * 2.0))
    one_sided = plain.at_most(0.4) - 0.4 + share**0.4 * 0.5
    assert allowed.at_most(0.4) - 0.4 == pytest.approx(np.hypot(one_sided, share * 3.0))


def test_equal_numbers_of_recordings_leave_no_room_for_talkative_people():
    found = of_mean(np.random.default_rng(1).normal(size=30), np.full(30, 10))
    assert (found.talkative_below, found.talkative_above) == (0.0, 0.0)


def test_numbers_of_recordings_by_a_law_of_pareto():
    """The tail of a Pareto law with exponent 2 weighs a half, and a share q of people has q^(1/2) of the recordings."""
    people = 2000
    numbers = 3.0 * ((np.arange(people) + 0.5) / people) ** -0.5
    found = RecordingNumbers.of(numbers)
    assert found.weight / (1.0 + (people // 2) ** -0.5) == pytest.approx(0.5, abs=0.01)
    assert found.upper == pytest.approx(0.5**0.5, abs=0.03)
    assert found.largest == np.log(numbers.max())
    grouped = RecordingNumbers.of(numbers, np.arange(people) % 200)
    assert (grouped.weight, grouped.upper, grouped.largest) == (found.weight, found.upper, found.largest)
    assert grouped.logs[3] == pytest.approx(np.average(np.log(numbers[3::200]), weights=numbers[3::200]))


@pytest.mark.parametrize("slope", [-0.1, 0.0, 0.1])
def test_the_exposure_of_talkative_people_is_on_a_line_by_hand(slope):
    """Without noise the line is exact: so many bits for each factor of e, up to e^2 times the largest number."""
    people = 40
    numbers = np.round(3.0 * ((np.arange(people) + 0.5) / people) ** -1.0)
    recordings, shares = RecordingNumbers.of(numbers), numbers / numbers.sum()
    mean = shares @ np.log(numbers)
    exposure = slope * (np.log(numbers) - mean)
    ahead = np.log(numbers.max()) + min(recordings.weight / (1.0 - recordings.weight), 2.0) - mean
    expected = max(0.0, slope * ahead) * recordings.upper * 2.0 ** (1.0 - recordings.weight)
    assert recordings.change(shares * exposure, 10.0) == pytest.approx(expected, abs=1e-9)
    most = 0.01 * recordings.upper * 2.0 ** (1.0 - recordings.weight)
    assert recordings.change(shares * exposure, 0.01) == pytest.approx(min(expected, most), abs=1e-9)


def test_who_speaks_most_does_not_decide_the_error_alone():
    """Of unequal people the error is at least that of pooled exposure, sqrt(sum s^2 / (1 - sum s^2) * sum s y^2)."""
    shares = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    exposure = np.array([0.0, 1.0, -1.0, 1.0, -1.0, 0.0])
    left_out = -shares * exposure / (1.0 - shares)
    numbers = RecordingNumbers.of(10.0 * shares)
    found = estimate_spread(0.0, left_out, shares, 10 / 3, recordings=numbers)
    expected = np.sqrt(0.3 / 0.7 * 0.4)
    assert found.error == pytest.approx(expected, rel=0.02)
    assert estimate_spread(0.0, left_out, shares, 10 / 3).error < 0.5 * expected
    equal = of_mean(exposure, np.full(6, 4))
    assert equal.error == pytest.approx(stats.sem(exposure))


@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0])
def test_correlation_of_exposure_and_number_of_recordings(sign):
    numbers = np.arange(1.0, 25.0) ** 2
    shares, noise = numbers / numbers.sum(), np.random.default_rng(3).normal(size=24)
    exposure = noise if sign == 0.0 else sign * np.log(numbers) + 0.3 * noise
    rho, p_value = RecordingNumbers.of(numbers).correlation(shares * exposure)
    expected = stats.spearmanr(numbers, exposure)
    assert rho == pytest.approx(expected.statistic)
    assert (p_value, p_value < 0.01) == (pytest.approx(expected.pvalue, abs=0.03), sign != 0.0)
    assert RecordingNumbers.of(np.full(24, 5.0)).correlation(exposure) is None


def test_two_sources_by_welch_and_satterthwaite():
    first, second = Spread(0.3, 20.0, 19.0, 0.0, 0.0), Spread(0.4, 8.0, 7.0, 0.0, 0.0)
    both = first.combine(second)
    assert both.error == pytest.approx(0.5)
    assert both.freedom == pytest.approx(0.5**4 / (0.3**4 / 19 + 0.4**4 / 7))


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
    assert (found.error, found.freedom) == (pytest.approx(error), people - 1.0)


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


@pytest.mark.parametrize(
    ("value", "error", "ends"),
    [(0.9, 0.05, (0, 1)), (0.02, 0.03, (0, 1)), (3.97, 0.1, (0, 4)), (-1.5, 0.4, (-np.inf, 0)), (2.9, 1, (-np.inf, 4))],
)
def test_limits_on_the_scale_of_odds(value, error, ends):
    """By odds between two ends, and by the distance to a single one; far steps grow in proportion."""
    low, high = ends
    quantile = stats.t.ppf(0.975, 29)
    if np.isfinite(low):
        share = (value - low) / (high - low)
        odds, steps = share / (1 - share), quantile * error / (high - low) / share / (1 - share)
    else:
        odds, steps = 1 / (high - value), quantile * error / (high - value)
    growth = np.exp(steps) if steps < 2 else np.exp(2) * (steps - 1)
    moved = np.array([odds / growth, odds * growth])
    expected = low + (high - low) * moved / (1 + moved) if np.isfinite(low) else high - 1 / moved
    spread = Spread(error=error, people=30.0, freedom=29.0, below=0.0, above=0.0)
    assert spread.limits_within(value, ends) == pytest.approx(expected)
    free = spread.limits_within(value, (-np.inf, np.inf))
    assert free == pytest.approx((value - quantile * error, value + quantile * error))
    nothing = replace(spread, error=0.0, above=1.0)
    assert nothing.limits_within(0.0, (0.0, 1.0)) == nothing.limits(0.0)

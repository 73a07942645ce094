"""ZEBRA against the paper's definitions, integrated numerically."""

import math
from decimal import Decimal, getcontext
from math import inf, log10, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import zeroevidence as ze
from zeroevidence.calibrate.pav import pav_llrs
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import (
    D_ECE_MAX,
    d_ece,
    d_ece_actual,
    ece_profile,
    evidence_gain,
    lp_disclosure,
    tag,
    tag_counts,
    tag_odds,
    tag_of,
    worst_case,
)

pytestmark = pytest.mark.filterwarnings("ignore:the EER exceeds", "ignore:all scores are 0 or 1")  # on purpose

few_values = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=25).map(np.array)


def exact_gain(a: float) -> float:
    """Eq. 6 with sixty digits."""
    getcontext().prec = 60
    x = Decimal(a).exp()
    return float(((x - 3) * (x - 1) + 2 * Decimal(a)) / (4 * (x - 1) ** 2))


@pytest.mark.parametrize("size", [1e-8, 1e-3, 0.0499, 0.0501, 0.3, 1.0, 5.0, 40.0])
def test_gain_has_twelve_digits(size):
    for a in (size, -size):
        assert evidence_gain(np.array([a]))[0] == pytest.approx(exact_gain(a), rel=1e-12)
    assert evidence_gain(np.array([300.0]))[0] == pytest.approx(exact_gain(300.0), rel=1e-12)


def test_gain_limits():
    assert evidence_gain(np.array([0.0, np.inf, 800.0])).tolist() == [0.0, 0.25, 0.25]
    assert evidence_gain(np.array([-np.inf]))[0] == -np.inf


@given(few_values, few_values)
def test_d_ece_is_the_area_between_the_profiles(target, nontarget):
    tar, non = pav_llrs(target, nontarget)

    def difference(prior):
        log_odds = np.log(prior / (1 - prior))
        adversary = prior * np.logaddexp(0, -(tar + log_odds)).mean()
        adversary += (1 - prior) * np.logaddexp(0, non + log_odds).mean()
        return -prior * np.log(prior) - (1 - prior) * np.log1p(-prior) - adversary

    area = integrate.quad(difference, 0, 1, limit=200)[0] / np.log(2)
    assert d_ece(target, nontarget) == pytest.approx(area, abs=1e-7)
    assert 0.0 <= d_ece(target, nontarget) <= D_ECE_MAX + 1e-12


def test_all_scores_equal():
    target, nontarget = np.full(30, 0.3), np.full(70, 0.3)
    assert d_ece(target, nontarget) == 0.0
    # The added pair on the side of the minority is pooled with the scores; the other stays apart, at even odds.
    assert worst_case(target, nontarget) == pytest.approx(abs(np.log10(31 / 71) - np.log10(30 / 70)))
    assert tag(target, nontarget) == "A"
    assert worst_case(target, target) == 0.0
    assert tag(target, target) == "0"
    assert tag_counts(target, target)["0"] == 60


def test_values_by_hand():
    separated = np.array([2.0, 3.0]), np.array([0.0, 1.0])
    assert d_ece(*separated) == pytest.approx(0.7213475204444817, abs=1e-15)
    four_by_four = np.array([0.9, 0.7, 0.5, 0.3]), np.repeat([0.8, 0.6, 0.4, 0.2], 3)
    assert d_ece(*four_by_four) == pytest.approx(0.1803368801, abs=1e-10)


@pytest.mark.parametrize(
    ("strength", "expected"),
    [
        (0.0, "0"),
        (1e-9, "A"),
        (1.0, "B"),
        (1.9999, "B"),
        (2.0, "C"),
        (np.log(1e4) / np.log(10), "D"),
        (5.5, "E"),
        (6, "F"),
        (np.inf, "F"),
    ],
)
def test_tag_boundaries(strength, expected):
    assert tag_of(strength) == expected


@given(few_values, few_values)
def test_tag_counts_count_every_score_and_hold_the_worst(target, nontarget):
    counts = tag_counts(target, nontarget)
    assert sum(counts.values()) == len(target) + len(nontarget)
    assert [name for name, n in counts.items() if n][-1] == tag(target, nontarget)


@given(few_values, few_values)
def test_profiles(target, nontarget):
    profile = ece_profile(target, nontarget)
    tar, non = pav_llrs(target, nontarget)
    prior = 1 / (1 + np.exp(-profile.log_odds[:, None]))
    for values, scores in (((target, nontarget), profile.actual), ((tar, non), profile.minimum)):
        direct = prior[:, 0] * np.logaddexp(0, -(values[0] + profile.log_odds[:, None])).mean(axis=1)
        direct += (1 - prior[:, 0]) * np.logaddexp(0, values[1] + profile.log_odds[:, None]).mean(axis=1)
        np.testing.assert_allclose(scores, direct / np.log(2), atol=1e-10)
    assert (profile.minimum <= profile.default + 1e-12).all()
    assert (profile.actual >= profile.minimum - 1e-10).all()
    assert profile.default.max() == pytest.approx(1.0)
    assert profile.area >= -1e-12


def test_order_preserving_maps_change_nothing():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 100), rng.normal(0, 1, 500)
    for metric in (d_ece, worst_case, tag, tag_counts):
        assert metric(np.exp(target), np.exp(nontarget)) == metric(target, nontarget)


@pytest.mark.parametrize("d", [0.5, 4.0])
def test_gaussian_closed_form(d):
    rng = np.random.default_rng(1)

    def density(a):
        return stats.norm.pdf(a, d / 2, np.sqrt(d)) * float(evidence_gain(np.array([a]))[0])

    expected = 2 * integrate.quad(density, -60, 60, limit=400, points=[0])[0] / np.log(2)
    drawn = [rng.normal(mean, np.sqrt(d), 300_000) for mean in (d / 2, -d / 2)]
    assert d_ece(*drawn) == pytest.approx(expected, abs=3e-3)


def test_odds_in_words_are_the_categories_of_the_measure():
    assert list(tag_odds()) == list("0ABCDEF")
    assert tag_odds() == MEASURES["tag"].categories


def z(x):
    """Z as equation 6 writes it."""
    return ((x - 3.0) * (x - 1.0) + 2.0 * math.log(x)) / (4.0 * (x - 1.0) ** 2)


def test_actual_disclosure_by_hand_and_as_an_area():
    llrs = [2.0, -1.0], [0.5, -3.0]
    by_hand = (z(math.e**2) + z(math.e**-1)) / 2.0 + (z(math.e**-0.5) + z(math.e**3)) / 2.0
    assert d_ece_actual(*llrs) == pytest.approx(by_hand / math.log(2.0), rel=1e-12)
    profile = ece_profile(*llrs, log_odds=np.linspace(-20.0, 20.0, 40_001))
    prior = 1.0 / (1.0 + np.exp(-profile.log_odds))
    assert d_ece_actual(*llrs) == pytest.approx(np.trapezoid(profile.default - profile.actual, prior), abs=1e-6)


def test_oracle_llrs_lose_nothing():
    rng = np.random.default_rng(0)
    target, nontarget = pav_llrs(rng.normal(1.0, 1.0, 300), rng.normal(0.0, 1.0, 900))
    found = ze.evaluate(target, nontarget, options=ze.Options(intervals=0, null=0))
    assert found["d_ece_actual"].value == pytest.approx(d_ece(target, nontarget), rel=1e-12)
    assert found["d_ece_loss"].value == pytest.approx(0.0, abs=1e-12)


def test_the_interval_of_the_actual_disclosure():
    """Leaving each person out on both sides by hand; what calibration costs is no leak and has no interval or null."""
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(12), 3)
    scores = rng.normal(size=(36, 12))
    scores[np.arange(36), mated] += 2.0
    scores = 4.0 * (scores - 1.0)  # four times too sure
    row = ze.evaluate(
        ze.ScoreMatrix(scores, mated, trial_speakers=mated, enrolment_speakers=range(12)), options=ze.Options(null=5)
    )
    without = []
    for person in range(12):
        rest = np.delete(scores[mated != person], person, axis=1)
        is_target = np.delete(np.eye(12, dtype=bool)[mated[mated != person]], person, axis=1)
        kept = rest[is_target], rest[~is_target]
        without.append(ze.d_ece_actual(*kept))
    actual, loss = row["d_ece_actual"], row["d_ece_loss"]
    assert actual.spread.error == pytest.approx(np.sqrt(11.0 * np.var(without)))
    assert actual.low < actual.value < actual.high
    assert {loss.low, loss.bound, loss.null, loss.p_value} == {None}


scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)
orders = st.one_of(st.floats(1.0, 60.0), st.just(inf))


def by_hand(target, nontarget, p):
    """The mean over each class of the power of every score's own LLR."""
    llrs = pav_llrs(np.array(target), np.array(nontarget), laplace=True)
    means = [np.mean((np.abs(llr) / np.log(10.0)) ** p) for llr in llrs]
    return ((means[0] + means[1]) / 2.0) ** (1.0 / p)


def test_equally_strong_evidence_has_one_norm_of_every_order():
    """Separated classes of n scores each: by Laplace's rule, every score is n + 1 to 1."""
    for n in (1, 10, 1000):
        norms = [lp_disclosure(np.ones(n), np.zeros(n), p=p) for p in (1.0, 1.5, 2.0, 300.0, inf)]
        assert norms == pytest.approx([log10(n + 1)] * 5, abs=1e-12)


def test_two_strengths_by_hand():
    """Three targets alone on top, then two of either class, then three non-targets alone: 4 to 1 or nothing."""
    target, nontarget = [2.0] * 3 + [1.0] * 2, [0.0] * 3 + [1.0] * 2
    for p in (1.0, 2.0, 7.0):
        assert lp_disclosure(target, nontarget, p=p) == pytest.approx(log10(4.0) * (3.0 / 5.0) ** (1.0 / p), abs=1e-12)
    assert lp_disclosure(target, nontarget, p=inf) == pytest.approx(log10(4.0))


@given(scores, scores, st.lists(orders, min_size=2, max_size=2).map(sorted))
def test_norms_rise_from_the_mean_to_the_worst_case(target, nontarget, powers):
    low, high = (lp_disclosure(target, nontarget, p=p) for p in powers)
    worst = ze.worst_case(target, nontarget)
    assert by_hand(target, nontarget, 1.0) - 1e-12 <= low <= high + 1e-12
    assert high <= worst + 1e-12
    assert lp_disclosure(target, nontarget, p=inf) == worst
    if powers[0] < inf:
        assert low == pytest.approx(by_hand(target, nontarget, powers[0]), rel=1e-9, abs=1e-12)
    increased = np.exp(np.array(target)), np.exp(np.array(nontarget))  # only the order of scores matters
    assert lp_disclosure(*increased, p=powers[0]) == pytest.approx(low, abs=1e-12)


def test_large_orders_neither_overflow_nor_vanish():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(2.0, 1.0, 300), rng.normal(0.0, 1.0, 3000)
    worst = ze.worst_case(target, nontarget)
    norms = [lp_disclosure(target, nontarget, p=p) for p in (10.0, 1e3, 1e6, 1e300)]
    assert norms == sorted(norms)
    assert norms[-1] == pytest.approx(worst, rel=1e-12)
    assert lp_disclosure([1.0, 1.0], [1.0, 1.0], p=3.0) == 0.0


@given(scores, scores, st.floats(1.0, 60.0))
def test_the_norm_of_footnote_7_is_a_sum_over_all_scores(target, nontarget, p):
    llrs = np.concatenate(pav_llrs(np.array(target), np.array(nontarget), laplace=True)) / np.log(10.0)
    found = lp_disclosure(target, nontarget, p=p, form="sum")
    assert found == pytest.approx(np.linalg.norm(llrs, p), rel=1e-9, abs=1e-12)
    assert found >= ze.worst_case(target, nontarget) - 1e-12  # "any other norm is larger"
    assert lp_disclosure(target, nontarget, p=inf, form="sum") == ze.worst_case(target, nontarget)


def test_norms_of_published_scores(published):
    target, nontarget = published("oo_f").classes
    llrs = published("oo_f").llrs / np.log(10.0)
    assert ze.worst_case(target, nontarget) == pytest.approx(np.abs(llrs).max(), abs=1e-9)
    for p, value in ((1.0, 19526.45), (2.0, 205.675), (10.0, 7.405)):
        expected = (np.abs(llrs) ** p).sum() ** (1 / p)
        assert expected == pytest.approx(value, rel=1e-4)
        assert lp_disclosure(target, nontarget, p=p, form="sum") == pytest.approx(expected, rel=1e-9)
    with pytest.raises(UsageError, match="form: expected one of mean, sum, got 'max'"):
        lp_disclosure(target, nontarget, form="max")


@pytest.mark.parametrize("p", [0.0, 0.5, -1.0, nan])
def test_orders_below_one_are_refused(p):
    with pytest.raises(UsageError, match="p: expected a number from 1 on, or infinity"):
        lp_disclosure([1.0], [0.0], p=p)


def test_the_curve_of_a_result_goes_from_the_mean_to_the_worst_case():
    rng = np.random.default_rng(1)
    target, nontarget = rng.normal(1.0, 1.0, 60), rng.normal(0.0, 1.0, 200)
    row = ze.evaluate(target, nontarget, options=ze.Options(intervals=0, null=0))
    curve = row.curves["lp_disclosure"]
    assert (curve.x[0], curve.x[-1]) == (1.0, 0.0)
    assert curve.y[0] == pytest.approx(by_hand(target, nontarget, 1.0), rel=1e-9)
    assert curve.y[curve.x.index(0.5)] == lp_disclosure(target, nontarget, p=2.0)
    assert curve.y[-1] == row["worst_case"].value

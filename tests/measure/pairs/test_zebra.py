"""ZEBRA against the paper's definitions, integrated numerically."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import zeroevidence as ze
from zeroevidence.calibrate.pav import pav_llrs
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import (
    D_ECE_MAX,
    d_ece,
    d_ece_actual,
    ece_profile,
    evidence_gain,
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
    matrix = ze.ScoreMatrix(scores, mated, trial_speakers=mated, enrolment_speakers=range(12))
    row = ze.evaluate(matrix, options=ze.Options(null=5))
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

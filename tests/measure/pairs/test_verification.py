"""Verification measures against worked examples, closed forms and brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from zeroevidence.errors import UsageError
from zeroevidence.measure.pairs.verification import cllr, cllr_min, dcf_act, dcf_min, dcf_min_untied, eer, tpr_at_fpr

pytestmark = pytest.mark.filterwarnings("ignore:the EER exceeds", "ignore:all scores are 0 or 1")  # on purpose

few_values = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=25).map(np.array)

MATRIX = np.array([[0.9, 0.8, 0.8, 0.8], [0.7, 0.6, 0.6, 0.6], [0.4, 0.5, 0.4, 0.4], [0.2, 0.2, 0.3, 0.2]])
MATED = np.zeros(MATRIX.shape, dtype=bool)
MATED[[0, 1, 2, 3], [0, 0, 1, 2]] = True
EXAMPLE = MATRIX[MATED], MATRIX[~MATED]


def test_four_by_four_example():
    assert eer(*EXAMPLE) == 0.5
    assert eer(*EXAMPLE, method="rocch") == pytest.approx(0.375, abs=1e-12)


def errors_at(thresholds, target, nontarget):
    miss = np.array([(target <= t).mean() for t in thresholds])
    return miss, np.array([(nontarget > t).mean() for t in thresholds])


def all_errors(target, nontarget):
    """Miss and false-alarm rates at every threshold."""
    return errors_at(np.concatenate(([-np.inf], np.unique(np.concatenate((target, nontarget))))), target, nontarget)


@given(few_values, few_values)
def test_eer_lies_on_the_empirical_roc(target, nontarget):
    value = eer(target, nontarget)
    miss, fa = all_errors(target, nontarget)
    # On the polyline (miss, fa), the point with equal coordinates; fa - miss falls strictly along it.
    expected = np.interp(0.0, (miss - fa), miss)
    assert value == pytest.approx(expected, abs=1e-12)


@given(few_values, few_values)
def test_rocch_eer_is_the_largest_minimum_bayes_error(target, nontarget):
    miss, fa = all_errors(target, nontarget)
    # The largest value over priors of min over thresholds is at a prior where two thresholds cost the same.
    priors = {0.0, 1.0}
    for i in range(len(miss)):
        for j in range(i):
            denominator = (miss[i] - miss[j]) - (fa[i] - fa[j])
            if denominator:
                priors.add((fa[j] - fa[i]) / denominator)
    best = max((p * miss + (1 - p) * fa).min() for p in priors if 0 <= p <= 1)
    assert eer(target, nontarget, method="rocch") == pytest.approx(best, abs=1e-9)


@given(few_values, few_values)
def test_speechbrain_variant_by_brute_force(target, nontarget):
    scores = np.unique(np.concatenate((target, nontarget)))
    thresholds = np.sort(np.concatenate((scores, (scores[1:] + scores[:-1]) / 2)))
    frr, far = errors_at(thresholds, target, nontarget)
    gap = np.abs(far - frr)
    candidates = ((far + frr) / 2)[np.isclose(gap, gap.min(), atol=1e-12)]
    value = eer(target, nontarget, method="speechbrain")
    assert np.isclose(candidates, value, atol=1e-12).any()


@given(few_values, few_values)
def test_kaldi_variant_by_its_loop(target, nontarget):
    t, n = np.sort(target), np.sort(nontarget)
    position = 0
    while position < len(t) - 1:
        opposite = max(0, len(n) - 1 - int(len(n) * position / len(t)))
        if n[opposite] < t[position]:
            break
        position += 1
    assert eer(target, nontarget, method="kaldi") == position / len(t)


def test_impossible_settings_are_refused():
    with pytest.raises(UsageError, match="'bogus'; expected one of interpolated, rocch"):
        eer(*EXAMPLE, method="bogus")
    with pytest.raises(UsageError, match="0 < prior < 1"):
        dcf_min(*EXAMPLE, prior=1.0)


@given(few_values, few_values)
def test_order_preserving_maps_do_not_change_oracle_measures(target, nontarget):
    for metric in (eer, cllr_min, dcf_min):
        assert metric(np.exp(target), np.exp(nontarget)) == metric(target, nontarget)


@given(few_values, few_values)
def test_swapping_classes_and_signs_changes_nothing(target, nontarget):
    for metric in (eer, cllr, cllr_min):
        assert metric(-nontarget, -target) == pytest.approx(metric(target, nontarget), abs=1e-12)


@given(few_values, few_values)
def test_bounds(target, nontarget):
    assert 0.0 <= cllr_min(target, nontarget) <= min(1.0, cllr(target, nontarget)) + 1e-12
    assert 0.0 <= dcf_min(target, nontarget) <= min(1.0, dcf_act(target, nontarget)) + 1e-12
    assert eer(target, nontarget, method="rocch") <= min(0.5, eer(target, nontarget)) + 1e-12


@given(few_values, few_values, st.floats(0.01, 0.99))
def test_min_dcf_by_brute_force(target, nontarget, prior):
    thresholds = np.concatenate(([-np.inf], target, nontarget))
    cost = [prior * (target <= t).mean() + (1 - prior) * 10 * (nontarget > t).mean() for t in thresholds]
    expected = min(cost) / min(prior, (1 - prior) * 10)
    assert dcf_min(target, nontarget, prior=prior, c_fa=10) == pytest.approx(expected, abs=1e-12)


def test_actual_dcf_uses_the_bayes_threshold():
    target, nontarget = np.array([2.0, 3.5]), np.array([0.0, 3.2])
    # at prior 0.05 the threshold is ln 19 = 2.944: one miss, one false alarm
    assert dcf_act(target, nontarget) == pytest.approx((0.05 * 0.5 + 0.95 * 0.5) / 0.05)


@given(few_values, few_values)
def test_tpr_at_fpr_by_brute_force(target, nontarget):
    for level, value in tpr_at_fpr(target, nontarget, levels=(0.0, 0.1, 0.25, 1.0)).items():
        allowed = np.floor(level * len(nontarget) + 1e-9)
        thresholds = np.concatenate(([-np.inf], target, nontarget))
        expected = max((target > t).mean() for t in thresholds if (nontarget > t).sum() <= allowed)
        assert value == pytest.approx(expected)


def test_cllr_is_infinite_only_when_an_infinite_score_is_wrong():
    assert cllr(np.array([np.inf]), np.array([-np.inf])) == 0.0
    assert cllr(np.array([-np.inf, 1.0]), np.array([0.0])) == np.inf


@pytest.mark.parametrize("d", [0.5, 2.0, 8.0])
def test_gaussian_closed_form(d):
    rng = np.random.default_rng(7)
    target = rng.normal(d / 2, np.sqrt(d), 200_000)
    nontarget = rng.normal(-d / 2, np.sqrt(d), 200_000)
    assert eer(target, nontarget) == pytest.approx(stats.norm.cdf(-np.sqrt(d) / 2), abs=4e-3)
    x = np.linspace(-60, 60, 200_001)
    density = stats.norm.pdf(x, d / 2, np.sqrt(d))
    expected = np.trapezoid(density * np.logaddexp(0, -x), x) / np.log(2)
    assert cllr(target, nontarget) == pytest.approx(expected, abs=4e-3)
    assert cllr_min(target, nontarget) == pytest.approx(expected, abs=4e-3)


def test_untied_dcf_equals_the_pooled_one_without_ties():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 50), rng.normal(0, 1, 300)
    labels = np.repeat([True, False], (50, 300))
    untied = dcf_min_untied(np.concatenate((target, nontarget)), labels)
    assert untied == pytest.approx(dcf_min(target, nontarget), abs=1e-12)
    assert dcf_min_untied(np.zeros(4), np.array([False, False, True, True])) < dcf_min(np.zeros(2), np.zeros(2))

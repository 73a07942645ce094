"""Linkability: three estimators against definitions, closed forms and the bias they promise not to have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import zeroevidence as ze
from zeroevidence.calibrate.pav import pav_llrs, rank
from zeroevidence.errors import UsageError
from zeroevidence.measure.pairs.linkability import ScoreView, linkability, local_linkability, nonmated_linkability_of
from zeroevidence.measure.pairs.verification import cllr_min
from zeroevidence.measure.pairs.zebra import LLRS_LIMIT
from zeroevidence.measure.views import PairSettings

pytestmark = pytest.mark.filterwarnings("ignore:the EER exceeds", "ignore:all scores are 0 or 1")  # on purpose

METHODS = ("density", "pav", "histogram")
few_values = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=40).map(np.array)


@pytest.mark.parametrize("method", METHODS)
def test_ends(method):
    assert linkability(np.full(30, 0.3), np.full(70, 0.3), method=method) == 0.0
    if method != "histogram":
        assert linkability(np.linspace(2, 3, 20), np.linspace(0, 1, 100), method=method) == 1.0


@given(few_values, few_values, st.floats(0.1, 10))
def test_pav_is_the_mean_of_local_values(target, nontarget, omega):
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = omega * np.exp(pav_llrs(target, nontarget)[0])
        local = np.where(np.isinf(ratio), 1.0, np.maximum(0.0, 2 * ratio / (1 + ratio) - 1))
    assert linkability(target, nontarget, method="pav", omega=omega) == pytest.approx(local.mean(), abs=1e-12)


def test_histogram_has_the_bias_it_is_known_for():
    rng = np.random.default_rng(0)
    values = [linkability(rng.normal(size=500), rng.normal(size=5000), method="histogram") for _ in range(30)]
    assert 0.05 < np.mean(values) < 0.12


def test_density_sees_a_ratio_that_is_not_monotone():
    rng = np.random.default_rng(0)
    target = rng.normal(0, 0.3, 1000)
    nontarget = np.concatenate((rng.normal(-5, 0.5, 3000), rng.normal(5, 0.5, 7000)))
    assert cllr_min(target, nontarget) > 0.75
    assert linkability(target, nontarget) > 0.95
    assert linkability(target, nontarget, method="pav") < 0.5


def gaussian_linkability(d, omega=1.0):
    """Of LLRs that are Gaussian with means of d / 2 and -d / 2 and a variance of d."""

    def local(a):
        return stats.norm.pdf(a, d / 2, np.sqrt(d)) * max(0.0, np.tanh((a + np.log(omega)) / 2))

    return integrate.quad(local, -60, 60, limit=400, points=[0])[0]


@pytest.mark.parametrize("d", [0.25, 1.0, 9.0])
@pytest.mark.parametrize("method", METHODS)
def test_converges_to_the_gaussian_closed_form(d, method):
    expected = gaussian_linkability(d)
    rng = np.random.default_rng(5)
    target, nontarget = rng.normal(d / 2, np.sqrt(d), 100_000), rng.normal(-d / 2, np.sqrt(d), 300_000)
    assert linkability(target, nontarget, method=method) == pytest.approx(expected, abs=5e-3)


def test_omega_weighs_the_prior():
    rng = np.random.default_rng(6)
    d, omega = 2.0, 3.0
    expected = gaussian_linkability(d, omega)
    target, nontarget = rng.normal(d / 2, np.sqrt(d), 50_000), rng.normal(-d / 2, np.sqrt(d), 100_000)
    for method in METHODS:
        assert linkability(target, nontarget, method=method, omega=omega) == pytest.approx(expected, abs=8e-3)


def test_density_does_not_depend_on_order_or_increasing_maps():
    rng = np.random.default_rng(2)
    target, nontarget = rng.normal(1, 1, 200), rng.normal(0, 1, 2000)
    value = linkability(target, nontarget)
    assert linkability(rng.permutation(target), rng.permutation(nontarget)) == value
    assert linkability(np.exp(target), np.exp(nontarget)) == value
    assert 0.0 < value < 1.0


@given(few_values, few_values)
def test_every_estimate_is_a_fraction(target, nontarget):
    for method in METHODS:
        assert 0.0 <= linkability(target, nontarget, method=method) <= 1.0 + 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_local_curve_follows_the_truth(method):
    d = 4.0
    rng = np.random.default_rng(3)
    curve = local_linkability(rng.normal(d / 2, 2, 20_000), rng.normal(-d / 2, 2, 50_000), method=method)
    inside = (curve.score > -3) & (curve.score < 5)
    expected = np.maximum(0.0, np.tanh(curve.score[inside] / 2))
    assert np.abs(curve.value[inside] - expected).mean() < 0.05


def mean_of_curve(target, nontarget, **options):
    """D(s) looked up at every mated score."""
    curve = local_linkability(target, nontarget, **options)
    assert np.all(np.diff(curve.score) > 0) or len(curve.score) == 1
    return curve.value[np.searchsorted(curve.score, target, "right") - 1].mean()


@given(few_values, few_values, st.floats(0.1, 10), st.integers(0, 3))
def test_the_mean_of_local_values_is_the_global_one(target, nontarget, omega, seed):
    for method in ("pav", "histogram"):
        expected = linkability(target, nontarget, method=method, omega=omega)
        assert mean_of_curve(target, nontarget, method=method, omega=omega) == pytest.approx(expected, abs=1e-12)
    expected = linkability(target, nontarget, omega=omega, seed=seed)
    assert mean_of_curve(target, nontarget, omega=omega, seed=seed) == pytest.approx(expected, abs=1e-9)


def both_sides():
    """The talk's example: mated scores on both sides of the others."""
    rng = np.random.default_rng(0)
    low, high = rng.normal(-4.5, 0.5, 2000), rng.normal(4.5, 0.5, 1000)
    return np.concatenate((low, high)), rng.normal(0.0, 1.0, 20_000)


@pytest.mark.parametrize(
    ("name", "density", "histogram"),
    [("oo_f", 0.899865, 0.897723), ("oo_m", 0.967764, 0.957511), ("talk", 0.992194, None)],
)
def test_local_and_global_values_of_published_scores(published, name, density, histogram):
    target, nontarget = both_sides() if name == "talk" else published(name).classes
    assert linkability(target, nontarget) == pytest.approx(density, abs=1e-6)
    assert mean_of_curve(target, nontarget) == pytest.approx(density, abs=1e-6)
    curve = local_linkability(target, nontarget)
    alone = curve.score > max(nontarget) + 0.1 * np.ptp(nontarget)
    assert alone.any()
    assert curve.value[alone] == pytest.approx(1.0, abs=1e-6)  # where only mated scores fall
    assert curve.value[-1] == pytest.approx(1.0, abs=1e-12)
    assert curve.value[np.searchsorted(curve.score, np.median(nontarget))] == 0.0
    # the tools of 2020, in plain NumPy
    edges = np.linspace(min(*target, *nontarget), max(*target, *nontarget), min(len(target) // 10, 100) + 1)
    p, q = (np.histogram(scores, edges, density=True)[0] for scores in (target, nontarget))
    local = np.where(q > 0, np.maximum(0.0, (p - q) / np.where(q > 0, p + q, 1.0)), 1.0)
    expected = np.trapezoid(local * p, (edges[1:] + edges[:-1]) / 2)
    assert histogram is None or expected == pytest.approx(histogram, abs=1e-6)
    assert linkability(target, nontarget, method="histogram") == pytest.approx(expected, rel=1e-12)
    assert mean_of_curve(target, nontarget, method="histogram") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sizes", [(500, 500), (500, 5000), (3000, 20_000)])
def test_density_is_near_zero_without_evidence(sizes):
    rng = np.random.default_rng(0)
    parts = [[rng.normal(size=n) for n in sizes] for _ in range(30)]
    values = [linkability(*scores, seed=i) for i, scores in enumerate(parts)]
    assert np.mean(values) < 0.02
    assert [mean_of_curve(*scores, seed=i) for i, scores in enumerate(parts)] == pytest.approx(values, abs=1e-9)


def test_errors():
    with pytest.raises(UsageError, match="unknown linkability method"):
        linkability(np.ones(2), np.zeros(2), method="magic")
    with pytest.raises(UsageError, match="omega"):
        linkability(np.ones(2), np.zeros(2), omega=0.0)
    with pytest.raises(UsageError, match="finite scores"):
        linkability(np.array([np.inf] * 20), np.zeros(20), method="histogram")


def test_nonmated_pairs_by_hand():
    """Two non-mated scores of four lie where no mated one is, and the others where mated ones are twice as likely."""
    target, nontarget = np.array([1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    assert nonmated_linkability_of(rank(target, nontarget), PairSettings("pav")) == 0.5
    assert linkability(target, nontarget, method="pav") == pytest.approx((2.0 - 1.0) / (2.0 + 1.0))
    # with a quarter of the prior odds the others speak for different people, LR 2 / 4
    expected = 0.5 + 0.5 * (1.0 - 0.5) / (1.0 + 0.5)
    assert nonmated_linkability_of(rank(target, nontarget), PairSettings("pav", omega=0.25)) == pytest.approx(expected)


def test_nonmated_linkability_is_that_of_exchanged_classes():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1.0, 1.0, 400), rng.normal(0.0, 1.0, 400)
    for method in ("density", "pav", "histogram"):
        expected = linkability(-nontarget, -target, method=method)
        assert nonmated_linkability_of(rank(target, nontarget), PairSettings(method)) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["density", "pav", "histogram"])
def test_omega_reaches_the_evaluation(method):
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1.5, 1.0, 200), rng.normal(0.0, 1.0, 800)
    row = ze.evaluate(target, nontarget, options=ze.Options(linkability=method, omega=0.2, intervals=20, null=5))
    expected = linkability(target, nontarget, method=method, omega=0.2)
    assert row["linkability"].value == pytest.approx(expected)
    assert row["linkability"].high < linkability(target, nontarget, method=method)
    nonmated = nonmated_linkability_of(rank(target, nontarget), PairSettings(method, omega=0.2))
    assert row["linkability_nonmated"].value == nonmated
    assert row["linkability_nonmated"].low is row["linkability_nonmated"].null is None
    assert "|omega:0.2|" in row.signature
    with pytest.raises(ze.UsageError, match="omega: expected a positive"):
        ze.Options(omega=0.0)


@pytest.mark.parametrize(("more", "computed"), [(0, True), (1, False)])
def test_costs_are_computed_up_to_a_number_of_scores(more, computed):
    target, nontarget = np.zeros(LLRS_LIMIT // 2, np.float32), np.zeros(LLRS_LIMIT // 2 + more, np.float32)
    means = ScoreView(rank(target, nontarget)).class_means("d_ece_actual")
    assert means == ((0.0, 0.0) if computed else None)

"""Tandem costs against reference vectors, published figures, closed forms and loops over every threshold."""

import dataclasses
import itertools
import json
import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from zeroevidence.errors import InputError
from zeroevidence.measure.tandem import thresholds
from zeroevidence.measure.tandem.cost import PRESETS, CostModel, adcf, adcf_min, cm_cllr, cm_dcf, cm_dcf_min, cm_eer
from zeroevidence.measure.tandem.tdcf import (
    AsvRates,
    asv_rates,
    tdcf_curve,
    tdcf_fixed_joint,
    tdcf_joint_min,
    tdcf_min,
    tdcf_surface,
    tdcf_weights,
)
from zeroevidence.measure.tandem.teer import tdcf_act

INF = math.inf
few = st.lists(st.sampled_from([-INF, -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, INF]), min_size=1, max_size=14)
finite = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=25)
rate = st.floats(0.0, 1.0)
models = st.tuples(st.floats(0.01, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 20), st.floats(0.1, 20)).map(
    lambda t: CostModel(
        pi_tar=t[0] / sum(t[:3]), pi_non=t[1] / sum(t[:3]), pi_spoof=t[2] / sum(t[:3]), c_fa=t[3], c_fa_spoof=t[4]
    )
)


def operating_points(*classes):
    """Shares accepted at every threshold, by counting one score at a time; rejecting all comes last."""
    for threshold in sorted({x for one in classes for x in one}):
        yield tuple(sum(x >= threshold for x in one) / len(one) for one in classes)
    yield tuple(0.0 for _ in classes)


def weights(model):
    """What a miss, a false alarm and an accepted spoof cost on average."""
    return model.c_miss * model.pi_tar, model.c_fa * model.pi_non, model.c_fa_spoof * model.pi_spoof


def blocks(n):
    """Make the search by blocks run on small inputs."""
    return mock.patch.object(thresholds, "_BLOCKS", n)


def accepted(scores, threshold):
    """The share of scores that is accepted."""
    return np.mean(np.array(scores) >= threshold)


def gaussian(mean, n=20_000):
    """Scores whose empirical distribution is normal to within 1 / n."""
    return norm.ppf((np.arange(n) + 0.5) / n) + mean


# --- reference vectors; published figures are in tests/evaluation/test_tandem.py ---


@pytest.fixture(scope="module", params=["tandem_small", "tandem_ties"])
def vector(request, shared):
    arrays = np.load(shared / "reference" / "vectors.npz")
    kinds = ("tar", "non", "spf")
    sets = {name: [arrays[f"{request.param}_{name}_{kind}"] for kind in kinds] for name in ("asv", "cm", "sasv")}
    expected = json.loads((shared / "reference" / "vectors.json").read_text())["tandem"][request.param]
    tar, non, spf = sets["cm"]
    return sets["asv"], np.concatenate([tar, non]), spf, sets["sasv"], expected


def test_vectors_asv(vector):
    asv, _, _, _, expected = vector
    rates = asv_rates(*asv, convention="challenge")
    found = [rates.threshold, rates.p_fa, rates.p_miss, rates.p_fa_spoof]
    assert found == pytest.approx([expected["asv"][k] for k in ("threshold", "Pfa", "Pmiss", "Pfa_spoof")], abs=1e-9)
    walked = cm_eer(asv[0], asv[1], convention="challenge")  # the same two-class measure
    assert walked == pytest.approx(expected["asv"]["eer"], abs=1e-9)


def test_vectors_tdcf(vector):
    asv, bona, spf, _, expected = vector
    rates = asv_rates(*asv, convention="challenge")
    revised = tdcf_min(bona, spf, rates, "2021")
    found = [revised.c0, revised.c1, revised.c2, revised.tdcf_min]
    assert found == pytest.approx([expected["asvspoof2021"][k] for k in ("C0", "C1", "C2", "min_tdcf")], abs=1e-9)
    legacy = tdcf_min(bona, spf, rates, "2019").tdcf_min
    assert legacy == pytest.approx(expected["asvspoof2019_legacy"]["min_tdcf"], abs=1e-9)
    joint = tdcf_joint_min(*asv, bona, spf).tdcf_min
    assert joint == pytest.approx(expected["unconstrained_min_tdcf_own"], abs=1e-9)


def test_vectors_cm(vector):
    _, bona, spf, _, expected = vector
    least, actual = cm_dcf_min(bona, spf), cm_dcf(bona, spf)
    found = [least.dcf, actual.dcf, actual.threshold, cm_cllr(bona, spf), cm_eer(bona, spf, convention="challenge")]
    names = ("min_dcf", "act_dcf", "act_threshold", "cllr", "eer")
    assert found == pytest.approx([expected["asvspoof5"][k] for k in names], abs=1e-9)


def test_vectors_adcf(vector):
    *_, sasv, expected = vector
    assert adcf_min(*sasv).adcf == pytest.approx(expected["a_dcf_asvspoof5"], abs=1e-9)
    assert adcf_min(*sasv, "adcf-paper").adcf == pytest.approx(expected["a_dcf_paper_defaults"], abs=1e-9)


# --- closed forms ---


def test_gaussian_constrained():
    d, mu, spoofed = 3.0, 2.0, 1.0
    rates = asv_rates(gaussian(d), gaussian(0), gaussian(spoofed))
    assert rates.eer == pytest.approx(norm.cdf(-d / 2), abs=1e-4)
    assert rates.threshold == pytest.approx(d / 2, abs=1e-3)
    assert rates.p_fa_spoof == pytest.approx(norm.sf(d / 2 - spoofed), abs=1e-4)
    for name in ("2019", "2021"):
        c0, c1, c2 = tdcf_weights(rates, name)
        tau = mu / 2 + math.log(c2 / c1) / mu  # where c1 phi(tau - mu) = c2 phi(tau)
        value = (c0 + c1 * norm.cdf(tau - mu) + c2 * norm.sf(tau)) / (c0 + min(c1, c2))
        found = tdcf_min(gaussian(mu), gaussian(0), rates, name)
        assert found.tdcf_min == pytest.approx(value, abs=2e-4)
        assert found.threshold == pytest.approx(tau, abs=0.03)


def test_gaussian_cm_and_adcf():
    mu = 2.0
    tau = mu / 2 - math.log(1.9) / mu
    assert cm_dcf_min(gaussian(mu), gaussian(0)).dcf == pytest.approx(1.9 * norm.cdf(tau - mu) + norm.sf(tau), abs=2e-4)
    llr = [mu * gaussian(m) - mu**2 / 2 for m in (mu, 0)]
    assert cm_dcf(*llr).dcf == pytest.approx(cm_dcf_min(*llr).dcf, abs=2e-4)  # calibrated: nothing lost
    plain = CostModel(pi_tar=0.5, pi_non=0.5, pi_spoof=0.0, c_fa=1.0)
    assert adcf_min(*map(gaussian, (mu, 0, 1)), plain).adcf == pytest.approx(2 * norm.cdf(-mu / 2), abs=2e-4)


def test_gaussian_joint():
    """Both thresholds of the unconstrained minimum are stationary points of the closed-form cost."""
    found = tdcf_joint_min(gaussian(3), gaussian(0), gaussian(1.5), gaussian(2), gaussian(0))

    def cost(cm, asv):
        u, v = norm.sf(cm - 2), norm.sf(cm)
        tandem = 0.9405 * (1 - u * norm.sf(asv - 3)) + 0.095 * u * norm.sf(asv) + 0.5 * v * norm.sf(asv - 1.5)
        return tandem / 0.595

    at = found.threshold_cm, found.threshold_asv
    assert found.tdcf_min == pytest.approx(cost(*at), abs=2e-4)
    for step in (-0.1, 0.1):
        assert cost(at[0] + step, at[1]) > cost(*at)
        assert cost(at[0], at[1] + step) > cost(*at)


# --- loops over every threshold ---


@given(few, few, rate, rate, rate, models, st.sampled_from([2, 1024]))
def test_tdcf_min_is_the_minimum(bona, spf, p_miss, p_fa, p_fa_spoof, model, n_blocks):
    rates = AsvRates(p_miss=p_miss, p_fa=p_fa, p_fa_spoof=p_fa_spoof)
    c0, c1, c2 = tdcf_weights(rates, model)
    costs = [c0 + c1 * (1 - u) + c2 * v for u, v in operating_points(bona, spf)]
    with blocks(n_blocks):
        found = tdcf_min(bona, spf, rates, model)
    default = c0 + min(c1, c2)
    if default > 1e-9:
        assert found.tdcf_min == pytest.approx(min(costs) / default, rel=1e-9)
        assert found.tdcf_min <= 1 + 1e-9
    assert found.p_miss == sum(x < found.threshold or found.threshold == INF for x in bona) / len(bona)
    assert found.p_fa == sum(x >= found.threshold and found.threshold != INF for x in spf) / len(spf)
    curve = tdcf_curve(bona, spf, rates, model)
    assert curve.tdcf.min() == pytest.approx(found.tdcf_min, rel=1e-9, abs=1e-12)
    assert (curve.p_miss[-1], curve.p_fa[-1]) == (1, 0)
    assert np.all(np.diff(curve.threshold) > 0)


@given(few, few, few, few, few, models, st.sampled_from([2, 3, 1024]))
def test_joint_minimum_is_the_minimum(tar, non, spf, bona, fake, model, n_blocks):
    w_miss, w_fa, w_spoof = weights(model)
    pairs = itertools.product(operating_points(bona, fake), operating_points(tar, non, spf))
    best = min(w_miss * (1 - u * t) + w_fa * u * n + w_spoof * v * s for (u, v), (t, n, s) in pairs)
    with blocks(n_blocks):
        found = tdcf_joint_min(tar, non, spf, bona, fake, model)
    default = min(w_miss, w_fa + w_spoof)
    if default > 1e-9:
        assert found.tdcf_min == pytest.approx(best / default, rel=1e-9, abs=1e-12)


@given(few, few, few, few, few, models, st.floats(-5, 5))
def test_one_scale_with_the_verifier_fixed_and_free(tar, non, spf, bona, fake, model, threshold):
    """The unconstrained cost, written out, at every CM threshold; never below the minimum over both."""
    w_miss, w_fa, w_spoof = weights(model)
    rates = asv_rates(tar, non, spf, threshold=threshold)
    miss, alarm, spoofed = 1 - accepted(tar, threshold), accepted(non, threshold), accepted(spf, threshold)
    points = operating_points(bona, fake)
    best = min(w_miss * ((1 - u) + u * miss) + w_fa * u * alarm + w_spoof * v * spoofed for u, v in points)
    found = tdcf_fixed_joint(bona, fake, rates, model)
    default = min(w_miss, w_fa + w_spoof)
    if default > 1e-9:
        assert found.tdcf_min == pytest.approx(best / default, rel=1e-9, abs=1e-12)
        assert found.tdcf_min >= tdcf_joint_min(tar, non, spf, bona, fake, model).tdcf_min - 1e-12
    assert found.threshold_asv == threshold


def test_joint_minimum_of_many():
    """Blocks of real size, against the whole table of pairs."""
    rng = np.random.default_rng(1)
    asv = [rng.normal(m, 1, n).round(2) for m, n in ((2, 700), (0, 900), (1, 800))]
    cm = [rng.normal(m, 1, n).round(2) for m, n in ((1.5, 1600), (0, 800))]
    surface = tdcf_surface(*asv, *cm, points=10**6)
    for n_blocks in (16, 64):
        with blocks(n_blocks):
            found = tdcf_joint_min(*asv, *cm)
        assert found.tdcf_min == pytest.approx(surface.tdcf.min(), abs=1e-12)
    grid = tdcf_surface(*asv, *cm, points=21)
    assert grid.tdcf.shape == (21, 21)
    assert grid.tdcf.min() >= found.tdcf_min
    assert grid.tdcf[-1, -1] == pytest.approx(0.9405 / 0.595)  # reject all
    assert grid.tdcf[0, 0] == pytest.approx(1.0)  # accept all


@given(few, few, few, models, st.sampled_from([2, 1024]))
def test_adcf_min_is_the_minimum(tar, non, spf, model, n_blocks):
    w_miss, w_fa, w_spoof = weights(model)
    default = min(w_miss, w_fa + w_spoof)
    costs = [w_miss * (1 - t) + w_fa * n + w_spoof * s for t, n, s in operating_points(tar, non, spf)]
    with blocks(n_blocks):
        found = adcf_min(tar, non, spf, model)
    if default > 1e-9:
        assert found.adcf == pytest.approx(min(costs) / default, rel=1e-9, abs=1e-12)
    assert adcf(tar, non, spf, found.threshold, model) == found


@given(finite, finite)
def test_eer_is_on_the_roc(pos, neg):
    """Interpolated: the crossing of the polygon through all operating points."""
    points = [(1 - u, v) for u, v in operating_points(pos, neg)]
    for (m0, f0), (m1, f1) in itertools.pairwise(points):
        if m0 - f0 <= 0 <= m1 - f1:
            share = (f0 - m0) / ((m1 - f1) - (m0 - f0))
            assert cm_eer(pos, neg) == pytest.approx(m0 + share * (m1 - m0), abs=1e-12)
    rates = asv_rates(pos, neg, [0.0])
    assert abs(rates.p_miss - rates.p_fa) == pytest.approx(min(abs(m - f) for m, f in points), abs=1e-12)


@given(finite, finite)
def test_challenge_eer_walks_ties(pos, neg):
    walk = sorted([(x, 0) for x in pos] + [(x, 1) for x in neg])
    missed, passed, steps = 0, len(neg), [(0, len(neg), -INF)]
    for score, kind in walk:
        missed, passed = missed + (kind == 0), passed - (kind == 1)
        steps.append((missed, passed, score))
    m, p, threshold = min(steps, key=lambda s: abs(s[0] * len(neg) - s[1] * len(pos)))
    assert cm_eer(pos, neg, convention="challenge") == pytest.approx((m / len(pos) + p / len(neg)) / 2, abs=1e-12)
    assert asv_rates(pos, neg, [0.0], convention="challenge").threshold == threshold


# --- properties ---


@given(finite, finite, finite, finite, finite, st.randoms(use_true_random=False))
def test_only_ranks_matter(tar, non, spf, bona, fake, random):
    def measured(*classes):
        a, b, c, d, e = classes
        rates = asv_rates(a, b, c)
        return (
            dataclasses.replace(rates, threshold=0.0),
            tdcf_min(d, e, rates, "asvspoof5").tdcf_min,
            tdcf_joint_min(*classes).tdcf_min,
            adcf_min(a, b, c).adcf,
            cm_dcf_min(d, e).dcf,
            cm_eer(d, e, convention="challenge"),
        )

    plain = measured(tar, non, spf, bona, fake)
    asv = [np.exp(np.array(x) / 3) for x in (tar, non, spf)]
    cm = [np.arctan(x) * 100 - 7 for x in (bona, fake)]
    assert measured(*asv, *cm) == plain
    for one in (tar, non, spf, bona, fake):
        random.shuffle(one)
    assert measured(tar, non, spf, bona, fake) == plain


@given(finite, finite, finite, models)
def test_perfect_countermeasure_reaches_the_floor(tar, non, spf, model):
    rates = asv_rates(tar, non, spf)
    found = tdcf_min([3.0, 4.0], [1.0, 2.0], rates, model)
    default = found.c0 + min(found.c1, found.c2)
    if found.c1 > 0 and default > 1e-9:
        assert found.tdcf_min == pytest.approx(found.c0 / default)
    joint = tdcf_joint_min(tar, non, spf, [3.0, 4.0], [1.0, 2.0], model)
    assert joint.tdcf_min <= tdcf_joint_min(tar, non, spf, [3.0], [3.0], model).tdcf_min + 1e-12


@given(finite, finite, finite)
def test_adcf_without_spoofs_is_the_plain_cost(tar, non, spf):
    model = CostModel(pi_tar=0.95, pi_non=0.05, pi_spoof=0.0)
    as_cm = CostModel(pi_tar=0.95, pi_non=0.0, pi_spoof=0.05)
    assert adcf_min(tar, non, spf, model).adcf == pytest.approx(cm_dcf_min(tar, non, as_cm).dcf, abs=1e-12)


def test_one_system_does_both():
    """A verifier that accepts all leaves the plain cost of the CM."""
    everyone = AsvRates(p_miss=0.0, p_fa=1.0, p_fa_spoof=1.0)
    model = CostModel(pi_tar=0.95, pi_non=0.0, pi_spoof=0.05)
    cm = [1.0, 2.0, 3.0, 0.0], [0.5, 1.5, -1.0]
    assert tdcf_min(*cm, everyone, model).tdcf_min == pytest.approx(cm_dcf_min(*cm, model).dcf)


# --- edges and errors ---


@pytest.mark.parametrize("form", ["legacy", "revised"])
def test_no_spoof_passes_the_verifier(form):
    model = CostModel(pi_tar=0.9405, pi_non=0.0095, pi_spoof=0.05, form=form)
    for p_miss in (0.0, 0.1):
        rates = AsvRates(p_miss=p_miss, p_fa=0.0, p_fa_spoof=0.0)
        assert tdcf_min([1.0, 2.0], [0.0, 1.5], rates, model).tdcf_min == 1.0
    free = tdcf_curve([1.0, 2.0], [0.0, 1.5], AsvRates(p_miss=0.0, p_fa=0.0, p_fa_spoof=0.0), model)
    assert free.tdcf.tolist() == [1.0, 1.0, INF, INF, INF]


def test_verifier_worse_than_none():
    useless = AsvRates(p_miss=1.0, p_fa=1.0, p_fa_spoof=1.0)
    revised = tdcf_min([1.0, 2.0], [0.0], useless, "2021")
    assert (revised.tdcf_min, revised.threshold) == (1.0, INF)
    with pytest.raises(InputError, match="revised form"):
        tdcf_min([1.0, 2.0], [0.0], useless, "2019")


def test_no_targets_expected():
    model = CostModel(pi_tar=0.0, pi_non=0.5, pi_spoof=0.5)
    assert adcf_min([1.0], [0.0], [0.0], model).adcf == 1.0
    assert tdcf_joint_min([1.0], [0.0], [0.0], [1.0], [0.0], model).tdcf_min == 1.0
    everyone = adcf([1.0], [0.0], [0.0], -INF, model)
    assert everyone.adcf == INF


def test_extreme_spoof_priors():
    none = CostModel(pi_tar=1.0, pi_non=0.0, pi_spoof=0.0)
    only = CostModel(pi_tar=0.0, pi_non=0.0, pi_spoof=1.0)
    found = cm_dcf([1.0], [0.0], none)
    assert (found.dcf, found.threshold, found.p_fa, found.p_miss) == (1.0, -INF, 1.0, 0.0)
    assert (cm_dcf([1.0], [0.0], only).threshold, cm_dcf([1.0], [0.0], only).dcf) == (INF, 1.0)


def test_infinite_scores():
    rates = asv_rates([INF, INF], [-INF, 0.0], [INF, -INF])
    assert (rates.p_miss, rates.p_fa, rates.p_fa_spoof, rates.eer) == (0.0, 0.0, 0.5, 0.0)
    assert rates.threshold < INF
    assert asv_rates([INF], [INF], [INF]).eer == 0.5
    assert asv_rates([INF], [0.0], [INF], threshold=INF).p_fa_spoof == 0.0  # the threshold inf rejects all
    assert (cm_cllr([INF], [-INF]), cm_cllr([-INF], [-INF])) == (0.0, INF)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: asv_rates([], [0.0], [0.0]), "target scores: expected at least one score"),
        (lambda: asv_rates([0.0], [0.0], []), "spoof scores: expected at least one score"),
        (lambda: cm_eer([], [0.0]), "bona fide scores: expected at least one score"),
        (lambda: tdcf_joint_min([0.0], [0.0], [0.0], [0.0], []), "CM spoof scores: expected at least one score"),
        (lambda: adcf_min([math.nan], [0.0], [0.0]), "target scores: NaN at position 0"),
        (lambda: cm_cllr([[0.0]], [0.0]), r"bona fide scores: expected 1 dimension\(s\)"),
        (lambda: cm_cllr(["high"], [0.0]), "expected numbers, got text"),
        (lambda: asv_rates([0.0], [0.0], [0.0], threshold=math.nan), "threshold is NaN"),
        (lambda: cm_dcf([0.0], [0.0], threshold=math.nan), "threshold is NaN"),
        (lambda: asv_rates([0.0], [0.0], [0.0], convention="mine"), "unknown convention"),
        (lambda: tdcf_surface([0.0], [0.0], [0.0], [0.0], [0.0], points=1), "at least 2 points"),
        (lambda: AsvRates(p_miss=1.5, p_fa=0.0, p_fa_spoof=0.0), "p_miss"),
        (lambda: CostModel.preset("2018"), "unknown cost model '2018'; known: 2019, 2021"),
        (lambda: CostModel(pi_tar=0.5, pi_non=0.5, pi_spoof=0.5), "sum to 1.5"),
        (lambda: CostModel(pi_tar=1.5, pi_non=-0.5, pi_spoof=0.0), "pi_tar"),
        (lambda: CostModel(pi_tar=1.0, pi_non=0.0, pi_spoof=0.0, c_miss=0.0), "c_miss"),
        (lambda: CostModel(pi_tar=1.0, pi_non=0.0, pi_spoof=0.0, c_fa=math.inf), "c_fa"),
        (lambda: CostModel(pi_tar=1.0, pi_non=0.0, pi_spoof=0.0, form="new"), "unknown form"),
        (lambda: CostModel(pi_tar=1.0, pi_non=0.0, pi_spoof=0.0, convention="new"), "unknown convention"),
    ],
)
def test_errors(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_actual_cost_by_hand():
    """One of four targets is missed by each system, half of the others and of the spoofs pass each."""
    rates = asv_rates([3.0, 2.0, 1.0, 4.0], [0.0, 1.6], [2.0, 1.0], threshold=1.5)
    assert (rates.p_miss, rates.p_fa, rates.p_fa_spoof) == (0.25, 0.5, 0.5)
    model = CostModel(pi_tar=0.8, pi_non=0.1, pi_spoof=0.1, c_miss=1.0, c_fa=4.0, c_fa_spoof=5.0)
    found = tdcf_act([1.0, 2.0, 3.0, -1.0], [-2.0, 0.5], rates, 0.0, model)
    assert (found.p_a, found.p_b, found.p_c, found.p_d) == (0.1875, 0.375, 0.25, 0.25)
    # 0.8 (0.1875 + 0.25) + 0.4 * 0.375 + 0.5 * 0.25 = 0.625, over 0.8 * 0.25 + 0.4 * 0.5 + min(0.4, 0.5 * 0.5)
    assert found.tdcf == pytest.approx(0.625 / 0.65, rel=1e-12)
    # legacy: 0.4 * 0.25 + 0.25 * 0.5, over min(0.4, 0.25)
    legacy = tdcf_act([1.0, 2.0, 3.0, -1.0], [-2.0, 0.5], rates, 0.0, dataclasses.replace(model, form="legacy"))
    assert legacy.tdcf == pytest.approx(0.225 / 0.25, rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(PRESETS)), st.floats(-6.0, 8.0), st.floats(-6.0, 8.0))
def test_actual_cost_is_never_below_the_minimum(seed, preset, cm_threshold, asv_threshold):
    rng = np.random.default_rng(seed)
    asv = [rng.normal(mean, 1.0, 20).round(1) for mean in (3.0, 0.0, 2.0)]
    cm = [rng.normal(mean, 1.0, 20).round(1) for mean in (2.0, 0.0)]
    rates = asv_rates(*asv, threshold=asv_threshold)
    model = PRESETS[preset]
    verifier = model.c_miss * model.pi_tar * rates.p_miss + model.c_fa * model.pi_non * rates.p_fa
    assume(model.form == "revised" or verifier < model.c_miss_cm * model.pi_tar)  # else the legacy form is refused
    best = tdcf_min(*cm, rates, preset)
    assert tdcf_act(*cm, rates, cm_threshold, preset).tdcf >= best.tdcf_min - 1e-12
    assert tdcf_act(*cm, rates, best.threshold, preset).tdcf == pytest.approx(best.tdcf_min, rel=1e-12)


def test_actual_cost_at_the_best_thresholds_is_the_joint_minimum():
    rng = np.random.default_rng(0)
    asv = [rng.normal(mean, 1.0, 60) for mean in (3.0, 0.0, 2.0)]
    cm = [rng.normal(mean, 1.0, 60) for mean in (2.0, 0.0)]
    best = tdcf_joint_min(*asv, *cm)
    rates = asv_rates(*asv, threshold=best.threshold_asv)
    found = tdcf_act(*cm, rates, best.threshold_cm)
    c0, c1, c2 = tdcf_weights(rates)
    model = PRESETS["2021"]  # the same cost, which the two divide by different ones
    w_miss, w_fa, w_spoof = weights(model)
    blind = min(w_miss, w_fa + w_spoof)
    assert found.tdcf * (c0 + min(c1, c2)) == pytest.approx(best.tdcf_min * blind, rel=1e-12)
    with pytest.raises(InputError, match="NaN"):
        tdcf_act(*cm, asv_rates(*asv), float("nan"))

"""t-EER against the reference vectors, a closed form, and loops over every pair of thresholds."""

import json
import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import root
from scipy.stats import norm

from zeroevidence.errors import InputError
from zeroevidence.measure.tandem import teer as teer_module
from zeroevidence.measure.tandem.teer import teer

some = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=16)


def shares(*classes):
    """The shares accepted at every threshold; rejecting all comes last."""
    thresholds = np.append(np.unique(np.concatenate(classes)), math.inf)
    return [np.mean(np.asarray(c)[:, None] >= thresholds, axis=0) for c in classes]


def slow(tar, non, spf, bona, fake, rho=0.5):
    """The concurrent t-EER by trying every CM threshold at every ASV threshold."""
    hit, p_non, p_spf = shares(tar, non, spf)
    u, v = shares(bona, fake)
    distances, values = [], []
    for j in range(hit.size):
        if 1 - hit[j] >= (1 - rho) * p_non[j] + rho * p_spf[j]:
            continue
        miss = 1 - u * hit[j]
        false = (1 - rho) * u * p_non[j] + rho * v * p_spf[j]
        i = int(np.argmin(np.abs(miss - false).round(12)))
        if p_spf[j] > 0 and u[i] > 0:
            distances.append(abs(p_non[j] / p_spf[j] - v[i] / u[i]))
            values.append(v[i] * p_spf[j])
    nearest = [value for value, d in zip(values, distances, strict=True) if d <= min(distances) + 1e-12]
    return nearest[0] if nearest else None


@pytest.mark.parametrize(("name", "convention"), [("tandem_small", "pooled"), ("tandem_ties", "challenge")])
def test_vectors(shared, name, convention):
    arrays = np.load(shared / "reference" / "vectors.npz")
    asv = [arrays[f"{name}_asv_{kind}"] for kind in ("tar", "non", "spf")]
    bona = np.concatenate([arrays[f"{name}_cm_tar"], arrays[f"{name}_cm_non"]])
    expected = json.loads((shared / "reference" / "vectors.json").read_text())["tandem"][name]["t_eer_percent"]
    found = teer(*asv, bona, arrays[f"{name}_cm_spf"], convention=convention)
    assert 100 * found.teer == pytest.approx(expected, abs=1e-9)


@given(some, some, some, some, some, st.sampled_from([0.3, 0.5]), st.sampled_from([2, 512]))
def test_against_every_pair(tar, non, spf, bona, fake, rho, step):
    concurrent = slow(tar, non, spf, bona, fake, rho)
    with mock.patch.object(teer_module, "_STEP", step):
        found = teer(tar, non, spf, bona, fake, rho=rho)
    if concurrent is not None:
        assert found.teer == pytest.approx(concurrent, abs=1e-9)


@pytest.mark.parametrize("decimals", [2, 12])
def test_many_against_every_pair(decimals):
    """Enough trials for blocks and for the two-level bisection, with and without equal scores."""
    rng = np.random.default_rng(3)
    asv = [rng.normal(m, 1, 3000).round(decimals) for m in (3, 0, 1.5)]
    cm = [rng.normal(m, 1, 400).round(decimals) for m in (2, 0)]
    concurrent = slow(*asv, *cm)
    with mock.patch.object(teer_module, "_STEP", 16):
        assert teer(*asv, *cm).teer == pytest.approx(concurrent, abs=1e-12)


def test_gaussian():
    def checked_scores(mean, n=20_000):
        return norm.ppf((np.arange(n) + 0.5) / n) + mean

    def unequal(taus):
        asv, cm = taus
        u, v = norm.sf(cm - 2.5), norm.sf(cm)
        miss, false, spoofed = 1 - u * norm.sf(asv - 3), u * norm.sf(asv), v * norm.sf(asv - 1)
        return [miss - false, false - spoofed]

    asv, cm = root(unequal, [1.5, 1.0]).x
    for rho in (0.1, 0.5, 0.9):  # the concurrent point does not depend on the share of spoofs
        found = teer(*map(checked_scores, (3, 0, 1, 2.5, 0)), rho=rho)
        assert found.threshold_asv == pytest.approx(asv, abs=5e-3)
        assert found.threshold_cm == pytest.approx(cm, abs=5e-3)
        three = [found.p_miss, found.p_fa, found.p_fa_spoof]
        assert three == pytest.approx([found.teer] * 3, abs=1e-3)
        assert found.teer == pytest.approx(norm.sf(cm) * norm.sf(asv - 1), abs=1e-3)


@given(some, some, some, some, some)
def test_only_ranks_matter(tar, non, spf, bona, fake):
    plain = teer(tar, non, spf, bona, fake)
    asv = [np.exp(np.array(x) / 3)[::-1] for x in (tar, non, spf)]
    cm = [np.arctan(x)[::-1] for x in (bona, fake)]
    mapped = teer(*asv, *cm)
    assert (mapped.teer, mapped.p_miss, mapped.p_fa) == (plain.teer, plain.p_miss, plain.p_fa)


@given(some, some, some, some, some, st.sampled_from(["pooled", "challenge"]))
def test_total(tar, non, spf, bona, fake, convention):
    found = teer(tar, non, spf, bona, fake, convention=convention)
    assert 0 <= found.teer <= 1
    assert found.p_fa_spoof == found.teer


def test_perfect_tandem_and_infinities():
    perfect = teer([2.0, 3.0], [0.0, 1.0], [2.5, 2.0], [5.0, 6.0], [-math.inf, 0.0])
    assert perfect.teer == 0.0
    assert teer([math.inf], [-math.inf], [0.0], [math.inf], [-math.inf]).teer == 0.0


def test_nothing_told_apart():
    same = [1.0, 1.0]
    found = teer(same, same, same, same, same)
    assert (found.p_miss, found.p_fa, found.teer) == (0.0, 1.0, 1.0)  # accepting all is all there is


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: teer([], [0.0], [0.0], [0.0], [0.0]), "ASV target scores: expected at least one score"),
        (lambda: teer([0.0], [0.0], [0.0], [], [0.0]), "CM bona fide scores: expected at least one score"),
        (lambda: teer([0.0], [0.0], [math.nan], [0.0], [0.0]), "ASV spoof scores: NaN at position 0"),
        (lambda: teer([0.0], [0.0], [0.0], [0.0], [0.0], rho=1.5), "rho"),
        (lambda: teer([0.0], [0.0], [0.0], [0.0], [0.0], convention="x"), "unknown convention"),
    ],
)
def test_errors(call, words):
    with pytest.raises(InputError, match=words):
        call()

"""PAV against an independent slow implementation in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from zeroevidence.calibrate.pav import Counts, count, pav_llrs, pool, pool_laplace, rank

few_values = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=25)
with_infinities = st.lists(st.sampled_from([-np.inf, -2.0, -0.0, 0.0, 1.5, np.inf]), min_size=1, max_size=12)


def slow_pav(target, nontarget, laplace=False):
    """LLR per distinct score by repeated pooling of neighbours, in fractions; ties are one atom from the start."""
    atoms = [[Fraction(target.count(s)), Fraction(nontarget.count(s)), [s]] for s in sorted({*target, *nontarget})]
    if laplace:
        atoms = [[1, 0, []], [0, 1, []], *atoms, [1, 0, []], [0, 1, []]]
    pooled = True
    while pooled:
        pooled = False
        for i in range(len(atoms) - 1):
            a, b = atoms[i], atoms[i + 1]
            if Fraction(a[0], a[0] + a[1]) >= Fraction(b[0], b[0] + b[1]):
                atoms[i : i + 2] = [[a[0] + b[0], a[1] + b[1], a[2] + b[2]]]
                pooled = True
                break
    llr = {}
    for tar, non, scores in atoms:
        ratio = np.inf if non == 0 else float(Fraction(tar, 1) / non * len(nontarget) / len(target))
        with np.errstate(divide="ignore"):
            llr.update(dict.fromkeys(scores, float(np.log(ratio))))
    return llr


@given(st.one_of(st.tuples(few_values, few_values), st.tuples(with_infinities, with_infinities)), st.booleans())
def test_equals_slow_pav_in_fractions(scores, laplace):
    target, nontarget = scores
    expected = slow_pav(target, nontarget, laplace)
    tar, non = pav_llrs(np.array(target), np.array(nontarget), laplace=laplace)
    np.testing.assert_allclose(tar, [expected[s] for s in target], atol=1e-12)
    np.testing.assert_allclose(non, [expected[s] for s in nontarget], atol=1e-12)


@given(few_values, few_values)
def test_counts_are_those_of_the_scores(target, nontarget):
    counts = count(np.array(target), np.array(nontarget))
    assert (counts.n_target, counts.n_nontarget) == (len(target), len(nontarget))
    assert ((counts.target + counts.nontarget) > 0).all()


@given(few_values, few_values)
def test_order_preserving_maps_change_nothing(target, nontarget):
    def llrs(f):
        return np.concatenate(pav_llrs(f(np.array(target)), f(np.array(nontarget))))

    np.testing.assert_array_equal(llrs(lambda s: s), llrs(lambda s: np.exp(s) * 3 - 7))


@given(few_values, few_values)
def test_swapping_classes_and_signs_mirrors_llrs(target, nontarget):
    tar, non = pav_llrs(np.array(target), np.array(nontarget))
    mirrored_non, mirrored_tar = pav_llrs(-np.array(nontarget), -np.array(target))
    np.testing.assert_allclose(tar, -mirrored_tar, atol=1e-12)
    np.testing.assert_allclose(non, -mirrored_non, atol=1e-12)


@given(few_values, few_values)
def test_laplace_llrs_are_finite_and_keep_all_scores(target, nontarget):
    blocks = pool_laplace(pool(count(np.array(target), np.array(nontarget))))
    assert np.isfinite(blocks.llr).all()
    assert (blocks.target.sum(), blocks.nontarget.sum()) == (len(target), len(nontarget))


def test_ends():
    tied, separated = pav_llrs(np.ones(3), np.ones(7)), pav_llrs(np.array([2.0, 3.0]), np.array([0.0, 1.0]))
    assert [llr.tolist() for llr in tied] == [[0.0] * 3, [0.0] * 7]
    assert [llr.tolist() for llr in separated] == [[np.inf] * 2, [-np.inf] * 2]


@pytest.mark.parametrize("swap", [False, True])
def test_single_and_double_precision_agree(swap):
    rng = np.random.default_rng(3)
    small = rng.normal(1, 1, 50).astype(np.float32)
    large = rng.normal(0, 1, 400).astype(np.float32)
    arrays = (large, small) if swap else (small, large)
    single = pool(count(*arrays))
    double = pool(count(*(a.astype(np.float64) for a in arrays)))
    np.testing.assert_array_equal(single.llr, double.llr)
    assert rank(*arrays).target.dtype == np.float32


def test_the_callers_arrays_are_not_sorted():
    target, nontarget = np.array([3.0, 1.0]), np.array([2.0, 0.0])
    rank(target, nontarget)
    assert (target.tolist(), nontarget.tolist()) == ([3.0, 1.0], [2.0, 0.0])


def test_large_searches_in_threads_are_the_same(monkeypatch):
    from zeroevidence.calibrate import pav

    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 3000), rng.normal(0, 1, 9000)
    alone = count(target, nontarget)
    monkeypatch.setattr(pav, "_THREADED_FROM", 10)
    threaded = count(target, nontarget)
    np.testing.assert_array_equal(alone.target, threaded.target)
    np.testing.assert_array_equal(alone.nontarget, threaded.nontarget)


def test_scores_that_are_pooled_one_by_one():
    """Ever rising shares, then one that takes them all back: each round of pooling joins but two blocks."""
    n = 400
    target = np.append(np.arange(1, n + 1), 1)
    nontarget = np.append(np.full(n, 1000), 10**9)
    blocks = pool(Counts(target, nontarget))
    assert len(blocks.llr) == 1
    assert (blocks.target[0], blocks.nontarget[0]) == (target.sum(), nontarget.sum())


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_many_atoms_are_pooled_as_scipy_pools_them(shift):
    """Rounds over all atoms, and scipy's single walk: the same blocks."""
    rng = np.random.default_rng(0)
    counts = count(rng.normal(shift, 1, 6000), rng.normal(0, 1, 30_000))
    total = counts.target + counts.nontarget
    walked = isotonic_regression(counts.target / total, weights=total.astype(float))
    rounds = pool(counts)
    assert (rounds.target == np.add.reduceat(counts.target, walked.blocks[:-1])).all()
    assert (rounds.nontarget == np.add.reduceat(counts.nontarget, walked.blocks[:-1])).all()

"""Logistic calibration against scikit-learn, and where maximum likelihood has no answer."""

from functools import cache

import numpy as np
import pytest
from scipy.fft import dct, idct

from zeroevidence.calibrate.logistic import (
    LogisticFit,
    PooledLogistic,
    atom_cells,
    best_width,
    density_shares,
    fit_logistic,
    from_cosines,
    mated_shares,
    rank_cells,
    tabulate,
    to_cosines,
)
from zeroevidence.calibrate.pav import Counts, rank
from zeroevidence.calibrate.rows import RowFit, fit_rows, refit_rows
from zeroevidence.errors import InputError


def scores(seed=0, n_target=300, n_nontarget=4000):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, n_target), rng.normal(-1, 2, n_nontarget)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-6, 5.0), (1e6, -1e9)])
def test_equals_unpenalised_scikit_learn(scale, shift):
    from sklearn.linear_model import LogisticRegression

    target, nontarget = scores()
    x = np.concatenate((target, nontarget))[:, None]
    y = np.repeat([1, 0], (len(target), len(nontarget)))
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(x, y)
    fit = fit_logistic(target * scale + shift, nontarget * scale + shift)
    assert fit.weight * scale == pytest.approx(reference.coef_[0, 0], rel=1e-6)
    assert fit.bias + fit.weight * shift == pytest.approx(reference.intercept_[0], rel=1e-5)


def test_llr_of_a_gaussian_model_is_recovered():
    rng = np.random.default_rng(0)
    d = 2.0
    target, nontarget = rng.normal(d / 2, d**0.5, 20000), rng.normal(-d / 2, d**0.5, 200000)
    fit = fit_logistic(3 * target + 1, 3 * nontarget + 1)
    np.testing.assert_allclose(fit.llr(3 * target + 1), target, atol=0.15)


@pytest.mark.parametrize(
    ("target", "nontarget", "sign"),
    [([3.0, 4.0], [0.0, 1.0, 2.0], 1), ([1.0, 2.0], [2.0, 3.0], -1), ([1.0], [0.0], 1)],
)
def test_separable_scores_give_the_finite_platt_solution(target, nontarget, sign):
    fit = fit_logistic(np.array(target), np.array(nontarget))
    assert fit.separable
    assert np.isfinite([fit.weight, fit.bias]).all()
    assert np.sign(fit.weight) == sign


def test_constant_scores_carry_no_evidence():
    fit = fit_logistic(np.full(3, 2.0), np.full(9, 2.0))
    assert (fit.weight, fit.llr(np.array([2.0, 5.0])).tolist()) == (0.0, [0.0, 0.0])


def test_infinite_scores_are_refused():
    with pytest.raises(InputError, match="target: logistic calibration needs finite scores"):
        fit_logistic(np.array([np.inf]), np.array([0.0]))


@pytest.mark.parametrize("shape", [(2,), (6,), (2, 5, 1024), (32_768,)])
def test_transforms_are_those_of_scipy(shape):
    values = np.random.default_rng(0).normal(size=shape)
    scale = np.abs(dct(values)).max()
    np.testing.assert_allclose(to_cosines(values), dct(values), rtol=0, atol=1e-14 * scale)
    np.testing.assert_allclose(from_cosines(values), idct(values), rtol=0, atol=1e-14)


CELLS = 1024
WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


@cache
def smoothing(width):
    """A Gaussian kernel with a peak of 1 between all cells, reflected at both ends."""
    at = np.arange(CELLS)
    total = np.zeros((CELLS, CELLS))
    for turn in range(-2, 3):
        total += np.exp(-0.5 * ((at[:, None] - at + 2 * CELLS * turn) / width) ** 2)
        total += np.exp(-0.5 * ((at[:, None] + at + 1 + 2 * CELLS * turn) / width) ** 2)
    return total


def slow_shares(target, nontarget, width, omega):
    """Share of mated pairs at each cell, half a mated score's worth of no evidence added to each class."""
    mated = omega * (smoothing(width) @ target + 0.5) / target.sum()
    other = smoothing(width) @ nontarget / nontarget.sum() + 0.5 / target.sum()
    return mated / (mated + other)


def slow_losses(folds, omega):
    """Held-out log-loss of every width that is wide enough for the smaller class."""
    sizes = folds.sum(axis=(1, 2))
    losses = {}
    for width in WIDTHS:
        if width * sizes.min() < CELLS:
            continue
        rest = [folds.sum(axis=1) - folds[:, fold] for fold in range(folds.shape[1])]
        shares = np.array([slow_shares(*counts, width, omega) for counts in rest])
        of_targets = -(folds[0] * np.log(shares)).sum() / sizes[0]
        of_nontargets = -(folds[1] * np.log(1.0 - shares)).sum() / sizes[1]
        losses[width] = omega * of_targets + of_nontargets
    return losses


def drawn(rng, n_target, n_nontarget, period, depth, slope=0.0):
    """Counts per class, fold and cell; the share of targets oscillates with a period in cells, and rises slowly."""
    at = np.arange(CELLS)
    wave = np.exp(depth * np.sin(2.0 * np.pi * at / period) + slope * (at / CELLS - 0.5))
    shares = np.stack((wave / (1.0 + wave), 1.0 / (1.0 + wave)))
    counts = [rng.multinomial(n, p / p.sum()) for n, p in zip((n_target, n_nontarget), shares, strict=True)]
    return np.stack([rng.multinomial(one, np.full(5, 0.2)).T for one in counts])


def test_shares_are_those_of_an_explicit_kernel():
    counts = drawn(np.random.default_rng(0), 300, 2000, 100, 1.0).sum(axis=1)
    for width, share in zip((4.0, 64.0), mated_shares(counts, (4.0, 64.0), 0.3), strict=True):
        np.testing.assert_allclose(share, slow_shares(*counts, width, 0.3), rtol=1e-7)


@pytest.mark.parametrize(("n_target", "n_nontarget", "omega"), [(3000, 3000, 1), (600, 20000, 0.05), (20000, 600, 20)])
def test_the_width_has_the_least_held_out_loss(n_target, n_nontarget, omega):
    chosen = set()
    for seed, period in enumerate((12, 25, 50, 200)):
        folds = drawn(np.random.default_rng(seed), n_target, n_nontarget, period, 0.8, 2.0)
        losses = slow_losses(folds, omega)
        width, shares = best_width(folds, omega)
        assert width == min(losses, key=losses.get)
        chosen.add(width)
        rest = np.delete(folds, 2, axis=1).sum(axis=1)
        np.testing.assert_allclose(shares[2], slow_shares(*rest, width, omega), rtol=1e-7)
    assert len(chosen) > 2  # the choice matters


@pytest.mark.parametrize("small", [0, 1])
def test_the_narrowest_kernel_needs_a_score_in_every_other_cell(small):
    """A width is tried from where it spans as many cells as the smaller class leaves to each of its scores."""
    for n, narrowest in ((512, 2.0), (511, 4.0), (256, 4.0), (255, 8.0)):
        counts = np.zeros((2, CELLS), dtype=np.int64)
        blocks = np.arange(CELLS) // 16 % 2 == 0  # stretches of one class alone: the narrowest kernel is the best
        places = [np.flatnonzero(blocks), np.flatnonzero(~blocks)]
        np.add.at(counts[small], np.resize(places[0], n), 1)
        np.add.at(counts[1 - small], np.resize(places[1], 8192), 1)
        folds = np.stack([np.random.default_rng(0).multinomial(one, np.full(5, 0.2)).T for one in counts])
        assert best_width(folds, 1.0)[0] == narrowest


def test_too_few_scores_get_the_widest_kernel():
    folds = np.zeros((2, 5, CELLS), dtype=np.int64)
    folds[0, :3, 900], folds[1, :, 100] = 1, 50
    assert best_width(folds, 1.0)[0] == 256.0
    folds[0, :, 900] = 0
    folds[0, 1, 880:920] = 100  # other folds than the second have no targets, so none can be learned from there
    assert best_width(folds, 1.0)[0] == 256.0


def test_cells_hold_all_scores_at_their_rank_in_the_mixture():
    counts = Counts(np.array([0, 2, 1, 5]), np.array([10, 5, 0, 1]))
    target, nontarget = rank_cells(counts)
    assert (target.sum(), nontarget.sum()) == (8, 16)
    mass = 0.5 * counts.target / 8 + 0.5 * counts.nontarget / 16
    middle = np.cumsum(mass) - mass / 2
    assert atom_cells(counts).tolist() == np.floor(middle * CELLS).astype(int).tolist()
    # atoms of both classes are whole; the first, of one class, covers its own stretch
    for atom in (1, 3):
        cell = int(middle[atom] * CELLS)
        assert target[cell - 1 : cell + 1].sum() >= counts.target[atom]
    covered = np.flatnonzero(nontarget)
    assert covered[0] < 0.1 * mass[0] * CELLS
    assert nontarget[: int(mass[0] * CELLS)].sum() == pytest.approx(10, abs=1)


def test_shares_of_scores_come_from_all_folds():
    rng = np.random.default_rng(3)
    ranked = rank(rng.normal(1.0, 1.0, 700), rng.normal(0.0, 1.0, 900))
    lows, share = density_shares(ranked, omega=0.5, seed=4)
    counts = np.stack(rank_cells(ranked.counts))
    widths = [w for w in WIDTHS if np.allclose(slow_shares(*counts, w, 0.5)[counts.sum(axis=0) > 0], share, rtol=1e-7)]
    assert len(widths) == 1
    assert len(lows) == len(share)
    assert lows[0] == min(ranked.target[0], ranked.nontarget[0])
    assert (np.diff(lows) > 0.0).all()


def test_fits_from_the_mean_of_targets_are_those_of_single_scores():
    """Also where targets do not overlap with the others, where all scores are equal, and with a start elsewhere."""
    pooled = np.random.default_rng(0).normal(size=60)
    lowest, highest = np.argsort(pooled)[:7], np.argsort(pooled)[-7:]
    for places in (np.arange(7), np.arange(20, 27), lowest, highest):
        target, others = pooled[places], np.delete(pooled, places)
        expected = fit_logistic(target, others)
        assert expected.separable == (places is lowest or places is highest)
        near = fit_logistic(target, others, start=LogisticFit(1.0, 3.0, 0.0))
        for fit in (PooledLogistic(pooled, 7).fit(target.mean()), near):
            assert fit.separable == expected.separable
            assert (fit.weight, fit.bias) == pytest.approx((expected.weight, expected.bias), abs=1e-7)
    assert PooledLogistic(np.ones(5), 2).fit(1.0) == fit_logistic(np.ones(2), np.ones(3))


def test_labels_stay_soft_near_a_fit_of_soft_labels():
    """Where classes begin to overlap, the weight would else jump: the gradient of soft labels vanishes."""
    target, others = np.array([1.0, 2.0, 3.0, 4.0]), np.array([-1.0, 0.0, 1.0001, -2.0, 0.5])
    jump = fit_logistic(target, others)
    fit = fit_logistic(target, others, start=LogisticFit(2.0, -1.0, 0.0, separable=True))
    assert fit.separable
    assert 5.0 * fit.weight < jump.weight
    x, labels = np.concatenate((target, others)), np.repeat((5.0 / 6.0, 1.0 / 7.0), (4, 5))
    rest = 1.0 / (1.0 + np.exp(-fit.weight * x - fit.bias)) - labels
    assert (rest.sum(), rest @ x) == pytest.approx((0.0, 0.0), abs=1e-8)


@pytest.mark.parametrize(("function", "smooth"), [(np.tanh, True), (np.abs, False)])
def test_a_table_stands_for_a_smooth_function_only(function, smooth):
    calls = []
    quick = tabulate(lambda x: calls.append(x) or np.array([function(x), 2.0]), -1.0, 1.5)
    tried = len(calls)
    for x in (-1.0, -0.3, 0.0, 0.25, 1.5):
        np.testing.assert_allclose(quick(x), [function(x), 2.0], atol=1e-10)
    assert (len(calls) == tried) == smooth
    assert tried <= 33


def test_refitted_rows_are_fitted_rows():
    rng = np.random.default_rng(1)
    mated, exchanges = rng.integers(0, 6, 50), np.array([rng.permutation(6) for _ in range(60)])
    rows = rng.normal(size=(50, 6)) + rng.normal(size=(6, 6))[mated]
    for how in (RowFit(l2=1.0), RowFit(scaling="none", balanced=True), RowFit("temperature", "centre")):
        for exchange, fit in zip(exchanges, refit_rows(rows, mated, exchanges, how), strict=True):
            expected = fit_rows(rows, exchange[mated], how)
            assert (fit.weight, fit.bias) == pytest.approx((expected.weight, expected.bias), abs=1e-6)
            assert (fit.fit, fit.scaling, fit.prior_log_odds) == (how, how.scaling, expected.prior_log_odds)


@pytest.mark.parametrize("weight", [50.0, 1e6, -1e6])
def test_a_start_that_is_too_steep_changes_nothing(weight):
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1.0, 1.0, 20), rng.normal(0.0, 1.0, 60)
    plain = fit_logistic(target, nontarget)
    near = fit_logistic(target, nontarget, start=LogisticFit(weight, 0.3, plain.prior_log_odds, False))
    assert (near.weight, near.bias) == pytest.approx((plain.weight, plain.bias), rel=1e-6)

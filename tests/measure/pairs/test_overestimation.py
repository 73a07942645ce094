"""LLR overestimation against densities that are known, and against the package of the field where it is there."""

import numpy as np
import pytest

from zeroevidence.measure.pairs import llrs
from zeroevidence.measure.pairs.llrs import POINTS, llr_overestimation, overestimation_curve

LN10 = np.log(10.0)


def calibrated(n, seed=0):
    """LLRs whose densities are normal with a variance of twice the mean, which makes them calibrated."""
    rng = np.random.default_rng(seed)
    return rng.normal(2.0, 2.0, n), rng.normal(-2.0, 2.0, n)


def test_calibrated_llrs_are_hardly_overestimated_and_others_by_as_much_as_they_are():
    target, nontarget = calibrated(20_000)
    assert llr_overestimation(target, nontarget) < 0.15
    # everything larger by a factor of 100
    grid, over = overestimation_curve(target + 2.0 * LN10, nontarget + 2.0 * LN10)
    _, before = overestimation_curve(target, nontarget)
    assert len(grid) == POINTS
    assert over - before == pytest.approx(np.full(POINTS, 2.0), abs=1e-9)


def test_two_normal_densities_by_hand():
    """Two LLRs in each class: kernels at four places, whose ratio is written out."""
    target, nontarget = np.array([0.0, 2.0]), np.array([-1.0, 1.0])

    def density(x, places, width):
        return sum(np.exp(-0.5 * ((x - place) / width) ** 2) for place in places) / width

    widths = []
    grid, over = overestimation_curve(target * LN10, nontarget * LN10)
    assert len(grid) == 0, "no class has two LLRs where both occur"
    target, nontarget = np.array([0.0, 1.0, 2.0]), np.array([-1.0, 0.5, 1.5])
    grid, over = overestimation_curve(target * LN10, nontarget * LN10)
    assert (grid[0], grid[-1]) == pytest.approx((0.0, 1.5))
    for places in (np.array([0.0, 1.0]), np.array([0.5, 1.5])):  # within the grid
        spread = min(places.std(ddof=1), (places[1] - places[0]) / 2 / 1.3489795003921634)
        widths.append(spread * 1.5**-0.2)
    expected = grid - np.log10(density(grid, target, widths[0]) / density(grid, nontarget, widths[1]))
    assert over == pytest.approx(expected)


def test_where_there_is_none():
    assert np.isnan(llr_overestimation([2.0, 3.0], [-1.0, 0.0]))  # apart
    assert np.isnan(llr_overestimation([1.0, 1.0, 1.0, 5.0], [0.0, 1.0, 1.0, 1.0]))  # no spread
    assert np.isnan(llr_overestimation([np.inf, np.inf], [-np.inf, np.inf]))
    assert np.isfinite(llr_overestimation([0.0, 1.0, 2.0], [-1.0, 0.5, 1.5]))


def test_many_scores_are_counted_in_bins(monkeypatch):
    target, nontarget = calibrated(3000)
    exact = overestimation_curve(target, nontarget)[1]
    monkeypatch.setattr(llrs, "_COUNTED_FROM", 100)
    assert overestimation_curve(target, nontarget)[1] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_lir(seed):
    lir = pytest.importorskip("lir.algorithms.llr_overestimation")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(1.0, 1.0 + seed, 60), rng.normal(-1.0, 1.5, 90)
    labels = np.concatenate((np.ones(60), np.zeros(90)))
    grid, over, _ = lir.calc_llr_overestimation(np.concatenate((target, nontarget)) / LN10, labels, num_fids=0)
    found = overestimation_curve(target, nontarget)
    assert found[0] == pytest.approx(grid)
    assert found[1] == pytest.approx(over, abs=1e-10)
    assert llr_overestimation(target, nontarget) == pytest.approx(np.abs(over).mean(), abs=1e-10)

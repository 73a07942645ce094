"""Invariance bounds against a walk along a fine grid, and against the package of the field where it is there."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.measure.pairs.llrs import invariance_bounds

LN10 = np.log(10.0)
STEP = 4e-3


def by_walking(target, nontarget):
    """The first threshold at which LLRs from there on are too rare among targets, and the last for those below."""

    def evidence(mated, other):
        return np.log((mated.sum() + 0.5) / (len(target) + 1.0)) - np.log((other.sum() + 0.5) / (len(nontarget) + 1.0))

    both = np.concatenate((target, nontarget))
    grid = np.arange(min(0.0, both.min()), max(0.0, both.max()), STEP)
    above = [evidence(target >= t, nontarget >= t) for t in grid]
    below = [evidence(target < t, nontarget < t) for t in grid]
    fails_above, fails_below = grid[np.array(above) < grid], grid[np.array(below) > grid]
    high = fails_above[0] if len(fails_above) else target.max()
    low = fails_below[-1] if len(fails_below) else nontarget.min()
    return min(low, 0.0), max(high, 0.0)


@pytest.mark.parametrize("centres", [(1.0, -1.0), (3.0, -3.0), (0.0, 0.0), (-1.0, 1.0), (3.0, 2.0), (-2.0, -3.0)])
def test_bounds_are_those_of_a_walk(centres):
    rng = np.random.default_rng(0)
    for n_target, n_nontarget in ((30, 9), (3, 3)):
        target, nontarget = rng.normal(centres[0], 1.0, n_target), rng.normal(centres[1], 1.0, n_nontarget)
        assert invariance_bounds(target, nontarget) == pytest.approx(by_walking(target, nontarget), abs=2 * STEP)


def test_separated_classes_are_bounded_by_their_number():
    low, high = invariance_bounds(np.full(9, 40.0), np.full(99, -40.0))
    # all nine targets and no other above 0, all others and no target below
    assert high == pytest.approx(np.log((9.5 / 10.0) / (0.5 / 100.0)))
    assert low == pytest.approx(np.log((0.5 / 10.0) / (99.5 / 100.0)))


def test_useless_and_wrong_scores_are_bounded_by_nothing():
    assert invariance_bounds([0.0, 0.0], [0.0, 0.0]) == (0.0, 0.0)
    assert invariance_bounds([-3.0, -2.0], [2.0, 3.0]) == (0.0, 0.0)


def test_swapping_classes_mirrors_the_bounds():
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(1.0, 1.0, 50), rng.normal(-1.0, 1.0, 80)
    low, high = invariance_bounds(target, nontarget)
    assert invariance_bounds(-nontarget, -target) == pytest.approx((-high, -low))


def test_infinite_llrs_are_bounded():
    low, high = invariance_bounds([np.inf, 2.0, 1.0], [-np.inf, -1.0, 0.5])
    assert np.isfinite([low, high]).all()


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_lir(seed):
    lir = pytest.importorskip("lir.algorithms.invariance_bounds")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(1.0 + seed / 3, 1.5, 24 + 40 * seed), rng.normal(-1.0, 1.5, 34 + 80 * seed)
    labels = np.concatenate((np.ones(len(target)), np.zeros(len(nontarget))))
    expected = np.log10(lir.calculate_invariance_bounds(np.exp(np.concatenate((target, nontarget))), labels)[:2])
    assert np.array(invariance_bounds(target, nontarget)) / LN10 == pytest.approx(expected, abs=1.01e-3)  # its grid


def test_the_measures_are_of_llrs_alone():
    rng = np.random.default_rng(1)
    dev, case = ((rng.normal(1.0, 1.0, 40), rng.normal(-1.0, 1.0, 60)) for _ in range(2))
    names = ("invariance_low", "invariance_high", "llr_overestimation")
    assert not any(name in ze.evaluate(*case, options=ze.Options(intervals=0, null=0)) for name in names)
    row = ze.evaluate(*case, calibrate=ze.Scores(*dev), options=ze.Options(intervals=0, null=0))
    llrs = row.scores
    low, high = invariance_bounds(llrs.target, llrs.nontarget)
    assert [float(row[name]) for name in names[:2]] == pytest.approx([low / LN10, high / LN10])
    assert float(row[names[2]]) == pytest.approx(ze.llr_overestimation(llrs.target, llrs.nontarget))

"""Empirical bounds of LLRs against a walk along a fine grid; test_devpav.py has the package of the field."""

import itertools

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.measure.pairs.llrs import elub

STEP = 1e-4


def by_walking(target, nontarget):
    """The thresholds next to 0 at which deciding by LLRs, one misleading score added to each class, does not pay."""
    bounds = []
    for side in (-1.0, 1.0):
        threshold = 0.0
        while True:
            misses = (np.count_nonzero(target <= threshold) + 1) / (len(target) + 1)
            alarms = (np.count_nonzero(nontarget > threshold) + 1) / (len(nontarget) + 1)
            without = 1.0 if threshold >= 0.0 else np.exp(threshold)
            if misses + np.exp(threshold) * alarms > without + 1e-12:
                bounds.append(threshold)
                break
            threshold += side * STEP
    return bounds


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_those_of_a_walk(seed):
    rng = np.random.default_rng(seed)
    target = rng.normal(1.0 + seed / 3, 1.5, 4 + 20 * seed)
    nontarget = rng.normal(-1.0 - seed / 3, 1.5, 4 + 50 * seed)
    assert elub(target, nontarget) == pytest.approx(by_walking(target, nontarget), abs=2 * STEP)


def on_a_grid(target, nontarget, step):
    """The last multiples of a step on both sides of 0 at which deciding by LLRs (powers of ten) pays, one by one."""
    bounds = []
    for side in (-1, 1):
        for multiple in itertools.count():
            level = side * multiple * step
            misses = (np.count_nonzero(target <= level) + 1) / (len(target) + 1)
            alarms = (np.count_nonzero(nontarget > level) + 1) / (len(nontarget) + 1)
            if misses + 10.0**level * alarms > (10.0**level if level < 0.0 else 1.0):
                bounds.append(side * max(multiple - 1, 0) * step)
                break
    return np.array(bounds) * np.log(10.0)


@pytest.mark.parametrize("step", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("centres", [(1.0, -1.0), (3.0, 1.0), (-1.0, -3.0), (5.0, -5.0), (0.0, 0.0), (-1.0, 1.0)])
def test_bounds_on_a_grid_are_those_of_a_walk(centres, step):
    rng = np.random.default_rng(0)
    for n_target, n_nontarget in ((40, 700), (700, 40), (3, 3)):
        target, nontarget = rng.normal(centres[0], 0.7, n_target), rng.normal(centres[1], 0.7, n_nontarget)
        found = elub(target * np.log(10.0), nontarget * np.log(10.0), step=step)
        assert found == pytest.approx(on_a_grid(target, nontarget, step), abs=1e-9)


def test_evidence_that_does_not_pay_at_even_odds_is_not_supported_beyond():
    """All non-targets lie just above 0, all targets just below: next to 0 nothing pays, further out it would."""
    scores = np.full(99, 1.0), np.full(99, 0.1)
    assert elub(*scores, step=0.3)[1] == on_a_grid(*(one / np.log(10.0) for one in scores), 0.3)[1] == 0.0
    mirrored = np.full(99, -0.1), np.full(99, -1.0)
    assert elub(*mirrored, step=0.3)[0] == 0.0


def test_a_grid_needs_a_positive_step():
    for step in (0.0, -0.1, np.inf, np.nan):
        with pytest.raises(ze.UsageError, match="step: expected a positive number, got"):
            elub([1.0], [0.0], step=step)


def test_ends():
    """Separated classes support what their number does, useless and wrong scores nothing."""
    low, high = elub(np.full(99, 40.0), np.full(999, -40.0))
    assert low == pytest.approx(-np.log(100 * 999 / 1000))
    assert high == pytest.approx(np.log(1000 * 99 / 100))
    assert elub([0.0, 0.0], [0.0, 0.0]) == (0.0, 0.0)
    assert elub([-3.0, -2.0], [2.0, 3.0]) == (0.0, 0.0)


def test_swapping_classes_mirrors_the_bounds():
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(1.0, 1.0, 50), rng.normal(-1.0, 1.0, 80)
    low, high = elub(target, nontarget)
    assert elub(-nontarget, -target) == pytest.approx((-high, -low))


def test_the_measure_does_not_change_with_the_scale_of_scores():
    rng = np.random.default_rng(4)
    target, nontarget = rng.normal(1.0, 1.0, 50), rng.normal(-1.0, 1.0, 80)
    rows = [ze.evaluate(f(target), f(nontarget), options=ze.Options(intervals=0, null=0)) for f in (np.array, np.exp)]
    values = [row.number("worst_case_supported") for row in rows]
    assert values[0] == values[1]
    assert 0.0 < values[0] <= np.log10(81)

"""devPAV against areas that are known, and bounds and distances of real LLRs against the package of the field."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.measure.pairs import llrs as llr_measures
from zeroevidence.measure.pairs.llrs import devpav, elub, invariance_bounds, llr_overestimation, overestimation_curve

pytestmark = pytest.mark.filterwarnings("ignore:the EER exceeds", "ignore:all scores are 0 or 1")  # on purpose

LN10 = np.log(10.0)
VOXSRC = Path(__file__).resolve().parents[4] / "shared" / "data" / "scores" / "voxsrc2021_dev"


def test_areas_by_hand():
    # PAV gives four equal shares of 3:1, 2:2 and 1:3, so LLRs of -log 3, 0 and log 3 at three places.
    def placed(low, middle, high):
        target = np.repeat([low, middle, high], (1, 2, 3)) * LN10
        nontarget = np.repeat([low, middle, high], (3, 2, 1)) * LN10
        return devpav(target, nontarget)

    three = np.log10(3.0)
    assert placed(-three, 0.0, three) == pytest.approx(0.0, abs=1e-12)
    assert placed(-three + 0.5, 0.5, three + 0.5) == pytest.approx(0.5)  # a shift is its distance everywhere
    assert placed(-3 * three, 0.0, 3 * three) == pytest.approx(three)  # two triangles of height 2 log 3
    # one triangle on the right, of height 2
    assert placed(-three, 0.0, three + 2.0) == pytest.approx((three + 2.0) / (2.0 * three + 2.0))
    # The line from (0, -log 3) to (log 3, log 3), which crosses the diagonal where log 3 and 0 would meet it.
    sides = [np.repeat([0.0, three], counts) * LN10 for counts in ((1, 3), (3, 1))]
    assert devpav(*sides) == pytest.approx(three / 2)


def test_ends():
    assert np.isnan(devpav([2.0, 3.0], [-1.0, 0.0]))  # PAV knows everything
    assert devpav([1.0, 1.0], [1.0, 1.0]) == pytest.approx(1.0 / LN10)  # one place
    assert devpav([np.inf, np.inf, 1.0], [-1.0, np.inf, 2.0]) == np.inf
    assert np.isfinite(devpav([np.inf, 1.0, 0.0], [-1.0, 0.5, 2.0]))  # PAV leaves it infinite


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_lir(seed):
    lir = pytest.importorskip("lir.metrics.devpav")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(1.0, 1.0 + seed, 60), rng.normal(-1.0, 1.5, 90)
    if seed % 2:
        target, nontarget = target.round(1), nontarget.round(1)  # ties
    labels = np.concatenate((np.ones(60), np.zeros(90)))
    expected = lir.devpav(np.concatenate((target, nontarget)) / LN10, labels)
    assert devpav(target, nontarget) == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def halves():
    """Scores of VoxSRC 2021, every other one to calibrate on."""
    if not VOXSRC.is_dir():
        pytest.skip("the scores of VoxSRC 2021 are not here")
    data = read_scores(VOXSRC / "scores.txt", VOXSRC / "trials.txt").data
    return [(data.target[half::2].astype(float), data.nontarget[half::2].astype(float)) for half in (0, 1)]


@pytest.fixture(scope="module")
def llrs(halves):
    fit = fit_logistic(*halves[0])
    return fit.llr(halves[1][0]), fit.llr(halves[1][1])


def together(llrs):
    return np.concatenate(llrs) / LN10, np.concatenate((np.ones(len(llrs[0])), np.zeros(len(llrs[1]))))


def test_voxsrc_cllr_of_calibrated_llrs(halves, llrs):
    metrics, models = pytest.importorskip("lir.metrics"), pytest.importorskip("lir.data.models")
    values, labels = together(llrs)
    expected = metrics.cllr(models.LLRData(features=values.reshape(-1, 1), labels=labels))
    row = ze.evaluate(*halves[1], calibrate=ze.Scores(*halves[0]), options=ze.Options(intervals=0, null=0))
    assert float(row["cllr"]) == pytest.approx(expected, abs=1e-6)
    assert float(row["devpav"]) == pytest.approx(devpav(*llrs), abs=1e-9)
    assert [float(row["elub_low"]), float(row["elub_high"])] == pytest.approx(elub(*llrs), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_on_a_grid_come_from_the_same_walk(seed):
    lir = pytest.importorskip("lir.algorithms.bayeserror")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(seed - 1.0, 2.0, 30), rng.normal(1.0 - seed, 2.0, 70)
    values, labels = together((target, nontarget))
    for step in (0.01, 0.1):
        expected = lir.elub(values.copy(), labels, step_size=step)
        assert elub(target, nontarget, step=step) == pytest.approx(expected, abs=1e-9)


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
    assert len(grid) == llr_measures.POINTS
    assert over - before == pytest.approx(np.full(llr_measures.POINTS, 2.0), abs=1e-9)


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
    monkeypatch.setattr(llr_measures, "_COUNTED_FROM", 100)
    assert overestimation_curve(target, nontarget)[1] == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_lir_overestimation(seed):
    lir = pytest.importorskip("lir.algorithms.llr_overestimation")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(1.0, 1.0 + seed, 60), rng.normal(-1.0, 1.5, 90)
    labels = np.concatenate((np.ones(60), np.zeros(90)))
    grid, over, _ = lir.calc_llr_overestimation(np.concatenate((target, nontarget)) / LN10, labels, num_fids=0)
    found = overestimation_curve(target, nontarget)
    assert (found[0], found[1]) == (pytest.approx(grid), pytest.approx(over, abs=1e-10))
    assert llr_overestimation(target, nontarget) == pytest.approx(np.abs(over).mean(), abs=1e-10)


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
                bounds.append(threshold / LN10)
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
    return bounds


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


def test_ends_elub():
    """Separated classes support what their number does, useless and wrong scores nothing."""
    low, high = elub(np.full(99, 40.0), np.full(999, -40.0))
    assert low == pytest.approx(-np.log10(100 * 999 / 1000))
    assert high == pytest.approx(np.log10(1000 * 99 / 100))
    assert elub([0.0, 0.0], [0.0, 0.0]) == (0.0, 0.0)
    assert elub([-3.0, -2.0], [2.0, 3.0]) == (0.0, 0.0)


@pytest.mark.parametrize("bounds", [elub, invariance_bounds])
def test_swapping_classes_mirrors_the_bounds(bounds):
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(1.0, 1.0, 50), rng.normal(-1.0, 1.0, 80)
    low, high = bounds(target, nontarget)
    assert bounds(-nontarget, -target) == pytest.approx((-high, -low))


def test_the_measure_does_not_change_with_the_scale_of_scores():
    rng = np.random.default_rng(4)
    target, nontarget = rng.normal(1.0, 1.0, 50), rng.normal(-1.0, 1.0, 80)
    rows = [ze.evaluate(f(target), f(nontarget), options=ze.Options(intervals=0, null=0)) for f in (np.array, np.exp)]
    values = [row.number("worst_case_supported") for row in rows]
    assert values[0] == values[1]
    assert 0.0 < values[0] <= np.log10(81)


SMALL_STEP = 4e-3


def walk_to_invariance(target, nontarget):
    """The first threshold at which LLRs from there on are too rare among targets, and the last for those below."""

    def evidence(mated, other):
        return np.log((mated.sum() + 0.5) / (len(target) + 1.0)) - np.log((other.sum() + 0.5) / (len(nontarget) + 1.0))

    both = np.concatenate((target, nontarget))
    grid = np.arange(min(0.0, both.min()), max(0.0, both.max()), SMALL_STEP)
    above = [evidence(target >= t, nontarget >= t) for t in grid]
    below = [evidence(target < t, nontarget < t) for t in grid]
    fails_above, fails_below = grid[np.array(above) < grid], grid[np.array(below) > grid]
    high = fails_above[0] if len(fails_above) else target.max()
    low = fails_below[-1] if len(fails_below) else nontarget.min()
    return min(low, 0.0) / LN10, max(high, 0.0) / LN10


@pytest.mark.parametrize("centres", [(1.0, -1.0), (3.0, -3.0), (0.0, 0.0), (-1.0, 1.0), (3.0, 2.0), (-2.0, -3.0)])
def test_bounds_are_those_of_a_walk_invariance(centres):
    rng = np.random.default_rng(0)
    for n_target, n_nontarget in ((30, 9), (3, 3)):
        target, nontarget = rng.normal(centres[0], 1.0, n_target), rng.normal(centres[1], 1.0, n_nontarget)
        expected = walk_to_invariance(target, nontarget)
        assert invariance_bounds(target, nontarget) == pytest.approx(expected, abs=2 * SMALL_STEP)


def test_separated_classes_are_bounded_by_their_number():
    low, high = invariance_bounds(np.full(9, 40.0), np.full(99, -40.0))
    # all nine targets and no other above 0, all others and no target below
    assert high == pytest.approx(np.log10((9.5 / 10.0) / (0.5 / 100.0)))
    assert low == pytest.approx(np.log10((0.5 / 10.0) / (99.5 / 100.0)))


def test_useless_and_wrong_scores_are_bounded_by_nothing():
    assert invariance_bounds([0.0, 0.0], [0.0, 0.0]) == (0.0, 0.0)
    assert invariance_bounds([-3.0, -2.0], [2.0, 3.0]) == (0.0, 0.0)


def test_infinite_llrs_are_bounded():
    low, high = invariance_bounds([np.inf, 2.0, 1.0], [-np.inf, -1.0, 0.5])
    assert np.isfinite([low, high]).all()


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_lir_invariance(seed):
    lir = pytest.importorskip("lir.algorithms.invariance_bounds")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(1.0 + seed / 3, 1.5, 24 + 40 * seed), rng.normal(-1.0, 1.5, 34 + 80 * seed)
    labels = np.concatenate((np.ones(len(target)), np.zeros(len(nontarget))))
    expected = np.log10(lir.calculate_invariance_bounds(np.exp(np.concatenate((target, nontarget))), labels)[:2])
    assert invariance_bounds(target, nontarget) == pytest.approx(expected, abs=1.01e-3)  # its grid


def test_overestimation_where_neither_class_comes_near():
    """Between two clusters, 40 bandwidths apart, both densities are below the smallest number; their ratio is not."""
    near, far = np.linspace(-0.1, 0.1, 60), np.linspace(-9.1, -8.9, 4)
    target, nontarget = np.concatenate((far, near)), np.concatenate((far - 0.05, near - 0.05, near))
    value = ze.llr_overestimation(target, nontarget)
    assert np.isfinite(value)
    powers = [values / LN10 for values in (target, nontarget)]
    low = max(np.quantile(values, 0.001, method="hazen") for values in powers)
    high = min(np.quantile(values, 0.999, method="hazen") for values in powers)
    grid, logs = np.linspace(low, high, 100), []
    for values in powers:
        inside = values[(values >= low) & (values <= high)]
        quartiles = np.percentile(inside, (25, 75))
        width = min(inside.std(ddof=1), np.diff(quartiles)[0] / 1.3489795003921634) * (0.75 * len(inside)) ** -0.2
        exponents = -0.5 * ((grid[:, None] - values) / width) ** 2
        top = exponents.max(axis=1)
        logs.append(top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)) - np.log(len(values) * width))
    assert value == pytest.approx(np.abs(grid - (logs[0] - logs[1]) / LN10).mean(), rel=1e-9)


def test_the_measures_are_of_llrs_alone():
    rng = np.random.default_rng(1)
    dev, case = ((rng.normal(1.0, 1.0, 40), rng.normal(-1.0, 1.0, 60)) for _ in range(2))
    names = ("misleading_target", "misleading_nontarget", "elub_low", "elub_high", "invariance_low", "invariance_high")
    names += ("llr_overestimation", "devpav")
    assert not any(name in ze.evaluate(*case, options=ze.Options(intervals=0, null=0)) for name in names)
    row = ze.evaluate(*case, calibrate=ze.Scores(*dev), options=ze.Options(intervals=0, null=0))
    llrs = [row.setup.llr.weights[0] * scores + row.setup.llr.biases[0] for scores in case]
    shares = [np.sum(llrs[0] < 0.0) / 40, np.sum(llrs[1] > 0.0) / 60]
    assert ze.misleading_evidence(*llrs) == tuple(shares)
    expected = [*shares, *elub(*llrs), *invariance_bounds(*llrs), ze.llr_overestimation(*llrs), devpav(*llrs)]
    assert [float(row[name]) for name in names] == pytest.approx(expected)  # functions and rows have one unit
    assert ze.misleading_evidence([0.0, -1.0], [0.0, 0.0]) == (0.5, 0.0)  # 0 misleads nobody

"""devPAV against areas that are known, and bounds and distances of real LLRs against the package of the field."""

from pathlib import Path

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.measure.pairs.llrs import devpav, elub

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
    assert devpav(np.repeat([0.0, three], (1, 3)) * LN10, np.repeat([0.0, three], (3, 1)) * LN10) == pytest.approx(
        three / 2
    )


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


def test_voxsrc_devpav(llrs):
    lir = pytest.importorskip("lir.metrics.devpav")
    assert devpav(*llrs) == pytest.approx(lir.devpav(*together(llrs)), abs=1e-6)


def test_voxsrc_bounds(llrs):
    lir = pytest.importorskip("lir.algorithms.bayeserror")
    values, labels = together([one[:4000] for one in llrs])  # it compares every score with every point of its grid
    cut = [one[:4000] for one in llrs]
    assert np.array(elub(*cut, step=0.01)) / LN10 == pytest.approx(lir.elub(values.copy(), labels), abs=1e-6)
    assert np.array(elub(*cut)) == pytest.approx(elub(*cut, step=1e-4), abs=3e-4)


def test_voxsrc_cllr_of_calibrated_llrs(halves, llrs):
    metrics, models = pytest.importorskip("lir.metrics"), pytest.importorskip("lir.data.models")
    values, labels = together(llrs)
    expected = metrics.cllr(models.LLRData(features=values.reshape(-1, 1), labels=labels))
    row = ze.evaluate(*halves[1], calibrate=ze.Scores(*halves[0]), options=ze.Options(intervals=0, null=0))
    assert float(row["cllr"]) == pytest.approx(expected, abs=1e-6)
    assert float(row["devpav"]) == pytest.approx(devpav(*llrs), abs=1e-9)
    bounds = [float(row["elub_low"]) * LN10, float(row["elub_high"]) * LN10]
    assert bounds == pytest.approx(elub(*llrs), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_on_a_grid_come_from_the_same_walk(seed):
    lir = pytest.importorskip("lir.algorithms.bayeserror")
    rng = np.random.default_rng(seed)
    target, nontarget = rng.normal(seed - 1.0, 2.0, 30), rng.normal(1.0 - seed, 2.0, 70)
    values, labels = together((target, nontarget))
    for step in (0.01, 0.1):
        found = np.array(elub(target, nontarget, step=step)) / LN10
        assert found == pytest.approx(lir.elub(values.copy(), labels, step_size=step), abs=1e-9)

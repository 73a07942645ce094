"""ALID over the number of identities: all subsets by enumeration, a closed form, and the whole search at the end."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import zeroevidence as ze
from zeroevidence.calibrate.rows import ROW_SCALINGS, AffineCalibration, RowFit, fit_rows
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import closed_set_search
from zeroevidence.errors import InputError
from zeroevidence.evaluation.search_task import mean_over_folds
from zeroevidence.measure.search import sizes as module
from zeroevidence.measure.search.disclosure import row_evidence
from zeroevidence.measure.search.longitudinal import SizeCurve
from zeroevidence.measure.search.sizes import alid_curve


def simulated(trials=200, people=8, gap=2.0, seed=0):
    rng = np.random.default_rng(seed)
    mated = np.arange(trials) % people
    return rng.normal(size=(trials, people)) + gap * np.eye(people)[mated], mated


def over_all_subsets(scores, mated, calibration, n, prior):
    """Mean of LID over every subset of n identities that holds the true one, one row at a time."""
    values = []
    for row, true in zip(scores, mated, strict=True):
        others = [column for column in range(len(row)) if column != true]
        for chosen in combinations(others, n - 1):
            columns = [true, *chosen]
            of_subset = prior[columns] / prior[columns].sum()
            evidence = row_evidence(row[None, columns], np.array([0]), calibration, prior=of_subset)
            values.append(evidence.lid[0])
    return np.mean(values)


@pytest.mark.parametrize("scaling", ROW_SCALINGS)
@pytest.mark.parametrize("with_prior", [False, True])
def test_the_mean_over_drawn_subsets_is_that_over_all(monkeypatch, scaling, with_prior):
    monkeypatch.setattr(module, "DRAWS", 300)
    scores, mated = simulated(trials=6, people=6)
    calibration = AffineCalibration("a", 1.5, 0.0, 0.0, scaling=scaling)
    prior = np.random.default_rng(3).dirichlet(np.full(6, 5.0)) if with_prior else None
    curve = alid_curve((scores, mated), calibration, (scores, mated), lambda *_: calibration, prior=prior,
                       sizes=[2, 3, 5, 6])  # fmt: skip
    uniform = np.full(6, 1.0 / 6.0)
    expected = [over_all_subsets(scores, mated, calibration, n, uniform if prior is None else prior) for n in curve.x]
    error = curve.draws.std(axis=0, ddof=1) / np.sqrt(300)
    assert error[[0, 3]].tolist() == pytest.approx([0.0, 0.0], abs=1e-12)  # all pairs, and everybody
    assert (error[1:3] > 0.0).all()
    assert (error < 0.02).all()
    assert (np.abs(curve.y - expected) <= 4.0 * error + 1e-12).all()


def test_few_trials_stand_for_all(monkeypatch):
    """Where there are too many to search each time, the whole search makes up for those that are left out."""
    (scores, mated), dev = simulated(400, seed=0), simulated(400, seed=1)
    usual = alid_curve((scores, mated), fit_rows(*dev), dev, fit_rows)
    monkeypatch.setattr(module, "_DEALT", 64)
    monkeypatch.setattr(module, "_SCORES", 16)
    fewer = [alid_curve((scores, mated), fit_rows(*dev), dev, fit_rows, seed=seed) for seed in range(6)]
    assert {tuple(curve.y[[0, 2]]) for curve in fewer} == {tuple(usual.y[[0, 2]])}
    assert np.mean([curve.draws[:, 1].std() for curve in fewer]) > 1.5 * usual.draws[:, 1].std()
    assert np.mean([curve.y[1] for curve in fewer]) == pytest.approx(usual.y[1], abs=0.03)


def test_published_scores_by_plain_numpy(shared):
    """Among two all pairs decide, in closed form; among four, draws and a logistic regression that are written here."""
    home = shared / "scores" / "vpc2020"
    case, dev = (read_scores(home / "samegender_f0orig_retrained" / f"aa_{sex}.scores", home / f"trials_{sex}")
                 for sex in "fm")  # fmt: skip
    options = ze.Options(intervals=0, null=0)
    curves = [
        ze.evaluate(case, dev=dev, options=options, run=ze.Run(seed=seed)).curves["alid_over_identities"]
        for seed in range(6)
    ]
    (scores, mated), (others, their_mated) = (
        (found.scores, found.mated) for found, _ in (closed_set_search(data.data) for data in (case, dev))
    )
    right, right_elsewhere = (
        (rows < rows[np.arange(len(true)), true][:, None]).sum() / (len(true) * (rows.shape[1] - 1))
        for rows, true in ((scores, mated), (others, their_mated))
    )
    slope = np.log(right_elsewhere / (1.0 - right_elsewhere))  # of z = 1 and -1
    bits = [np.log2(2.0 / (1.0 + np.exp(-2.0 * side * slope))) for side in (1.0, -1.0)]
    assert [curve.y[0] for curve in curves] == pytest.approx([right * bits[0] + (1.0 - right) * bits[1]] * 6, abs=1e-7)
    rng = np.random.default_rng(5)
    z = [standardised_subsets(*search, 4, 100, rng) for search in ((others, their_mated), (scores, mated))]
    llr = logistic_slope(z[0]) * z[1]
    among_four = np.mean(llr[:, 0] - np.log(np.exp(llr).mean(axis=1))) / np.log(2.0)
    values = np.array([curve.y[1] for curve in curves])
    assert values == pytest.approx(among_four, abs=0.02)
    assert np.ptp(values) < 0.025
    assert sum(curve.low[1] <= among_four <= curve.high[1] for curve in curves) >= 4
    assert all(0.0 < curve.high[1] - curve.low[1] < 0.06 for curve in curves)


def standardised_subsets(scores, mated, n, times, rng):
    """Rows of n standardised scores, the mated one first, of so many random others for each trial."""
    rows = []
    for trial in np.repeat(np.arange(len(mated)), times):
        others = rng.choice(np.delete(scores[trial], mated[trial]), n - 1, replace=False)
        rows.append([scores[trial, mated[trial]], *others])
    rows = np.array(rows)
    return (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)


def logistic_slope(z):
    """The slope of a logistic regression whose first column is the targets, by Newton's method."""
    x, label = z.ravel(), np.tile(np.arange(z.shape[1]) == 0, len(z))
    theta = np.zeros(2)
    design = np.column_stack((x, np.ones(len(x))))
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(-design @ theta))
        theta += np.linalg.solve(design.T @ (design * (p * (1.0 - p))[:, None]), design.T @ (label - p))
    return theta[0]


def test_limits_tell_how_far_another_seed_may_be():
    (scores, mated), dev = simulated(seed=0), simulated(seed=1)
    curves = [alid_curve((scores, mated), fit_rows(*dev), dev, fit_rows, seed=seed) for seed in range(20)]
    between = np.std([curve.y[1] for curve in curves], ddof=1)
    within = np.sqrt(np.mean([curve.draws[:, 1].var(ddof=1) / len(curve.draws) for curve in curves]))
    assert between == pytest.approx(within, rel=0.5)


def test_limits_reach_certainty_at_most():
    """Over folds of people, and where draws lie close to all that there is to learn."""
    x = np.array([2, 4, 8])
    draws = np.array([[1.0, 1.99, 3.0], [1.0, 1.97, 3.0]])
    curve = SizeCurve(x, draws.mean(axis=0), np.zeros(3), draws, np.log2(x))
    joined = mean_over_folds([(10, curve), (30, curve)], 0.95)
    assert joined.y == pytest.approx((1.0, 1.98, 3.0))
    half = stats.t.ppf(0.975, 1) * 0.01
    assert joined.low == pytest.approx((1.0, 1.98 - half, 3.0))
    assert joined.high == (1.0, 2.0, 3.0)
    exact = mean_over_folds([(10, replace(curve, draws=None))], 0.95)
    assert (exact.low, exact.high) == (None, None)


def test_two_standardised_scores_only_say_which_is_higher():
    """Of two identities z is 1 and -1: LID is log2 of twice the logistic function of twice the slope, or minus it."""
    scores, mated = simulated(trials=4000, people=5)
    calibration = AffineCalibration("a", 0.7, 0.0, 0.0)
    curve = alid_curve((scores, mated), calibration, (scores, mated), lambda *_: calibration, sizes=[2])
    true = scores[np.arange(4000), mated][:, None]
    right = ((scores < true).sum() / (4000 * 4)).item()
    bits = [np.log2(2.0 / (1.0 + np.exp(-2.0 * slope))) for slope in (0.7, -0.7)]
    assert curve.y[0] == pytest.approx(right * bits[0] + (1.0 - right) * bits[1], abs=1e-9)


def test_each_size_is_calibrated_on_rows_of_its_size():
    """So that the attacker among few is as well calibrated as among many: nothing is gained by another slope."""
    (scores, mated), (others, their_mated) = simulated(2000, seed=0), simulated(2000, seed=1)
    fit = partial(fit_rows, how=RowFit(method="temperature"))
    curve = alid_curve((scores, mated), fit(others, their_mated), (others, their_mated), fit)
    assert curve.x.tolist() == [2, 4, 8]
    assert curve.y[-1] == pytest.approx(row_evidence(scores, mated, fit(others, their_mated)).lid.mean(), abs=1e-12)
    of_one_slope = []
    for slope in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0):
        fixed = AffineCalibration("a", slope, 0.0, 0.0)
        of_one_slope.append(
            alid_curve((scores, mated), fixed, (others, their_mated), lambda *_, fitted=fixed: fitted).y
        )
    assert (curve.y > np.max(of_one_slope, axis=0) - 0.01).all()
    assert len(set(np.argmax(of_one_slope, axis=0))) > 1  # no slope suits all sizes
    assert (np.diff(curve.y) > 0.0).all()
    assert (curve.y < np.log2(curve.x)).all()
    assert curve.baseline.tolist() == [0.0] * 3


def test_the_same_seed_draws_the_same_subsets():
    (scores, mated), dev = simulated(seed=0), simulated(seed=1)
    curves = [alid_curve((scores, mated), fit_rows(*dev), dev, fit_rows, seed=seed).y.tolist() for seed in (0, 0, 1)]
    assert curves[0] == curves[1] != curves[2]
    with pytest.raises(InputError, match="numbers of identities from 2 to 8"):
        alid_curve((scores, mated), fit_rows(*dev), dev, fit_rows, sizes=[9])


@pytest.mark.parametrize("with_dev", [False, True])
@pytest.mark.parametrize("calibration", ["logistic", "auto"])
def test_an_evaluation_ends_with_its_own_alid(with_dev, calibration):
    dev = ze.ScoreMatrix(*simulated(people=5, seed=1)) if with_dev else None  # fewer people than are searched
    row = ze.evaluate(
        ze.ScoreMatrix(*simulated()), dev=dev, options=ze.Options(calibration=calibration, intervals=0, null=0)
    )
    curve = row.curves["alid_over_identities"]
    assert curve.x == (2.0, 4.0, 8.0)
    assert curve.y[-1] == pytest.approx(row["alid"].value, abs=1e-12)

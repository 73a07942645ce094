"""ALID over the number of identities: all subsets by enumeration, a closed form, and the whole search at the end."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.calibrate.rows import ROW_SCALINGS, AffineCalibration, RowFit, fit_rows
from zeroevidence.errors import InputError
from zeroevidence.measure.search import sizes as module
from zeroevidence.measure.search.disclosure import row_evidence
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
    monkeypatch.setattr(module, "_DRAWN", 20_000)
    scores, mated = simulated(trials=6, people=6)
    calibration = AffineCalibration("a", 1.5, 0.0, 0.0, scaling=scaling)
    prior = np.random.default_rng(3).dirichlet(np.full(6, 5.0)) if with_prior else None
    curve = alid_curve((scores, mated), calibration, (scores, mated), lambda *_: calibration, prior=prior,
                       sizes=[2, 3, 5, 6])  # fmt: skip
    uniform = np.full(6, 1.0 / 6.0)
    expected = [over_all_subsets(scores, mated, calibration, n, uniform if prior is None else prior) for n in curve.x]
    assert curve.y.tolist() == pytest.approx(expected, abs=0.02)
    assert curve.y[-1] == pytest.approx(expected[-1], abs=1e-12)


def test_two_standardised_scores_only_say_which_is_higher():
    """Of two identities z is 1 and -1: LID is log2 of twice the logistic function of twice the slope, or minus it."""
    scores, mated = simulated(trials=4000, people=5)
    calibration = AffineCalibration("a", 0.7, 0.0, 0.0)
    curve = alid_curve((scores, mated), calibration, (scores, mated), lambda *_: calibration, sizes=[2])
    true = scores[np.arange(4000), mated][:, None]
    right = ((scores < true).sum() / (4000 * 4)).item()
    bits = [np.log2(2.0 / (1.0 + np.exp(-2.0 * slope))) for slope in (0.7, -0.7)]
    assert curve.y[0] == pytest.approx(right * bits[0] + (1.0 - right) * bits[1], abs=0.03)


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

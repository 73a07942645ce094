"""The calibration of a search is that of its score matrix, fold by fold."""

import numpy as np
import pytest

from tests.linkage.searches import draw_pairing
from zeroevidence.calibrate.rows import fit_rows, speaker_folds
from zeroevidence.linkage.calibration import SearchCalibration, calibrate_search
from zeroevidence.linkage.search import CalibrationFacts
from zeroevidence.measure.search.longitudinal import firing_threshold


def matrix(search, scoring):
    x, y = search.trial.vectors, search.enrol.vectors
    if scoring == "cosine":
        x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    return x @ y.T


@pytest.fixture
def search():
    return draw_pairing(people=23)


@pytest.mark.parametrize(("scoring", "ddof", "seed"), [("cosine", 0, 0), ("dot", 1, 5)])
def test_each_fold_is_calibrated_on_the_others(search, scoring, ddof, seed):
    found = calibrate_search(search, scoring=scoring, ddof=ddof, seed=seed)
    assert found.facts == CalibrationFacts("logistic", cross_fitted=True)
    scores = matrix(search, scoring)
    folds = speaker_folds(search.mated, seed=seed)
    assert len(folds) == 5
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(scores)), fold)
        expected = fit_rows(scores[rest], search.mated[rest], ddof=ddof)
        np.testing.assert_allclose(found.weight[fold], expected.weight, atol=1e-8)
        np.testing.assert_allclose(found.bias[fold], expected.bias - expected.prior_log_odds, atol=1e-8)
        np.testing.assert_allclose(found.threshold[fold], firing_threshold(scores[rest], 23), atol=1e-12)
    assert len(np.unique(found.weight)) == 5


def test_development_gives_one_calibration_for_all(search):
    other = draw_pairing("d", 31, 2, seed=1)
    found = calibrate_search(search, other)
    assert found.facts == CalibrationFacts("logistic", cross_fitted=False)
    scores = matrix(other, "cosine")
    expected = fit_rows(scores, other.mated)
    np.testing.assert_allclose(found.weight, np.full(69, expected.weight), atol=1e-8)
    np.testing.assert_allclose(found.bias, expected.bias - expected.prior_log_odds, atol=1e-8)
    np.testing.assert_allclose(found.threshold, firing_threshold(scores, 23), atol=1e-12)
    assert calibrate_search(search, draw_pairing("d", 3, 2)).threshold is None  # too few pairs for one


def test_a_weight_is_taken_as_it_is(search):
    found = calibrate_search(search, weight=2.5)
    assert found.facts == CalibrationFacts("given")
    np.testing.assert_array_equal(found.weight, np.full(69, 2.5))
    np.testing.assert_array_equal(found.bias, np.zeros(69))
    assert found.threshold is None


@pytest.mark.parametrize("weight", [None, 2.0])
def test_arrays_hold_all_of_it(search, weight):
    one = calibrate_search(search, weight=weight)
    other = SearchCalibration.from_arrays(one.to_arrays())
    assert other.facts == one.facts
    assert (other.threshold is None) == (one.threshold is None)
    for name in ("weight", "bias") + (() if weight else ("threshold",)):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))

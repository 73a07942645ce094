"""The calibration of a search is that of its score matrix, fold by fold."""

import numpy as np
import pytest

from tests.linkage.searches import draw_pairing
from zeroevidence.calibrate.rows import RowFit, fit_rows, speaker_folds
from zeroevidence.linkage.calibration import calibrate_search
from zeroevidence.linkage.plan import LinkOptions
from zeroevidence.measure.search.longitudinal import firing_threshold
from zeroevidence.run import Run


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
    found = calibrate_search(search, LinkOptions(scoring=scoring, ddof=ddof), run=Run(seed=seed))
    assert (found.method, found.cross_fitted) == ("logistic", True)
    scores = matrix(search, scoring)
    folds = speaker_folds(search.mated, seed=seed)
    assert len(folds) == 5
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(scores)), fold)
        expected = fit_rows(scores[rest], search.mated[rest], RowFit(ddof=ddof))
        np.testing.assert_allclose(found.weight[fold], expected.weight, atol=1e-8)
        np.testing.assert_allclose(found.bias[fold], expected.bias - expected.prior_log_odds, atol=1e-8)
        np.testing.assert_allclose(found.threshold[fold], firing_threshold(scores[rest], 23), atol=1e-12)
    assert len(np.unique(found.weight)) == 5


def test_development_gives_one_calibration_for_all(search):
    other = draw_pairing("d", 31, 2, seed=1)
    found = calibrate_search(search, development=other)
    assert (found.method, found.cross_fitted) == ("logistic", False)
    scores = matrix(other, "cosine")
    expected = fit_rows(scores, other.mated)
    np.testing.assert_allclose(found.weight, expected.weight, atol=1e-8)
    np.testing.assert_allclose(found.bias, expected.bias - expected.prior_log_odds, atol=1e-8)
    np.testing.assert_allclose(found.threshold, firing_threshold(scores, 23), atol=1e-12)
    assert calibrate_search(search, development=draw_pairing("d", 3, 2)).threshold is None  # too few pairs for one


def test_a_weight_is_taken_as_it_is(search):
    found = calibrate_search(search, LinkOptions(weight=2.5))
    assert (found.weight, found.bias, found.threshold, found.method) == (2.5, 0.0, None, "given")

"""The streamed calibration of a search is that of its score matrix, for all or fold by fold."""

import numpy as np
import pytest

from tests.linkage.searches import draw, draw_pairing, read_x_vectors
from zeroevidence.calibrate.rows import RowFit, fit_rows, speaker_folds
from zeroevidence.linkage import LinkOptions, PairStatistics, pair_statistics
from zeroevidence.linkage import calibration as module
from zeroevidence.linkage.calibration import calibrate_search
from zeroevidence.measure.search.longitudinal import firing_threshold
from zeroevidence.run import Run


def fitted(x, y, mated, options):
    (statistics,) = pair_statistics(x, y, mated, options)
    return statistics.fit()


@pytest.fixture(params=[False, True])
def binned(request, monkeypatch):
    """Scores of other identities are kept one by one, and as bins."""
    if request.param:
        monkeypatch.setattr(module, "_EXACT_BELOW", 0)


@pytest.mark.parametrize("scoring", ["dot", "cosine", "function"])
@pytest.mark.parametrize("ddof", [0, 1])
def test_equals_the_fit_of_the_matrix(scoring, ddof, binned):
    x, y, mated = draw(trials=80, identities=100)
    scores = x @ y.T
    if scoring == "cosine":
        scores /= np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(y, axis=1)
    how = (lambda a, b: a @ b.T) if scoring == "function" else scoring
    expected = fit_rows(scores, mated, RowFit(ddof=ddof))
    found = fitted(x, y, mated, LinkOptions(how, ddof=ddof))
    assert found.weight == pytest.approx(expected.weight, abs=1e-6)
    assert found.bias == pytest.approx(expected.bias, abs=1e-6)
    assert found.prior_log_odds == pytest.approx(expected.prior_log_odds, abs=1e-12)


def test_equals_the_fit_of_the_matrix_on_real_x_vectors(shared):
    x, y, mated = read_x_vectors(shared, "trials_f", "orig")
    unit = [v.astype(np.float64) / np.linalg.norm(v.astype(np.float64), axis=1, keepdims=True) for v in (x, y)]
    expected = fit_rows(unit[0] @ unit[1].T, mated)
    found = fitted(x, y, mated, LinkOptions("cosine"))
    assert found.weight == pytest.approx(expected.weight, abs=1e-6)
    assert found.bias == pytest.approx(expected.bias, abs=1e-6)


def test_separable_pairs_have_the_same_finite_answer(binned):
    y = np.eye(40)
    mated = np.arange(40)
    expected = fit_rows(y @ y.T, mated)
    found = fitted(y, y, mated, LinkOptions("dot"))
    assert found.separable
    assert found.weight == pytest.approx(expected.weight, abs=1e-6)
    assert found.bias == pytest.approx(expected.bias, abs=1e-6)


def test_folds_merge_to_the_whole_and_know_the_threshold():
    x, y, mated = draw(trials=250, identities=300)
    scores = x @ y.T
    folds = [np.arange(0, 250, 2), np.arange(1, 250, 2)]
    parts = pair_statistics(x, y, mated, LinkOptions("dot"), folds=folds, top=251)
    together = PairStatistics.merge(parts)
    expected = fit_rows(scores, mated)
    assert together.fit().weight == pytest.approx(expected.weight, abs=1e-9)
    assert together.threshold(250) == pytest.approx(firing_threshold(scores, 300), abs=1e-12)
    rest = scores[folds[1]]
    assert parts[1].fit().weight == pytest.approx(fit_rows(rest, mated[folds[1]]).weight, abs=1e-9)
    assert parts[1].threshold(125) == pytest.approx(firing_threshold(rest, 300), abs=1e-12)


@pytest.mark.parametrize("scaling", ["centre", "none"])
@pytest.mark.parametrize("factor", [1.0, 1e-4, 1e4])
def test_rows_that_keep_their_spread_have_the_same_fit(scaling, factor, binned):
    """Whatever the units of the scores are."""
    x, y, mated = draw(trials=80, identities=100)
    x = factor * x
    expected = fit_rows(x @ y.T, mated, RowFit(scaling=scaling))
    found = fitted(x, y, mated, LinkOptions("dot", row_scaling=scaling))
    assert found.weight == pytest.approx(expected.weight, rel=1e-5)
    assert found.bias == pytest.approx(expected.bias, rel=1e-5)
    folds = [np.arange(0, 80, 2), np.arange(1, 80, 2)]
    together = PairStatistics.merge(pair_statistics(x, y, mated, LinkOptions("dot", row_scaling=scaling), folds=folds))
    assert together.fit().weight == pytest.approx(expected.weight, rel=1e-5)


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

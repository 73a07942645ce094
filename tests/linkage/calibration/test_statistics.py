"""The streamed fit is the fit of the matrix."""

import numpy as np
import pytest

from tests.linkage.searches import draw, read_x_vectors
from zeroevidence.calibrate.rows import RowFit, fit_rows
from zeroevidence.linkage import LinkOptions, PairStatistics, fit_link, pair_statistics
from zeroevidence.linkage import calibration as module
from zeroevidence.measure.search.longitudinal import firing_threshold


@pytest.mark.parametrize(
    ("scoring", "options"),
    [("dot", {}), ("dot", {"l2": 1.0}), ("cosine", {"balanced": True}), ("function", {}), ("cosine", {})],
)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("binned", [False, True])
def test_equals_the_fit_of_the_matrix(scoring, options, ddof, binned, monkeypatch):
    if binned:
        monkeypatch.setattr(module, "_EXACT_BELOW", 0)
    x, y, mated = draw(trials=80, identities=100)
    scores = x @ y.T
    if scoring == "cosine":
        scores /= np.linalg.norm(x, axis=1)[:, None] * np.linalg.norm(y, axis=1)
    how = (lambda a, b: a @ b.T) if scoring == "function" else scoring
    expected = fit_rows(scores, mated, RowFit(ddof=ddof, **options))
    found = fit_link(x, y, mated, LinkOptions(how, ddof=ddof), **options)
    assert found.weight == pytest.approx(expected.weight, abs=1e-6)
    assert found.bias == pytest.approx(expected.bias, abs=1e-6)
    assert found.prior_log_odds == pytest.approx(expected.prior_log_odds, abs=1e-12)


def test_equals_the_fit_of_the_matrix_on_real_x_vectors(shared):
    x, y, mated = read_x_vectors(shared, "trials_f", "orig")
    unit = [v.astype(np.float64) / np.linalg.norm(v.astype(np.float64), axis=1, keepdims=True) for v in (x, y)]
    expected = fit_rows(unit[0] @ unit[1].T, mated)
    found = fit_link(x, y, mated, LinkOptions("cosine"))
    assert found.weight == pytest.approx(expected.weight, abs=1e-6)
    assert found.bias == pytest.approx(expected.bias, abs=1e-6)


@pytest.mark.parametrize("binned", [False, True])
def test_separable_pairs_have_the_same_finite_answer(binned, monkeypatch):
    if binned:
        monkeypatch.setattr(module, "_EXACT_BELOW", 0)
    y = np.eye(40)
    mated = np.arange(40)
    expected = fit_rows(y @ y.T, mated)
    found = fit_link(y, y, mated, LinkOptions("dot"))
    assert found.separable
    assert found.weight == pytest.approx(expected.weight, abs=1e-6)
    assert found.bias == pytest.approx(expected.bias, abs=1e-6)


def test_folds_merge_to_the_whole_and_know_the_threshold(monkeypatch):
    x, y, mated = draw(trials=250, identities=300)
    scores = x @ y.T
    folds = [np.arange(0, 250, 2), np.arange(1, 250, 2)]
    parts = pair_statistics(x, y, mated, LinkOptions("dot"), folds=folds, top=251)
    together = PairStatistics.merge(parts, top=251)
    expected = fit_rows(scores, mated)
    assert together.fit().weight == pytest.approx(expected.weight, abs=1e-9)
    assert together.threshold(250) == pytest.approx(firing_threshold(scores, 300), abs=1e-12)
    rest = scores[folds[1]]
    assert parts[1].fit().weight == pytest.approx(fit_rows(rest, mated[folds[1]]).weight, abs=1e-9)
    assert parts[1].threshold(125) == pytest.approx(firing_threshold(rest, 300), abs=1e-12)


@pytest.mark.parametrize("scaling", ["centre", "none"])
@pytest.mark.parametrize(
    ("factor", "binned", "options"),
    [(1.0, False, {}), (1.0, True, {"l2": 1.0}), (1e-4, True, {"balanced": True}), (1e4, True, {})],
)
def test_rows_that_keep_their_spread_have_the_same_fit(scaling, options, factor, binned, monkeypatch):
    """Whatever the units of the scores are, also where they are binned."""
    if binned:
        monkeypatch.setattr(module, "_EXACT_BELOW", 0)
    x, y, mated = draw(trials=80, identities=100)
    x = factor * x
    expected = fit_rows(x @ y.T, mated, RowFit(scaling=scaling, **options))
    found = fit_link(x, y, mated, LinkOptions("dot", row_scaling=scaling), **options)
    assert found.weight == pytest.approx(expected.weight, rel=1e-5)
    assert found.bias == pytest.approx(expected.bias, rel=1e-5)
    folds = [np.arange(0, 80, 2), np.arange(1, 80, 2)]
    together = PairStatistics.merge(pair_statistics(x, y, mated, LinkOptions("dot", row_scaling=scaling), folds=folds))
    assert together.fit(**options).weight == pytest.approx(expected.weight, rel=1e-5)

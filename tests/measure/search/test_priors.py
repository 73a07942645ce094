"""Disclosure over prior beliefs, by hand and by quadrature."""

import numpy as np
import pytest
from scipy import integrate

import zeroevidence as ze
from zeroevidence.errors import InputError
from zeroevidence.measure.search.disclosure import PRIOR_FREE_MAX, lid_at, log_ratio_from_lid, prior_free, total_lid_at


def test_likelihood_ratio_by_hand():
    """Section 5.2 of the paper: among six the true one has LLR 2.12, and the posterior 0.31."""
    llr = np.array([1.17, 0.21, -1.23, 2.12, 2.61, -1.23])
    posterior = np.exp(llr[3]) / np.exp(llr).sum()
    ratio = np.exp(llr[3]) / np.exp(np.delete(llr, 3)).mean()
    found = log_ratio_from_lid(np.log2([6.0 * posterior]), 1.0 / 6.0)
    assert np.exp(found) == pytest.approx([ratio])
    # an attacker who gave the true one half, and a tenth to each of the others
    half = 0.5 * np.exp(llr[3]) / (0.5 * np.exp(llr[3]) + 0.1 * np.exp(np.delete(llr, 3)).sum())
    assert lid_at(found, np.array([0.0])) == pytest.approx(np.array([[np.log2(half / 0.5)]]))
    with pytest.raises(InputError, match="between 0 and 1"):
        log_ratio_from_lid(np.array([0.0]), 1.0)


@pytest.mark.parametrize("ratio", [0.01, 0.5, 1.0, 1.00001, 3.0, 1e6])
def test_mean_over_priors_is_the_integral(ratio):
    value, _ = integrate.quad(lambda prior: np.log2(ratio / (prior * ratio + 1.0 - prior)), 0.0, 1.0)
    assert prior_free(np.log([ratio])) == pytest.approx([value], abs=1e-8)


def test_ends():
    assert prior_free(np.array([-np.inf, 0.0, np.inf])).tolist() == [-np.inf, 0.0, PRIOR_FREE_MAX]
    assert log_ratio_from_lid(np.array([2.0]), 0.25) == np.inf  # certain
    assert lid_at(np.array([np.inf]), np.array([0.0])).tolist() == [[1.0]]


def test_an_evaluation_agrees_with_priors_that_are_given():
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(8), 5)
    names = np.array([f"p{i}" for i in range(8)])
    scores = rng.normal(size=(40, 8)) + 2.0 * np.eye(8)[mated]
    matrix = ze.ScoreMatrix(scores, mated, enrolments=names)
    dev = ze.ScoreMatrix(rng.normal(size=(40, 8)) + 2.0 * np.eye(8)[mated], mated)
    row = ze.evaluate(matrix, dev=dev, options=ze.Options(intervals=0, null=0))
    ratio = log_ratio_from_lid(row.trials.lid, 1.0 / 8.0)
    assert row["lid_prior_free"].value == pytest.approx(prior_free(ratio).mean())
    curve = row.curves["lid_over_priors"]
    assert np.interp(-np.log(7.0), curve.x, curve.y) == pytest.approx(row["alid"].value, abs=1e-3)
    # 0.3 for one person, a tenth for each of the others: that person's trials follow the curve
    given = {str(name): 0.3 if name == "p3" else 0.1 for name in names}
    skewed = ze.evaluate(matrix, dev=dev, prior=given, options=ze.Options(intervals=0, null=0))
    own = mated == 3
    expected = lid_at(ratio[own], np.array([np.log(0.3 / 0.7)]))[:, 0]
    assert skewed.trials.lid[own] == pytest.approx(expected)
    assert "lid_prior_free" not in skewed


def test_sums_over_trials_are_those_of_the_matrix():
    rng = np.random.default_rng(3)
    ratio = np.concatenate((rng.normal(0.0, 5.0, 20_000), [np.inf, 700.0, -700.0, 0.0, 599.0, -599.0]))
    odds = np.linspace(-7.0, 7.0, 9)
    np.testing.assert_allclose(total_lid_at(ratio, odds), lid_at(ratio, odds).sum(axis=0), rtol=1e-12)
    assert total_lid_at(np.array([-np.inf, 1.0]), odds).tolist() == [-np.inf] * 9

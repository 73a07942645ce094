"""Logistic calibration against scikit-learn, and where maximum likelihood has no answer."""

import numpy as np
import pytest

from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.errors import InputError


def scores(seed=0, n_target=300, n_nontarget=4000):
    rng = np.random.default_rng(seed)
    return rng.normal(1, 1, n_target), rng.normal(-1, 2, n_nontarget)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-6, 5.0), (1e6, -1e9)])
def test_equals_unpenalised_scikit_learn(scale, shift):
    from sklearn.linear_model import LogisticRegression

    target, nontarget = scores()
    x = np.concatenate((target, nontarget))[:, None]
    y = np.repeat([1, 0], (len(target), len(nontarget)))
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(x, y)
    fit = fit_logistic(target * scale + shift, nontarget * scale + shift)
    assert fit.weight * scale == pytest.approx(reference.coef_[0, 0], rel=1e-6)
    assert fit.bias + fit.weight * shift == pytest.approx(reference.intercept_[0], rel=1e-5)


def test_llr_of_a_gaussian_model_is_recovered():
    rng = np.random.default_rng(0)
    d = 2.0
    target, nontarget = rng.normal(d / 2, d**0.5, 20000), rng.normal(-d / 2, d**0.5, 200000)
    fit = fit_logistic(3 * target + 1, 3 * nontarget + 1)
    np.testing.assert_allclose(fit.llr(3 * target + 1), target, atol=0.15)


@pytest.mark.parametrize(
    ("target", "nontarget", "sign"),
    [([3.0, 4.0], [0.0, 1.0, 2.0], 1), ([1.0, 2.0], [2.0, 3.0], -1), ([1.0], [0.0], 1)],
)
def test_separable_scores_give_the_finite_platt_solution(target, nontarget, sign):
    fit = fit_logistic(np.array(target), np.array(nontarget))
    assert fit.separable
    assert np.isfinite([fit.weight, fit.bias]).all()
    assert np.sign(fit.weight) == sign


def test_constant_scores_carry_no_evidence():
    fit = fit_logistic(np.full(3, 2.0), np.full(9, 2.0))
    assert fit.weight == 0.0
    assert fit.llr(np.array([2.0, 5.0])).tolist() == [0.0, 0.0]


def test_infinite_scores_are_refused():
    with pytest.raises(InputError, match="target: logistic calibration needs finite scores"):
        fit_logistic(np.array([np.inf]), np.array([0.0]))

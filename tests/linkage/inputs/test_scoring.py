"""Scores as dot products."""

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage import plda_vectors


def model(dim, rng):
    spread = [rng.standard_normal((dim, dim)) for _ in range(2)]
    return rng.standard_normal(dim), spread[0] @ spread[0].T, spread[1] @ spread[1].T + np.eye(dim)


def log_density(v, covariance):
    sign, logdet = np.linalg.slogdet(covariance)
    assert sign > 0
    return -0.5 * (v @ np.linalg.solve(covariance, v) + logdet + len(v) * np.log(2 * np.pi))


@pytest.mark.parametrize("utterances", [1, 4])
def test_plda_is_the_ratio_of_gaussian_densities(utterances):
    rng = np.random.default_rng(0)
    dim = 5
    mean, between, within = model(dim, rng)
    x, y = rng.standard_normal((6, dim)) + mean, rng.standard_normal((4, dim)) + mean
    a, b = plda_vectors(x, y, mean=mean, between=between, within=within, utterances=utterances)
    assert a.shape == (6, dim + 2)
    one, many = between + within, between + within / utterances
    joint = np.block([[one, between], [between, many]])
    for i in range(6):
        for j in range(4):
            u, v = x[i] - mean, y[j] - mean
            expected = log_density(np.concatenate((u, v)), joint) - log_density(u, one) - log_density(v, many)
            assert a[i] @ b[j] == pytest.approx(expected, abs=1e-9)


def test_plda_refuses_what_is_no_model():
    x = np.ones((2, 3))
    with pytest.raises(InputError, match="between: expected a 3 x 3"):
        plda_vectors(x, x, mean=np.zeros(3), between=np.eye(2), within=np.eye(3))
    with pytest.raises(UsageError, match="at least one utterance"):
        plda_vectors(x, x, mean=np.zeros(3), between=np.eye(3), within=np.eye(3), utterances=0)

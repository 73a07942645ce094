"""LEACE: what it promises, and the package of its authors beside it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.protect.attributes import classes
from zeroevidence.protect import Leace, LinearNuller


@pytest.fixture
def data():
    return classes.gaussian(np.random.default_rng(0), 2000)[:2]


def means(x, y):
    return np.stack([x[y == label].mean(axis=0) for label in np.unique(y)])


def test_three_class_means_meet():
    x, y = classes.three(np.random.default_rng(0), 1500)
    protected = means(Leace().fit(x, y).transform(x), y)
    np.testing.assert_allclose(protected, np.broadcast_to(protected[0], protected.shape), atol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, "auto"])
def test_no_linear_classifier_learns_anything(data, shrinkage):
    x, y = data
    protected = Leace(shrinkage=shrinkage).fit(x, y).transform(x)
    truth = y == "b"
    # classes have equal weight, so the means are equal; with classes of one size the covariance is zero too
    np.testing.assert_allclose(*means(protected, y), atol=1e-9)
    model = LogisticRegression(C=1e6, class_weight="balanced").fit(protected, truth)
    weights = np.where(truth, 1 / truth.sum(), 1 / (~truth).sum())
    assert model.score(protected, truth, sample_weight=weights) == pytest.approx(0.5, abs=0.03)


def test_vectors_move_less_than_to_the_zero_of_the_discriminant(data):
    x, y = data
    inverse = np.linalg.inv(np.cov(x.T))

    def moved(protector):
        step = protector.fit(x, y).transform(x) - x
        return np.einsum("nd,de,ne->n", step, inverse, step).mean()

    assert moved(Leace(shrinkage=0.0)) < moved(LinearNuller())


@pytest.mark.parametrize("count", [2, 3])
def test_as_its_authors_compute_it(count):
    torch = pytest.importorskip("torch")
    concept_erasure = pytest.importorskip("concept_erasure")
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(count), 300)
    x = rng.standard_normal((len(y), 12)) @ rng.standard_normal((12, 12)) + rng.standard_normal((count, 12))[y]
    ours = Leace(shrinkage=0.0).fit(x, y).transform(x)
    wanted = torch.nn.functional.one_hot(torch.as_tensor(y)).double()
    fitter = concept_erasure.LeaceFitter(12, count, shrinkage=False, dtype=torch.float64)
    theirs = fitter.update(torch.as_tensor(x), wanted).eraser(torch.as_tensor(x)).numpy()
    np.testing.assert_allclose(ours, theirs, atol=1e-6)

"""Class means, LEACE and INLP: what each promises, and LEACE beside the package of its authors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.protect.attributes import classes
from zeroevidence.errors import UsageError
from zeroevidence.protect import ClassMeans, Inlp, Leace


@pytest.fixture
def data():
    return classes.gaussian(np.random.default_rng(0), 2000)[:2]


def means(x, y):
    return np.stack([x[y == label].mean(axis=0) for label in np.unique(y)])


def test_class_means_meet_and_the_rest_stays(data):
    x, y = data
    protector = ClassMeans().fit(x, y)
    protected = protector.transform(x)
    np.testing.assert_allclose(*means(protected, y), atol=1e-9)
    assert np.linalg.matrix_rank(protected - x) == 1
    np.testing.assert_allclose(protector.llr(protected), 0.0, atol=1e-9)


@pytest.mark.parametrize("make", [ClassMeans, Leace])
def test_three_class_means_meet(make):
    x, y = classes.three(np.random.default_rng(0), 1500)
    found = means(make().fit(x, y).transform(x), y)
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), atol=1e-9)


@pytest.mark.parametrize("make", [ClassMeans, Leace, Inlp])
def test_a_talkative_speaker_counts_once(make):
    rng = np.random.default_rng(0)
    x, y, speakers = rng.standard_normal((40, 4)), np.repeat(["a", "b"], 20), np.arange(40)
    again = np.concatenate([np.arange(40), np.zeros(30, dtype=int)])
    settings = {"shrinkage": 0.0} if make is Leace else {"directions": 2} if make is Inlp else {}
    once = make(**settings).fit(x, y, speakers=speakers)
    often = make(**settings).fit(x[again], y[again], speakers=speakers[again])
    np.testing.assert_allclose(once.transform(x), often.transform(x), atol=1e-3)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, "auto"])
def test_leace_leaves_no_linear_classifier_anything(data, shrinkage):
    x, y = data
    protected = Leace(shrinkage=shrinkage).fit(x, y).transform(x)
    truth = y == "b"
    # classes weigh alike, so the means are equal; with classes of one size the covariance is zero too
    np.testing.assert_allclose(*means(protected, y), atol=1e-9)
    model = LogisticRegression(C=1e6, class_weight="balanced").fit(protected, truth)
    assert (
        abs(model.score(protected, truth, sample_weight=np.where(truth, 1 / truth.sum(), 1 / (~truth).sum())) - 0.5)
        < 0.03
    )


def test_leace_moves_vectors_least(data):
    x, y = data
    covariance = np.linalg.inv(np.cov(x.T))

    def moved(protector):
        step = protector.fit(x, y).transform(x) - x
        return np.einsum("nd,de,ne->n", step, covariance, step).mean()

    assert moved(Leace(shrinkage=0.0)) < moved(ClassMeans())


@pytest.mark.parametrize("count", [2, 3])
def test_leace_is_that_of_its_authors(count):
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


def test_inlp_removes_as_many_directions_as_asked(data):
    x, y = data
    for count in (1, 3):
        inlp = Inlp(directions=count).fit(x, y)
        np.testing.assert_allclose(inlp.basis_.T @ inlp.basis_, np.eye(count), atol=1e-9)
        left = inlp.transform(x) - inlp.centre_
        np.testing.assert_allclose(left @ inlp.basis_, 0.0, atol=1e-9)
        assert np.linalg.matrix_rank(left) == x.shape[1] - count
    assert Inlp(directions=50).fit(x, y).basis_.shape[1] <= x.shape[1] - 1
    told = np.corrcoef(inlp.llr(x), classes.gaussian(np.random.default_rng(0), 2000)[2])[0, 1]
    assert told > 0.95
    with pytest.raises(UsageError, match="directions: expected at least 1"):
        Inlp(directions=0).fit(x, y)


def test_inlp_leaves_less_the_more_it_removes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    x = rng.standard_normal((600, 10)) + np.outer(y, np.r_[2.0, 1.0, 1.0, np.zeros(7)])
    gains = []
    for count in (1, 2, 4):
        left = Inlp(directions=count).fit(x, y).transform(x)
        gains.append(LogisticRegression().fit(left, y).score(left, y))
    assert gains[0] > gains[2]
    assert gains[2] < 0.6

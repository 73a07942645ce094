"""PLDA: against the two Gaussian hypotheses, a slow estimate of the covariances, and data of its own model."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf_shrinkage

from zeroevidence.attack.backends.plda import Plda, covariances, ledoit_wolf_share
from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.pairs.verification import cllr, cllr_min


def model(dimension, seed=0, ratio=1.0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, dimension, dimension))
    return ratio * a @ a.T / dimension, b @ b.T / dimension + 0.3 * np.eye(dimension), 3.0 * rng.normal(size=dimension)


def drawn(between, within, mean, counts, seed=0):
    rng = np.random.default_rng(seed)
    people = rng.multivariate_normal(mean, between, size=len(counts), method="cholesky")
    index = np.repeat(np.arange(len(counts)), counts)
    noise = rng.multivariate_normal(np.zeros(len(mean)), within, size=len(index), method="cholesky")
    return people[index] + noise, np.array([f"s{i:04d}" for i in index])


def direct(plda, enrol, trial, utterances=1):
    """ln p(e, t | one speaker) - ln p(e, t | two speakers), from the joint densities."""
    b, w = plda.between_, plda.within_
    one = np.block([[b + w / utterances, b], [b, b + w]])
    two = np.block([[b + w / utterances, np.zeros_like(b)], [np.zeros_like(b), b + w]])
    centre = np.concatenate([plda.mean_, plda.mean_])
    same, different = (multivariate_normal(centre, c, allow_singular=False) for c in (one, two))
    return np.array([[same.logpdf(p) - different.logpdf(p) for p in (np.r_[e, t] for e in enrol)] for t in trial])


@pytest.mark.parametrize("shape", [(3, 2), (5, 40), (200, 8), (4, 1)])
def test_the_share_of_ledoit_and_wolf_is_that_of_scikit_learn(shape):
    vectors = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    assert ledoit_wolf_share(vectors) == pytest.approx(ledoit_wolf_shrinkage(vectors, assume_centered=True), rel=1e-9)
    equal = np.ones(shape)
    assert ledoit_wolf_share(equal) == pytest.approx(ledoit_wolf_shrinkage(equal, assume_centered=True), abs=1e-9)


@pytest.mark.parametrize("dimension", [1, 5, 20])
@pytest.mark.parametrize("length_norm", [False, True])
@pytest.mark.parametrize("lda", [False, True])
@pytest.mark.parametrize("shrinkage", [0.0, "auto"])
def test_scores_are_the_ratio_of_the_two_hypotheses(dimension, length_norm, lda, shrinkage):
    counts = np.random.default_rng(1).integers(2, 9, size=40)
    x, speakers = drawn(*model(dimension), counts)
    keep = max(1, dimension // 2) if lda else None
    plda = Plda(lda=keep, length_norm=length_norm, shrinkage=shrinkage).fit(x, speakers)
    enrol, trial = x[:6], x[50:57]
    expected = direct(plda, plda.transform(enrol), plda.transform(trial))
    np.testing.assert_allclose(plda.score(enrol, trial), expected, rtol=0, atol=1e-8)


def test_profiles_of_several_utterances():
    x, speakers = drawn(*model(4), np.full(30, 6))
    plda = Plda(length_norm=False, shrinkage=0.0).fit(x, speakers)
    enrol, trial = x[:4], x[40:45]
    scores = plda.score(enrol, trial, utterances=np.array([1, 3, 3, 8]))
    for column, number in enumerate((1, 3, 3, 8)):
        expected = direct(plda, plda.transform(enrol[[column]]), plda.transform(trial), number)[:, 0]
        np.testing.assert_allclose(scores[:, column], expected, rtol=0, atol=1e-8)
    with pytest.raises(InputError, match="utterances"):
        plda.score(enrol, trial, utterances=np.zeros(4))


def test_length_norm_and_lda_at_the_vector_level():
    x, speakers = drawn(*model(6), np.full(30, 5))
    plda = Plda(lda=3).fit(x, speakers)
    y = plda.transform(x)
    assert y.shape == (len(x), 3)
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), np.sqrt(3.0))
    np.testing.assert_allclose(plda.transform(plda.centre_ + 7.0 * (x - plda.centre_)), y)
    np.testing.assert_allclose(Plda(length_norm=False).fit(x, speakers).transform(x), x - x.mean(axis=0))


def test_moments_equal_a_slow_estimate():
    counts = [1, 2, 5, 9, 3]
    x, speakers = drawn(*model(3), counts)
    found = covariances(x, speakers)
    n, s = len(x), len(counts)
    within, spread = np.zeros((3, 3)), np.zeros((3, 3))
    mean = sum(x) / n
    for name in sorted(set(speakers)):
        mine = [v for v, who in zip(x, speakers, strict=True) if who == name]
        centre = sum(mine) / len(mine)
        for v in mine:
            within += np.outer(v - centre, v - centre)
        spread += len(mine) * np.outer(centre - mean, centre - mean)
    within /= n - s
    effective = (n - sum(c * c for c in counts) / n) / (s - 1)
    np.testing.assert_allclose(found.within, within, atol=1e-12)
    np.testing.assert_allclose(found.between, (spread / (s - 1) - within) / effective, atol=1e-12)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)


def test_unequal_counts_leave_the_moments_unbiased():
    between, within, mean = model(2, seed=3)
    counts = np.tile([1, 1, 2, 12], 5)
    found = [covariances(*drawn(between, within, mean, counts, seed=i)) for i in range(400)]
    np.testing.assert_allclose(np.mean([f.between for f in found], axis=0), between, atol=0.12)
    np.testing.assert_allclose(np.mean([f.within for f in found], axis=0), within, atol=0.03)


@pytest.mark.parametrize("shrinkage", [0.0, "auto"])
def test_covariances_are_recovered_as_speakers_grow(shrinkage):
    between, within, mean = model(5, seed=2)
    errors = []
    for people in (30, 300, 3000):
        plda = Plda(length_norm=False, shrinkage=shrinkage).fit(*drawn(between, within, mean, np.full(people, 6)))
        errors.append(np.abs(plda.between_ - between).max() + np.abs(plda.within_ - within).max())
    assert errors[0] > errors[2]
    assert errors[2] < 0.15


def test_scores_are_calibrated_on_data_of_the_model():
    between, within, mean = model(5, seed=4, ratio=2.0)
    plda = Plda(length_norm=False).fit(*drawn(between, within, mean, np.full(1500, 6)))
    x, _ = drawn(between, within, mean, np.full(300, 3), seed=9)
    scores = plda.score(x[::3], np.concatenate([x[1::3], x[2::3]]))
    mated = np.tile(np.eye(300, dtype=bool), (2, 1))
    actual, least = cllr(scores[mated], scores[~mated]), cllr_min(scores[mated], scores[~mated])
    assert least < 0.6
    assert actual - least < 0.03


def test_few_speakers_in_many_dimensions():
    x, speakers = drawn(*model(40), np.full(5, 4))
    with pytest.raises(InputError, match="without variance"):
        Plda(shrinkage=0.0, length_norm=False).fit(x, speakers)
    plda = Plda().fit(x, speakers)
    assert np.isfinite(plda.score(x[:3], x[5:9])).all()
    assert (plda.psi_ >= 0.0).all()
    assert np.linalg.eigvalsh(plda.between_).min() > -1e-9


def test_no_difference_between_speakers_is_no_evidence():
    rng = np.random.default_rng(0)
    scores = Plda(shrinkage=0.0).fit(rng.normal(size=(400, 3)), np.arange(400) % 40).score(np.eye(3), -np.eye(3))
    assert np.abs(scores).max() < 1.0


def test_scores_do_not_depend_on_coordinates():
    x, speakers = drawn(*model(4), np.full(30, 5))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    for plda in (Plda(), Plda(lda=2)):
        before = plda.fit(x, speakers).score(x[:3], x[9:13])
        after = plda.fit(5.0 * x @ turn + 2.0, speakers).score(5.0 * x[:3] @ turn + 2.0, 5.0 * x[9:13] @ turn + 2.0)
        np.testing.assert_allclose(after, before, atol=1e-8)


def test_errors():
    x, speakers = drawn(*model(3), np.full(6, 3))
    with pytest.raises(InputError, match="one utterance"):
        Plda().fit(x, np.arange(len(x)))
    with pytest.raises(InputError, match="two speakers"):
        Plda().fit(x, np.zeros(len(x)))
    with pytest.raises(UsageError, match="1 to 3 directions"):
        Plda(lda=4).fit(x, speakers)
    with pytest.raises(UsageError, match="shrinkage"):
        Plda(shrinkage=1.5).fit(x, speakers)
    with pytest.raises(UsageError, match="not trained"):
        Plda().score(x, x)
    with pytest.raises(InputError, match="dimensions"):
        Plda().fit(x, speakers).score(x[:, :2], x)
    with pytest.raises(InputError, match="finite"):
        Plda().fit(np.where(x == x[0, 0], np.nan, x), speakers)

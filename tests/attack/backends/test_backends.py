"""Cosine by its definition, score normalisation by its invariances."""

import inspect
import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from zeroevidence.attack.backends import BACKENDS, Backend, make_backend
from zeroevidence.attack.backends.cosine import Cosine, ScoreNorm
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.ladder import Adapter
from zeroevidence.errors import InputError, UsageError


@pytest.fixture(scope="module")
def people():
    """Vectors of people who differ more than their utterances do."""
    rng = np.random.default_rng(0)
    x = np.repeat(2.0 * rng.normal(size=(12, 6)), 5, axis=0) + rng.normal(size=(60, 6)) + 4.0
    return x, np.repeat([f"s{i}" for i in range(12)], 5)


class Rescaled:
    """A back-end with other units."""

    name = "rescaled"

    def __init__(self, inner, scale, shift):
        self.inner, self.scale, self.shift = inner, scale, shift

    def fit(self, vectors, speakers):
        self.inner.fit(vectors, speakers)
        return self

    def score(self, enrol, trial):
        return self.scale * self.inner.score(enrol, trial) + self.shift


def test_cosine_is_its_definition(people):
    x, speakers = people
    scores = Cosine(centre=False).score(x[:3], x[5:9])
    for t in range(4):
        for n in range(3):
            a, b = x[5 + t], x[n]
            assert scores[t, n] == pytest.approx(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), abs=1e-12)
    uneven = np.r_[0, np.arange(10, 60)]  # one utterance of the first speaker: speakers count alike
    centred = Cosine().fit(x[uneven], speakers[uneven])
    means = np.stack([x[uneven][speakers[uneven] == name].mean(axis=0) for name in np.unique(speakers[uneven])])
    centre = means.mean(axis=0)
    expected = Cosine(centre=False).score(x[:3] - centre, x[5:9] - centre)
    np.testing.assert_allclose(centred.score(x[:3], x[5:9]), expected, atol=1e-12)
    assert Cosine(centre=False).score(np.zeros((1, 3)), np.ones((2, 3))).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("name", BACKENDS)
def test_every_name_gives_a_back_end(name, people):
    x, speakers = people
    backend = make_backend(name)
    assert isinstance(backend, Backend)
    assert backend.name == name
    scores = backend.fit(x, speakers).score(x[:3], x[3:8])
    assert scores.shape == (5, 3)
    assert scores[0, 0] > scores[4, 0]  # the same speaker scores above another


def test_a_given_back_end_is_copied():
    mine = Cosine()
    assert make_backend(mine) is not mine
    with pytest.raises(UsageError, match=f"unknown back-end 'svm'; expected {', '.join(BACKENDS)}"):
        make_backend("svm")
    for wrong in (Cosine, 3):
        with pytest.raises(UsageError, match="object with name, fit and score"):
            make_backend(wrong)


@pytest.mark.parametrize("method", ["z", "t", "s"])
@pytest.mark.parametrize("top", [None, 4])
@pytest.mark.parametrize("inner", [Cosine, Plda])
def test_normalised_scores_have_no_unit(method, top, inner, people):
    x, speakers = people
    before = ScoreNorm(inner(), method=method, top=top).fit(x, speakers).score(x[:4], x[10:17])
    other = ScoreNorm(Rescaled(inner(), 7.0, -3.0), method=method, top=top).fit(x, speakers)
    np.testing.assert_allclose(other.score(x[:4], x[10:17]), before, atol=1e-9)


def test_normalised_scores_by_definition(people):
    x, speakers = people
    cohort = x[30:40]
    cosine = Cosine().fit(x, speakers)
    raw = cosine.score(x[:3], x[5:9])
    norm = {m: ScoreNorm(Cosine(), method=m, cohort=cohort).fit(x, speakers).score(x[:3], x[5:9]) for m in "zts"}
    of_enrol, of_trial = cosine.score(x[:3], cohort), cosine.score(cohort, x[5:9])
    np.testing.assert_allclose(norm["z"], (raw - of_enrol.mean(axis=0)) / of_enrol.std(axis=0))
    np.testing.assert_allclose(norm["t"], (raw - of_trial.mean(axis=1)[:, None]) / of_trial.std(axis=1)[:, None])
    np.testing.assert_allclose(norm["s"], (norm["z"] + norm["t"]) / 2)
    everyone = ScoreNorm(Cosine(), top=10, cohort=cohort).fit(x, speakers)
    np.testing.assert_allclose(everyone.score(x[:3], x[5:9]), norm["s"])
    assert everyone.name == "cosine-asnorm"
    top = np.sort(of_trial, axis=1)[:, -3:]
    adaptive = ScoreNorm(Cosine(), method="t", top=3, cohort=cohort).fit(x, speakers).score(x[:3], x[5:9])
    np.testing.assert_allclose(adaptive, (raw - top.mean(axis=1)[:, None]) / top.std(axis=1)[:, None])


def test_errors(people):
    x, speakers = people
    with pytest.raises(UsageError, match="expected z, t or s"):
        ScoreNorm(Cosine(), method="q").fit(x, speakers)
    with pytest.raises(UsageError, match="size of the cohort"):
        ScoreNorm(Cosine(), top=13).fit(x, speakers)
    with pytest.raises(InputError, match="cohort of at least two"):
        ScoreNorm(Cosine(), cohort=x[:1]).fit(x, speakers)
    with pytest.raises(InputError, match="one per vector"):
        Cosine().fit(x, speakers[:-1])
    with pytest.raises(InputError, match="shape"):
        Cosine(centre=False).score(x[0], x)


MADE = {name: kind.make for name, kind in BACKENDS.items()} | {
    "cosine without centre": lambda: Cosine(centre=False),
    "plda with lda": lambda: Plda(lda=3, length_norm=False, shrinkage=0.1),
    "adaptive t-norm": lambda: ScoreNorm(Plda(lda=2), method="t", top=3),
    "cohort given": lambda: ScoreNorm(Cosine(), cohort=np.eye(6)),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_copies_score_alike_and_clones_are_not_fitted(make, people):
    x, speakers = people
    backend = make().fit(x, speakers)
    copied = clone(backend)
    assert type(copied) is type(backend)
    assert repr(copied) == repr(backend)
    check_is_fitted(backend)
    with pytest.raises(NotFittedError):
        check_is_fitted(copied)
    for again in (copied.fit(x, speakers), deepcopy(backend), pickle.loads(pickle.dumps(backend))):
        assert again is not backend
        np.testing.assert_array_equal(again.score(x[:4], x[9:20]), backend.score(x[:4], x[9:20]))


@pytest.mark.parametrize("make", [*MADE.values(), Adapter], ids=[*MADE, "adapter"])
def test_parameters_are_read_and_set(make):
    backend = make()
    names = set(inspect.signature(type(backend)).parameters)
    assert set(backend.get_params(deep=False)) == names
    assert set(vars(backend)) == names  # the constructor stores these and nothing else
    for name, value in backend.get_params(deep=False).items():
        assert getattr(backend, name) is value
        assert backend.set_params(**{name: value}) is backend

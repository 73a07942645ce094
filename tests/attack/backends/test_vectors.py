"""Back-ends and the adapter as scikit-learn estimators: parameters, copies, words, pickles."""

import inspect
import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from zeroevidence.attack.backends import BACKENDS
from zeroevidence.attack.backends.cosine import Cosine, ScoreNorm
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.ladder import Adapter

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

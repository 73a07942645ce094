from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from tests.protect.attributes import classes
from zeroevidence.errors import UsageError
from zeroevidence.protect import AdversarialAutoencoder

torch = pytest.importorskip("torch")


def accuracy(x, y, test, test_y):
    return LogisticRegression(max_iter=1000).fit(x, y).score(test, test_y)


def test_hides_the_attribute_and_keeps_the_rest():
    rng = np.random.default_rng(0)
    (x, y, _), (test, test_y, truth) = classes.gaussian(rng, 3000), classes.gaussian(rng, 2000)
    coder = clone(AdversarialAutoencoder(code=8, epochs=40)).fit(x, y)
    assert np.corrcoef(coder.llr(test), truth)[0, 1] > 0.95
    before = accuracy(x, y, test, test_y)
    after = accuracy(coder.transform(x), y, coder.transform(test), test_y)
    assert before > 0.85
    assert after < before - 0.1
    kept = np.linalg.svd(np.cov(coder.transform(test).T))[1]
    assert (kept[:6] > 0.2 * np.linalg.svd(np.cov(test.T))[1][:6]).all()


def test_same_seed_same_vectors_and_three_classes():
    x, y = classes.three(np.random.default_rng(1), 600)
    one, other = (AdversarialAutoencoder(epochs=3).fit(x, y) for _ in range(2))
    np.testing.assert_array_equal(one.transform(x), other.transform(x))
    assert one.llr(x).shape == (600, 3)
    assert one.transform(x).shape == x.shape
    state = torch.random.get_rng_state()
    AdversarialAutoencoder(epochs=1).fit(x, y)
    assert torch.equal(state, torch.random.get_rng_state())
    with pytest.raises(UsageError, match="epochs"):
        AdversarialAutoencoder(epochs=0).fit(x, y)

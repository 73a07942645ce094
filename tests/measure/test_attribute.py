"""Mutual information by nearest neighbours on a line is what scikit-learn finds with trees."""

import numpy as np
import pytest

from zeroevidence.measure.attribute import information_by_column

reference = pytest.importorskip("sklearn.feature_selection").mutual_info_classif


def cases():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 240)
    x = rng.normal(size=(240, 12)) * np.exp(3.0 * rng.normal(size=12)) + 0.8 * y[:, None]
    ties = np.round(x, 1)
    ties[:, 0], ties[:, 1] = 1.0, 1e6 + x[:, 1]
    yield "numbers", x, y
    yield "ties, a constant, an offset", ties, y
    yield "words and few in a class", x[:60], np.array(["a", "b", "c", "d"])[np.minimum(y[:60], np.arange(60) % 17)]
    yield "somebody alone", x, np.where(np.arange(240) == 5, 9, y)


@pytest.mark.parametrize(("x", "y"), [pytest.param(x, y, id=name) for name, x, y in cases()])
@pytest.mark.parametrize("neighbours", [1, 3, 5])
def test_as_with_trees(x, y, neighbours):
    found = information_by_column(x, y, neighbours=neighbours, seed=4)
    expected = reference(x, y, n_neighbors=neighbours, random_state=4)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_what_tells_everything_and_what_tells_nothing():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 500)
    all_of_it, nothing = information_by_column(np.stack([10 * y + rng.normal(size=1000), rng.normal(size=1000)], 1), y)
    assert all_of_it == pytest.approx(np.log(2.0), abs=0.01)
    assert nothing == pytest.approx(0.0, abs=0.05)

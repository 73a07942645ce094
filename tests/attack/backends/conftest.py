"""People whose vectors differ more than their utterances do."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def people():
    rng = np.random.default_rng(0)
    x = np.repeat(2.0 * rng.normal(size=(12, 6)), 5, axis=0) + rng.normal(size=(60, 6)) + 4.0
    return x, np.repeat([f"s{i}" for i in range(12)], 5)

"""Fitted attribute protectors."""

import numpy as np
import pytest

from tests.protect.attributes import classes
from zeroevidence.protect import make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS


@pytest.fixture(scope="module", params=[*ATTRIBUTE_PROTECTORS, "flow three", "flow keep", "flow double"])
def fitted(request):
    """A fitted protector, and vectors."""
    name, _, more = request.param.partition(" ")
    kind = ATTRIBUTE_PROTECTORS.find(name)
    if kind.extra is not None:
        pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y = classes.three(rng, 300) if more == "three" else classes.gaussian(rng, 300)[:2]
    keep = {"keep": rng.integers(0, 2, len(x))} if more == "keep" else {}
    parameters = {"noise": 0.7, "noise_seed": 1} | ({"epochs": 2} if "epochs" in kind.parameters else {})
    protector = make_protector(name, parameters).fit(x, y, **keep)
    if more == "double":
        protector.network_.double()
        protector.double_ = True
    return protector, x

"""Attribute protectors are copied, cloned and pickled, before and after they were fitted."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tests.protect.attributes import classes
from zeroevidence.errors import UsageError
from zeroevidence.protect import make_protector

WAYS = {"pickle": lambda protector: pickle.loads(pickle.dumps(protector)), "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS.keys())
def test_a_copy_gives_the_same_vectors(fitted, copied):
    protector, x = fitted
    before = protector.transform(x)
    other = copied(protector)
    assert set(vars(other)) == set(vars(protector))
    np.testing.assert_array_equal(other.transform(x), before)
    np.testing.assert_array_equal(other.llr(x), protector.llr(x))
    np.testing.assert_array_equal(other.classes_, protector.classes_)


def test_a_copy_computes_on_the_device_of_its_own_machine():
    torch = pytest.importorskip("torch")
    x, y, _ = classes.gaussian(np.random.default_rng(1), 60)
    flow = make_protector("flow", epochs=1).fit(x, y)
    assert pickle.loads(pickle.dumps(flow)).device_ == flow.device_
    if not torch.cuda.is_available():
        flow.device = "cuda"
        with pytest.raises(UsageError, match="device: 'cuda' cannot be used on this machine"):
            copy.deepcopy(flow)
    for name in ("flow", "adversarial"):
        with pytest.raises(UsageError, match="device: 'abacus' cannot be used"):
            make_protector(name, device="abacus").fit(x, y)

"""Attribute protectors are copied, cloned and pickled, before and after they were fitted."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from tests.protect.attributes import classes
from zeroevidence.errors import UsageError
from zeroevidence.protect import make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS

WAYS = {"pickle": lambda protector: pickle.loads(pickle.dumps(protector)), "deepcopy": copy.deepcopy}


@pytest.fixture(scope="module", params=[*ATTRIBUTE_PROTECTORS, "flow three", "flow keep", "flow double"])
def fitted(request):
    """A fitted protector, and vectors."""
    name, _, more = request.param.partition(" ")
    if ATTRIBUTE_PROTECTORS.find(name).extra is not None:
        pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y = classes.three(rng, 300) if more == "three" else classes.gaussian(rng, 300)[:2]
    keep = {"keep": rng.integers(0, 2, len(x))} if more == "keep" else {}
    quick = {"epochs": 2} if "epochs" in ATTRIBUTE_PROTECTORS.find(name).parameters else {}
    protector = make_protector(name, quick).fit(x, y, **keep)
    if more == "double":
        protector.network_.double()
        protector.double_ = True
    return protector, x


@pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS.keys())
def test_a_copy_gives_the_same_vectors(fitted, copied):
    protector, x = fitted
    before = protector.transform(x)
    other = copied(protector)
    assert set(vars(other)) == set(vars(protector))
    np.testing.assert_array_equal(other.transform(x), before)
    np.testing.assert_array_equal(other.llr(x), protector.llr(x))
    np.testing.assert_array_equal(other.classes_, protector.classes_)


def test_a_copy_of_a_copy_and_the_first_are_independent(fitted):
    protector, x = fitted
    before = protector.transform(x)
    other = copy.deepcopy(copy.deepcopy(protector))
    for array in other._arrays().values():
        if array.flags.writeable:
            array += 0.5
    assert (other.transform(x) != before).any()
    np.testing.assert_array_equal(protector.transform(x), before)


def test_a_clone_has_the_parameters_and_nothing_learnt(fitted):
    protector, x = fitted
    other = clone(protector)
    assert other.get_params() == protector.get_params()
    assert set(vars(other)) == set(protector.get_params())
    with pytest.raises(ValueError, match="not fitted"):
        other.transform(x)


def test_a_copy_computes_on_the_device_of_its_own_machine():
    torch = pytest.importorskip("torch")
    x, y, _ = classes.gaussian(np.random.default_rng(1), 60)
    flow = make_protector("flow", epochs=1).fit(x, y)
    state = flow.__getstate__()
    assert "device_" not in state
    assert {parameter.device.type for parameter in state["network_"].parameters()} == {"cpu"}
    assert pickle.loads(pickle.dumps(flow)).device_ == flow.device_
    if not torch.cuda.is_available():
        flow.device = "cuda"
        with pytest.raises(UsageError, match="device: 'cuda' cannot be used on this machine"):
            copy.deepcopy(flow)
    for name in ("flow", "adversarial"):
        with pytest.raises(UsageError, match="device: 'abacus' cannot be used"):
            make_protector(name, device="abacus").fit(x, y)

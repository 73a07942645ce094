"""Vectors on a device: as stored, checked, sent once."""

import numpy as np
import pytest

from tests.linkage.searches import draw
from zeroevidence.errors import InputError
from zeroevidence.linkage.engines import torch_blocks
from zeroevidence.linkage.inputs import VectorSet
from zeroevidence.linkage.plan import enrolment_moments


@pytest.fixture
def kept(monkeypatch):
    """Vectors stay on the device, as on a GPU with room for them."""
    pytest.importorskip("torch")
    monkeypatch.setattr(torch_blocks.DeviceVectors, "fits", lambda _: True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", "longdouble", "int8", "uint16", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_kind_of_number_arrives(dtype, order):
    torch = pytest.importorskip("torch")
    vectors = np.asarray(np.random.default_rng(0).integers(0, 2, (50, 3)), order=order).astype(dtype, order=order)
    vectors.setflags(write=False)
    found = torch_blocks.staged(vectors, torch.device("cpu"))
    assert found.dtype.is_floating_point
    np.testing.assert_array_equal(found.numpy(), vectors.astype(np.float64))


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_leave_the_vectors_as_they_are(cosine, dtype, kept):
    _, y, _ = draw(identities=90, dtype=dtype)
    side = VectorSet.of(y, "enrolment", cosine=cosine)
    found, expected = torch_blocks.torch_moments(side, "cpu"), enrolment_moments(side)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-10, atol=1e-12)
    assert found.longest == pytest.approx(expected.longest)
    device = torch_blocks.pick_device("cpu")
    held = found.hand_over(device)
    np.testing.assert_allclose(held.read(slice(0, 90))[0].numpy(), side.read(0, 90), rtol=1e-14)
    assert found.hand_over(device) is None  # only once


def test_what_is_wrong_is_named(kept):
    _, y, _ = draw(identities=90)
    y[41, 2] = np.inf
    with pytest.raises(InputError, match="enrolment 41: entry 2"):
        torch_blocks.torch_moments(VectorSet.of(y, "enrolment"), "cpu")
    y[41] = 0.0
    with pytest.raises(InputError, match="enrolment 41: a zero vector"):
        torch_blocks.torch_moments(VectorSet.of(y, "enrolment", cosine=True), "cpu")

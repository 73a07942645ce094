"""Fitted models applied from Python, and keys in files."""

from __future__ import annotations

import numpy as np
import pytest

from tests.protect.people import voices
from zeroevidence.errors import InputError
from zeroevidence.protect.fitting import FitOptions, fit
from zeroevidence.protect.models import protect_embeddings, read_rotation_key, rotate_back, write_rotation_key


def test_noise_and_rotation_at_application():
    data = voices()
    model = fit(data, "sex", FitOptions("leace", {"noise": 1.0}))
    once, again = (protect_embeddings(model, data, noise_seed=3) for _ in range(2))
    np.testing.assert_array_equal(once.vectors, again.vectors)
    assert (protect_embeddings(model, data).vectors != once.vectors).any()
    keyed = [protect_embeddings(model, data, rotation_key=b"secret", claims=True, noise_seed=3) for _ in range(2)]
    np.testing.assert_array_equal(*(protected.vectors for protected in keyed))
    back = rotate_back(model, keyed[0], b"secret")
    assert back.attributes.keys() == once.attributes.keys()
    centred = [protected.vectors - model.protector.rotation_centre_ for protected in (back, once)]
    np.testing.assert_allclose(*(x / np.linalg.norm(x, axis=1, keepdims=True) for x in centred), atol=1e-9)


def test_keys_in_files(tmp_path):
    (tmp_path / "key").write_text("secret\n")
    assert read_rotation_key(tmp_path / "key") == b"secret"
    assert write_rotation_key(tmp_path / "new") == read_rotation_key(tmp_path / "new") != b"secret"
    assert (tmp_path / "new").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="cannot write a key"):
        write_rotation_key(tmp_path / "new")
    (tmp_path / "none").write_text(" \n")
    for name, words in (("none", "the key is empty"), ("missing", "no key")):
        with pytest.raises(InputError, match=words):
            read_rotation_key(tmp_path / name)

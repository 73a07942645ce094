"""Protection of embeddings by a fitted model, and keys of the rotations that it draws for people."""

from __future__ import annotations

import copy
import os
import secrets
from pathlib import Path

import numpy as np

from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.models import ProtectorModel


def protect_embeddings(
    model: ProtectorModel,
    data: Embeddings,
    *,
    llr: float | None = None,
    rotation_key: bytes | None = None,
    claims: bool = False,
    noise_seed: int | None = None,
) -> Embeddings:
    """Return embeddings without the evidence about the model's attribute, and without its labels.

    Parameters
    ----------
    model
        A fitted protector, and the attribute that it conceals.
    data
        The embeddings; identifiers, speakers and other attributes stay.
    llr
        Evidence to set instead of none, as a natural logarithm; for a protector of two classes that can set it.
    rotation_key
        Rotates the mean direction of each person by a rotation that is drawn from this key, which must be kept secret
        (see `EmbeddingProtector.transform`).
    claims
        Whether speakers are those whom vectors are to be compared with; each vector is then rotated by itself.
    noise_seed
        Seed of the noise, for experiments; drawn anew otherwise.
    """
    check_dimension(model, data, None)
    vectors = np.asarray(data.vectors, dtype=np.float64)
    protector = model.protector
    if llr is None:
        if noise_seed is not None:
            protector = copy.copy(protector).set_params(noise_seed=noise_seed)
        people = None if rotation_key is None else require_speakers(data)
        protected = protector.transform(vectors, speakers=people, rotation_key=rotation_key, claims=claims)
    elif hasattr(protector, "set_evidence") and len(protector.classes_) == 2:
        protected = protector.set_evidence(vectors, llr)
    else:
        raise UsageError("only a flow over two classes sets evidence to a value")
    # the label itself would disclose what was removed from the vectors
    attributes = {name: values for name, values in data.attributes.items() if name != model.attribute}
    return _with_vectors(Embeddings(data.vectors, data.ids, data.speakers, attributes), protected)


def rotate_back(model: ProtectorModel, data: Embeddings, rotation_key: bytes) -> Embeddings:
    """Return protected embeddings as they were before a key rotated them, but for their lengths; noise stays."""
    check_dimension(model, data, None)
    vectors = np.asarray(data.vectors, dtype=np.float64)
    people = require_speakers(data)
    return _with_vectors(data, model.protector.rotate_back(vectors, speakers=people, rotation_key=rotation_key))


def _with_vectors(data: Embeddings, vectors: np.ndarray) -> Embeddings:
    """Return embeddings with other vectors, in the precision of their own, at least single."""
    with np.errstate(over="ignore"):  # what does not fit is refused as not finite
        rounded = vectors.astype(np.promote_types(data.vectors.dtype, np.float32))
    return Embeddings(rounded, data.ids, data.speakers, data.attributes)


def check_dimension(model: ProtectorModel, data: Embeddings, folder: str | Path | None) -> None:
    """Refuse embeddings of another dimension than the model's."""
    expected, dimension = model.protector.n_features_in_, data.vectors.shape[1]
    if dimension != expected:
        raise InputError(f"the model is for vectors of {expected} entries; these have {dimension}", path=folder)


def read_rotation_key(path: str | Path) -> bytes:
    """Return the key in a file, without white space around it; an empty one is refused."""
    try:
        secret = Path(path).read_bytes().strip()
    except OSError as error:
        raise InputError(f"no key: {error.strerror}", path=path) from None
    if not secret:
        raise InputError("the key is empty", path=path)
    return secret


def write_rotation_key(path: str | Path) -> bytes:
    """Draw a key, write it to a new file that only its owner can read, and return it."""
    secret = secrets.token_hex(32).encode()
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secret + b"\n")
    except OSError as error:
        raise InputError(f"cannot write a key: {error.strerror}", path=path) from None
    return secret

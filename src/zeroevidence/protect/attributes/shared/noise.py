"""Noise on protected vectors, and rotations of people's vectors by a key.

Noise is drawn for each vector, and averages out over the vectors of a person. Its level is relative to the variance
within people, so that a level means the same for any encoder.

A rotation is drawn for each person, uniformly among all rotations, from a secret key and the person's name. A vector of
length one that was rotated so is uniform on the sphere, whatever it was: who does not have the key learns nothing from
it. Of several vectors of a person the mean direction is rotated, so that many disclose no more than one. A person's
rotation keeps the angles between vectors, so people are verified without the key (cancelable biometrics: Teoh, Goh and
Ngo 2006).
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import symmetric_roots

# within: like the differences between vectors of one person; isotropic: as large, the same in all directions;
# total: like the differences between any two vectors
NoiseShape: TypeAlias = Literal["within", "isotropic", "total"]


def check_noise(shape: str, **levels: float) -> None:
    """Refuse an invalid shape, or a level of this name."""
    for name, level in levels.items():
        if not (np.isfinite(level) and level >= 0.0):
            raise UsageError(f"{name}: expected a number from 0 on, got {level!r}")
    if shape not in get_args(NoiseShape):
        raise UsageError(f"noise_shape: expected one of {', '.join(get_args(NoiseShape))}, got {shape!r}")


def noise_root(data: LabelledVectors, shape: NoiseShape, within: FloatArray) -> FloatArray:
    """Return the root (d x d) of the covariance of noise of level one, given the root of that within people."""
    if shape == "total":
        share = data.weights / data.weights.sum()
        centred = data.x - share @ data.x
        return symmetric_roots((centred * share[:, None]).T @ centred)[0]
    if shape == "isotropic":
        return np.eye(len(within)) * float(np.sqrt(np.mean(within**2) * len(within)))
    return within


def noise_for_vectors(rows: int, dimension: int, seed: int | None) -> FloatArray:
    """Return standard normal numbers for each vector; without a seed they cannot be drawn again."""
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def people_of(speakers: Any, rows: int) -> tuple[StrArray, IntArray]:
    """Return the names of people, and the number of the person of each row."""
    names = np.asarray(speakers).astype(np.str_)
    if names.shape != (rows,):
        raise InputError(f"speakers: expected {rows}, one per row, got shape {names.shape}")
    people, person = np.unique(names, return_inverse=True)
    return people, person


def rotate(x: FloatArray, people: StrArray, person: IntArray, key: str | bytes, *, back: bool = False) -> FloatArray:
    """Return vectors rotated by the rotations of their people, or rotated back."""
    rotated = np.empty_like(x)
    for number, name in enumerate(people.tolist()):
        rotation = person_rotation(name, x.shape[1], key)
        rows = person == number
        rotated[rows] = x[rows] @ (rotation.T if back else rotation)
    return rotated


def mean_directions(x: FloatArray, person: IntArray) -> FloatArray:
    """Return the mean direction of each person's rows."""
    sums = np.zeros((int(person.max()) + 1, x.shape[1]))
    np.add.at(sums, person, x)
    return unit_length(sums)


def person_rotation(name: str, dimension: int, key: str | bytes) -> FloatArray:
    """Return an orthogonal matrix that is uniform among all, and depends on a name and a secret key alone.

    Without the key its entries are indistinguishable from random numbers, and cannot be computed for another name.
    """
    from scipy.special import ndtri

    secret = key.encode() if isinstance(key, str) else key
    if not secret:
        raise UsageError("rotation_key: expected a key that is not empty")
    seed = hmac.new(secret, name.encode(), hashlib.sha256).digest()
    stream = np.frombuffer(hashlib.shake_256(seed).digest(8 * dimension**2), dtype="<u8")
    uniform = ((stream >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    # the directions of independent normal vectors are uniform; signs make the factorisation unique
    directions, triangle = np.linalg.qr(ndtri(uniform).reshape(dimension, dimension))
    rotation: FloatArray = directions * np.sign(np.diag(triangle))
    return rotation


def unit_length(x: FloatArray) -> FloatArray:
    """Return rows of length one; a row of zeros stays."""
    unit: FloatArray = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
    return unit

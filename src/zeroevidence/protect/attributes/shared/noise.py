"""Noise on protected vectors, drawn for each vector or for each person.

What is drawn for each vector averages out over the vectors of a person; what is drawn for a person does not. Noise for
people comes from a key. A key that is drawn anew for each call cannot be subtracted by anybody.

Its level is relative to the variance within people, so that a level means the same for any encoder.
Needs NumPy; shrinking covariances needs scikit-learn.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import within_covariance

# within: like the differences between vectors of one person; isotropic: as large, the same in all directions;
# total: like the differences between any two vectors
NoiseShape: TypeAlias = Literal["within", "isotropic", "total"]
# vectors: a draw for each vector; people: one for all vectors of a person, where speakers are named
NoiseScope: TypeAlias = Literal["vectors", "people"]


def check_noise(level: float, shape: str, scope: str) -> None:
    """Refuse an invalid level, shape or scope."""
    if not (np.isfinite(level) and level >= 0.0):
        raise UsageError(f"noise: expected a number from 0 on, got {level!r}")
    if shape not in get_args(NoiseShape):
        raise UsageError(f"noise_shape: expected one of {', '.join(get_args(NoiseShape))}, got {shape!r}")
    if scope not in get_args(NoiseScope):
        raise UsageError(f"noise_for: expected one of {', '.join(get_args(NoiseScope))}, got {scope!r}")


def noise_root(data: LabelledVectors, shape: NoiseShape) -> FloatArray:
    """Return the root (d x d) of the covariance of noise of level one."""
    if shape == "total":
        share = data.weights / data.weights.sum()
        centred = data.x - share @ data.x
        return symmetric_root((centred * share[:, None]).T @ centred)
    within = within_covariance(data)
    if shape == "isotropic":
        return np.eye(len(within)) * float(np.sqrt(np.trace(within) / len(within)))
    return symmetric_root(within)


def symmetric_root(covariance: FloatArray) -> FloatArray:
    """Return the symmetric square root of a covariance."""
    values, directions = np.linalg.eigh(covariance)
    root: FloatArray = (directions * np.sqrt(np.maximum(values, 0.0))) @ directions.T
    return root


def noise_for_vectors(rows: int, dimension: int, seed: int | None) -> FloatArray:
    """Return standard normal numbers for each vector; without a seed they cannot be drawn again."""
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def fresh_key(seed: int | None) -> bytes:
    """Return a key that nobody has, or with a seed one that can be made again."""
    return secrets.token_bytes(32) if seed is None else f"zeroevidence noise {seed}".encode()


def noise_for_people(speakers: Any, dimension: int, key: str | bytes, rows: int) -> FloatArray:
    """Return standard normal numbers that depend on the person and a secret key alone."""
    names = np.asarray(speakers).astype(np.str_)
    if names.shape != (rows,):
        raise InputError(f"speakers: expected {rows}, one per row, got shape {names.shape}")
    secret = key.encode() if isinstance(key, str) else key
    if not secret:
        raise UsageError("noise_key: expected a key that is not empty")
    people, person = np.unique(names, return_inverse=True)
    seeds = [int.from_bytes(hmac.new(secret, name.encode(), hashlib.sha256).digest()) for name in people.tolist()]
    noise: FloatArray = np.stack([np.random.default_rng(seed).standard_normal(dimension) for seed in seeds])[person]
    return noise

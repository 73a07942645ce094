"""Noise on protected vectors: how large and of which shape, drawn for each vector or for each person by a key.

Its size is a multiple of how much the vectors of one person differ among themselves, so that a level means the same for
any encoder. Needs NumPy; shrinking covariances needs scikit-learn.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import within_covariance

# within: like the differences between vectors of one person; isotropic: as large, the same in all directions;
# total: like the differences between any two vectors
NoiseShape: TypeAlias = Literal["within", "isotropic", "total"]


def check_noise(level: float, shape: str) -> None:
    """Refuse a level or a shape that there is not."""
    if not (np.isfinite(level) and level >= 0.0):
        raise UsageError(f"noise: expected a number from 0 on, got {level!r}")
    if shape not in get_args(NoiseShape):
        raise UsageError(f"noise_shape: expected one of {', '.join(get_args(NoiseShape))}, got {shape!r}")


def noise_root(data: LabelledVectors, shape: NoiseShape) -> FloatArray:
    """The root (d x d) of the covariance that noise of level one has."""
    if shape == "total":
        share = data.weights / data.weights.sum()
        centred = data.x - share @ data.x
        return symmetric_root((centred * share[:, None]).T @ centred)
    within = within_covariance(data)
    if shape == "isotropic":
        return np.eye(len(within)) * float(np.sqrt(np.trace(within) / len(within)))
    return symmetric_root(within)


def symmetric_root(covariance: FloatArray) -> FloatArray:
    """The symmetric square root of a covariance."""
    values, directions = np.linalg.eigh(covariance)
    root: FloatArray = (directions * np.sqrt(np.maximum(values, 0.0))) @ directions.T
    return root


def noise_for_vectors(rows: int, dimension: int, seed: int | None) -> FloatArray:
    """Standard normal numbers, anew for each vector; without a seed nobody can draw the same again."""
    return np.random.default_rng(seed).standard_normal((rows, dimension))


def noise_for_people(speakers: Any, dimension: int, key: str | bytes, rows: int) -> FloatArray:
    """Standard normal numbers that are the same for all vectors of a person, and known only to who holds the key."""
    names = np.asarray(speakers).astype(np.str_)
    if names.shape != (rows,):
        raise InputError(f"speakers: expected {rows}, one per row, got shape {names.shape}")
    secret = key.encode() if isinstance(key, str) else key
    if not secret:
        raise UsageError("noise_key: expected a key that is not empty")
    people, who = np.unique(names, return_inverse=True)
    seeds = [int.from_bytes(hmac.new(secret, name.encode(), hashlib.sha256).digest()) for name in people.tolist()]
    drawn: FloatArray = np.stack([np.random.default_rng(seed).standard_normal(dimension) for seed in seeds])[who]
    return drawn

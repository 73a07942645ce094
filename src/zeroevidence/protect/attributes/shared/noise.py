"""Noise on protected vectors, drawn for each vector and, from a key, for each person.

What is drawn for each vector averages out over the vectors of a person; what is drawn for a person does not.

Its level is relative to the variance within people, so that a level means the same for any encoder.
Needs NumPy; shrinking covariances needs scikit-learn.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import within_covariance

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


def people_of(speakers: Any, rows: int) -> tuple[StrArray, IntArray]:
    """Return the names of people, and the number of the person of each row."""
    names = np.asarray(speakers).astype(np.str_)
    if names.shape != (rows,):
        raise InputError(f"speakers: expected {rows}, one per row, got shape {names.shape}")
    people, person = np.unique(names, return_inverse=True)
    return people, person


def noise_for_people(people: StrArray, dimension: int, key: str | bytes) -> FloatArray:
    """Return standard normal numbers that depend on the person and a secret key alone, one row for each person."""
    secret = key.encode() if isinstance(key, str) else key
    if not secret:
        raise UsageError("noise_key: expected a key that is not empty")
    seeds = [int.from_bytes(hmac.new(secret, name.encode(), hashlib.sha256).digest()) for name in people.tolist()]
    noise: FloatArray = np.stack([np.random.default_rng(seed).standard_normal(dimension) for seed in seeds])
    return noise


def around_means(x: FloatArray, person: IntArray, differences: FloatArray) -> FloatArray:
    """Return the mean vector of each row's person plus other differences, which are made to have the mean zero.

    They keep their spread: that of n differences around their own mean is smaller by (n - 1) / n.
    """
    counts = np.bincount(person)[:, None]
    scale = np.sqrt(counts / np.maximum(counts - 1, 1))
    moved: FloatArray = _means(x, person)[person] + scale[person] * (differences - _means(differences, person)[person])
    return moved


def _means(x: FloatArray, person: IntArray) -> FloatArray:
    sums = np.zeros((int(person.max()) + 1, x.shape[1]))
    np.add.at(sums, person, x)
    means: FloatArray = sums / np.bincount(person)[:, None]
    return means

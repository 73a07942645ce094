"""Least-squares erasure of all correlation with the class, by the smallest linear change [Belrose et al. 2023]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.protect.attributes.shared.discriminants import class_means
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import Shrinkage, shrinkage_share, shrunk
from zeroevidence.protect.attributes.shared.stored import StoredArrays

_RANK = 1e-9  # of the largest: a direction with less counts as having nothing


@dataclass(frozen=True, slots=True, eq=False)
class Eraser(StoredArrays):
    """Vectors become ``x - (x - mean) @ right @ left``; `right` is d x (K - 1), `left` (K - 1) x d."""

    mean: FloatArray
    right: FloatArray
    left: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return vectors without what linear classifiers use."""
        moved: FloatArray = x - ((x - self.mean) @ self.right) @ self.left
        return moved


def fit_eraser(data: LabelledVectors, shrinkage: Shrinkage) -> Eraser:
    """Return the eraser of weighted vectors."""
    share = data.weights / data.weights.sum()
    mean = share @ data.x
    centred = data.x - mean
    covariance = shrunk((centred * share[:, None]).T @ centred, shrinkage_share(centred, shrinkage))
    values, directions = np.linalg.eigh(covariance)
    positive = values > _RANK * max(values[-1], np.finfo(float).tiny)
    values, directions = values[positive], directions[:, positive]
    whiten = (directions / np.sqrt(values)) @ directions.T
    colour = (directions * np.sqrt(values)) @ directions.T
    # each class has the same weight, so its covariance with the vectors is its mean, up to a factor
    means = class_means(data)
    _, sizes, rows = np.linalg.svd((means - mean) @ whiten, full_matrices=False)
    axes = rows[sizes > _RANK * max(sizes[0], np.finfo(float).tiny)][: len(means) - 1]
    return Eraser(mean, whiten @ axes.T, axes @ colour)

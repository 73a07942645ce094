"""Means and covariances of classes and people, shrinkage, and optimal transport between Gaussians.

People have equal weight within a class, and classes have equal weight. Where no two vectors are of one person, all
variance within a class is variance between people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors

Shrinkage: TypeAlias = float | Literal["auto"]
_FLOOR = 1e-10  # of the largest variance: directions with less count as having that much
_STEPS = 100
_CLOSE = 1e-12  # relative change of the barycentre at which the iteration stops


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Means and covariances of classes, and of people within them.

    Parameters
    ----------
    means
        Of the classes, K x d.
    between
        Covariance of the people of a class, for each class, K x d x d.
    within
        Covariance of the vectors of one person, for each class, K x d x d; zeros where nobody has two vectors.
    people
        Number of people.
    """

    means: FloatArray
    between: FloatArray
    within: FloatArray
    people: int

    def classes(self, shrinkage: float) -> FloatArray:
        """Return the covariance of each class, of which the share `shrinkage` is that of all classes."""
        covariances = self.between + self.within
        mixed: FloatArray = (1.0 - shrinkage) * covariances + shrinkage * covariances.mean(axis=0)
        return mixed

    def all(self) -> FloatArray:
        """Return the covariance within classes, the mean over classes."""
        mean: FloatArray = (self.between + self.within).mean(axis=0)
        return mean


def class_moments(data: LabelledVectors) -> ClassMoments:
    """Return means and covariances of the first attribute's classes."""
    labels = data.labels[:, 0]
    means, between, within = [], [], []
    for k in range(int(labels.max()) + 1):
        x, people = data.x[labels == k], data.people[labels == k]
        centres, inside = _people(x, people)
        mean = centres.mean(axis=0)
        away = centres - mean
        means.append(mean)
        between.append(away.T @ away / max(1, len(centres) - 1))
        within.append(inside.T @ inside / max(1, len(x) - len(centres)))
    return ClassMoments(np.stack(means), np.stack(between), np.stack(within), len(np.unique(data.people)))


def within_covariance(data: LabelledVectors) -> FloatArray:
    """Return the covariance of the vectors of one person, shrunk; within classes where nobody has two vectors."""
    from sklearn.covariance import ledoit_wolf

    centres, inside = _people(data.x, data.people)
    free = len(inside) - len(centres)
    if free == 0:
        inside = data.x - class_moments(data).means[data.labels[:, 0]]
        free = max(1, len(inside) - 2)
    covariance, _ = ledoit_wolf(inside, assume_centered=True)
    scaled: FloatArray = covariance * (len(inside) / free)
    return scaled


def shrunk(covariance: FloatArray, share: float) -> FloatArray:
    """Return a covariance of which a share is replaced by a multiple of the identity with the same trace."""
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"shrinkage: expected auto, or a share from 0 to 1, got {share!r}")
    size = len(covariance)
    mixed: FloatArray = (1.0 - share) * covariance + share * np.trace(covariance) / size * np.eye(size)
    return mixed


def shrinkage_share(rows: FloatArray, shrinkage: Shrinkage) -> float:
    """Return the share itself or, for ``auto``, that of Ledoit and Wolf for centred rows."""
    if shrinkage == "auto":
        from sklearn.covariance import ledoit_wolf_shrinkage

        return float(ledoit_wolf_shrinkage(rows, assume_centered=True))
    if not 0.0 <= shrinkage <= 1.0:
        raise UsageError(f"shrinkage: expected auto, or a share from 0 to 1, got {shrinkage!r}")
    return float(shrinkage)


def barycentre(covariances: FloatArray) -> FloatArray:
    """Return the barycentre of covariances in the sense of optimal transport (Álvarez-Esteban et al. 2016).

    That of two is the middle of the way from one to the other, in closed form [McCann 1997].
    """
    centre: FloatArray = covariances.mean(axis=0)
    if len(covariances) == 2:
        half = (np.eye(len(centre)) + transport_map(*covariances)) / 2.0
        middle_way: FloatArray = half @ covariances[0] @ half
        return middle_way
    for _ in range(_STEPS):
        root, inverse = symmetric_roots(centre)
        middle = np.mean([symmetric_roots(root @ covariance @ root)[0] for covariance in covariances], axis=0)
        new: FloatArray = inverse @ middle @ middle @ inverse
        moved = np.linalg.norm(new - centre)
        centre = np.asarray((new + new.T) / 2.0)
        if moved <= _CLOSE * np.linalg.norm(centre):
            break
    return centre


def transport_map(source: FloatArray, target: FloatArray) -> FloatArray:
    """Return the symmetric matrix of the optimal transport from a Gaussian of one covariance to that of another."""
    root, inverse = symmetric_roots(source)
    matrix: FloatArray = inverse @ symmetric_roots(root @ target @ root)[0] @ inverse
    return matrix


def symmetric_roots(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the symmetric root of a covariance, and its inverse."""
    values, directions = np.linalg.eigh(covariance)
    sides = np.sqrt(np.maximum(values, max(_FLOOR * values[-1], np.finfo(float).tiny)))
    return (directions * sides) @ directions.T, (directions / sides) @ directions.T


def _people(x: FloatArray, people: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean vector of each person, and the difference of each vector from it."""
    _, person, counts = np.unique(people, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), x.shape[1]))
    np.add.at(sums, person, x)
    centres = sums / counts[:, None]
    return centres, x - centres[person]

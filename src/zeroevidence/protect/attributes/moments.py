"""Moments of labelled vectors: means and covariances of classes and people, shrinkage, optimal transport, evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, Self, TypeAlias

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import UsageError


@dataclass(frozen=True, slots=True, eq=False)
class LabelledVectors:
    """Checked training data.

    Parameters
    ----------
    x
        Vectors, n x d.
    labels
        Class numbers, one column per attribute.
    weights
        Weights of the vectors.
    people
        Speaker number of each vector; every vector is a speaker of its own where speakers are not given.
    """

    x: FloatArray
    labels: IntArray
    weights: FloatArray
    people: IntArray

    def means(self) -> LabelledVectors:
        """Return the mean of each person's vectors; where a person has several labels, of those with each."""
        cells = np.column_stack([self.people, self.labels])
        _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        labels, people = self.labels[first], self.people[first]
        return LabelledVectors(group_means(self.x, cell.reshape(-1)), labels, balanced_weights(labels, people), people)

    def with_means(self) -> LabelledVectors:
        """Return the vectors and, where people have several, behind them their means, which weigh as much."""
        means = self.means()
        if len(means.x) == len(self.x):
            return self
        weights = np.concatenate([self.weights, means.weights * (self.weights.sum() / means.weights.sum())])
        return LabelledVectors(
            np.concatenate([self.x, means.x]),
            np.concatenate([self.labels, means.labels]),
            weights / weights.mean(),
            np.concatenate([self.people, means.people]),
        )


def balanced_weights(labels: IntArray, people: IntArray) -> FloatArray:
    """Return weights of mean one that make all classes (or combinations) equal, and all people in a class."""
    _, cell = np.unique(labels, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    _, person = np.unique(np.stack([cell, people], axis=1), axis=0, return_inverse=True)
    person = person.reshape(-1)
    rows_of_person = np.bincount(person)
    first = np.unique(person, return_index=True)[1]
    people_in_cell = np.bincount(cell[first])
    weights = 1.0 / (people_in_cell[cell] * rows_of_person[person])
    return np.asarray(weights / weights.mean())


def held_out_rows(data: LabelledVectors, share: float, seed: int) -> BoolArray:
    """Return the rows of a random share of the people of each class with at least three people."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(data.x), dtype=bool)
    for label in range(int(data.labels[:, 0].max()) + 1):
        people = np.unique(data.people[data.labels[:, 0] == label])
        if len(people) > 2:
            chosen = rng.permutation(people)[: max(1, round(share * len(people)))]
            held |= np.isin(data.people, chosen)
    return held


class StoredArrays:
    """Mixin of dataclasses whose fields are arrays: turns them into arrays by name, and back."""

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

    def arrays(self, prefix: str) -> dict[str, FloatArray]:
        """Return the arrays by name, below a prefix."""
        return {f"{prefix}.{name}": getattr(self, name) for name in self._names()}

    @classmethod
    def of(cls, arrays: Mapping[str, FloatArray], prefix: str) -> Self:
        """Return the object whose arrays have this prefix; other arrays are ignored."""
        return cls(*(arrays[f"{prefix}.{name}"] for name in cls._names()))


def evidence(log_likelihoods: FloatArray) -> FloatArray:
    """Return LLRs from log-likelihoods of classes (n x K): of the second class for K = 2, else of each, n x K."""
    count = log_likelihoods.shape[1]
    others = [np.logaddexp.reduce(np.delete(log_likelihoods, k, axis=1), axis=1) for k in range(count)]
    llr: FloatArray = log_likelihoods - (np.stack(others, axis=1) - np.log(count - 1.0))
    return llr[:, 1] if count == 2 else llr


Shrinkage: TypeAlias = float | Literal["auto"]
_FLOOR = 1e-10  # of the largest variance: directions with less count as having that much
_STEPS = 100
_CLOSE = 1e-12  # relative change of the barycentre at which the iteration stops


@dataclass(frozen=True, slots=True, eq=False)
class ClassMoments:
    """Means and covariances of classes, and of people within them.

    People have equal weight within a class, and classes have equal weight. Where no two vectors are of one person, all
    variance within a class is variance between people.

    Parameters
    ----------
    means
        Of the classes, K x d.
    between
        Covariance of the people of a class, for each class, K x d x d.
    within
        Covariance of the vectors of one person, for each class, K x d x d; zeros where nobody has two vectors.
    """

    means: FloatArray
    between: FloatArray
    within: FloatArray

    def classes(self, shrinkage: float) -> FloatArray:
        """Return the covariance of each class, of which the share `shrinkage` is that of all classes."""
        covariances = self.between + self.within
        return np.asarray((1.0 - shrinkage) * covariances + shrinkage * covariances.mean(axis=0))

    def all(self) -> FloatArray:
        """Return the covariance within classes, the mean over classes."""
        return np.asarray((self.between + self.within).mean(axis=0))


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
    return ClassMoments(np.stack(means), np.stack(between), np.stack(within))


def within_covariance(data: LabelledVectors) -> FloatArray:
    """Return the covariance of the vectors of one person, shrunk; within classes where nobody has two vectors."""
    from sklearn.covariance import ledoit_wolf

    centres, inside = _people(data.x, data.people)
    free = len(inside) - len(centres)
    if free == 0:
        inside = data.x - class_moments(data).means[data.labels[:, 0]]
        free = max(1, len(inside) - 2)
    covariance, _ = ledoit_wolf(inside, assume_centered=True)
    return np.asarray(covariance * (len(inside) / free))


def shrunk(covariance: FloatArray, share: float) -> FloatArray:
    """Return a covariance of which a share is replaced by a multiple of the identity with the same trace."""
    size = len(covariance)
    return np.asarray((1.0 - share) * covariance + share * np.trace(covariance) / size * np.eye(size))


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
        return np.asarray(half @ covariances[0] @ half)
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
    return inverse @ symmetric_roots(root @ target @ root)[0] @ inverse


def symmetric_roots(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the symmetric root of a covariance, and its inverse."""
    values, directions = np.linalg.eigh(covariance)
    sides = np.sqrt(np.maximum(values, max(_FLOOR * values[-1], np.finfo(float).tiny)))
    return (directions * sides) @ directions.T, (directions / sides) @ directions.T


def group_means(x: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean of the rows of each group."""
    sums = np.zeros((int(groups.max()) + 1, x.shape[1]))
    np.add.at(sums, groups, x)
    return sums / np.bincount(groups)[:, None]


def _people(x: FloatArray, people: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean vector of each person, and the difference of each vector from it."""
    person = np.unique(people, return_inverse=True)[1]
    centres = group_means(x, person)
    return centres, x - centres[person]

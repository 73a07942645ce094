"""Moments of labelled vectors: means and covariances of classes and people, shrinkage, optimal transport, evidence.

Discriminants of Gaussian classes, and the directions that linear classifiers use, erased or removed one by one.
"""

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
            held |= np.isin(data.people, rng.permutation(people)[: max(1, round(share * len(people)))])
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


_MIXTURES = (1.0, 0.75, 0.5, 0.25, 0.0)  # how much of the shared covariance is in that of each class
_FOLDS = 3
_RIDGE = 1e-6  # of the mean variance


@dataclass(frozen=True, slots=True, eq=False)
class LinearDiscriminants(StoredArrays):
    """Log-likelihoods ``x @ directions - offsets`` of the classes against the first (d x (K - 1), and K - 1)."""

    directions: FloatArray
    offsets: FloatArray

    def llr(self, x: FloatArray) -> FloatArray:
        """Return the LLR of the second of two classes, or of each of more classes against the others."""
        return evidence(np.column_stack([np.zeros(len(x)), x @ self.directions - self.offsets]))

    def set_to_zero(self, x: FloatArray) -> FloatArray:
        """Return vectors that moved along the directions to where all classes are equally likely."""
        w = self.directions
        step, *_ = np.linalg.lstsq(w.T @ w, (x @ w - self.offsets).T, rcond=None)
        return x - (w @ step).T


def class_means(data: LabelledVectors) -> FloatArray:
    """Return the weighted means of the classes of the first attribute, K x d."""
    labels = data.labels[:, 0]
    groups = [labels == k for k in range(int(labels.max()) + 1)]
    return np.stack([np.average(data.x[rows], axis=0, weights=data.weights[rows]) for rows in groups])


def linear_discriminants(data: LabelledVectors, shrinkage: Shrinkage) -> tuple[LinearDiscriminants, float]:
    """Return the discriminants of Gaussian classes with one covariance, and the share of it that was replaced."""
    share = data.weights / data.weights.sum()
    means = class_means(data)
    inside = data.x - means[data.labels[:, 0]]
    level = shrinkage_share(inside, shrinkage)
    inverse = np.linalg.pinv(shrunk((inside * share[:, None]).T @ inside, level), hermitian=True)
    squares = np.einsum("kd,de,ke->k", means, inverse, means)
    return LinearDiscriminants(inverse @ (means[1:] - means[0]).T, 0.5 * (squares[1:] - squares[0])), level


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticDiscriminants(StoredArrays):
    """Gaussian classes, each with its own covariance: means (K x d), inverse covariances, and log-determinants."""

    means: FloatArray
    inverses: FloatArray
    log_determinants: FloatArray

    def log_likelihoods(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each class, up to a constant, n x K."""
        logs = []
        for mean, inverse, log_determinant in zip(self.means, self.inverses, self.log_determinants, strict=True):
            away = x - mean
            logs.append(-0.5 * (np.einsum("nd,nd->n", away @ inverse, away) + log_determinant))
        return np.stack(logs, axis=1)


def quadratic_discriminants(data: LabelledVectors) -> QuadraticDiscriminants:
    """Return Gaussian classes; cross-validation chooses how far covariances are mixed with the shared one."""
    folds = _folds(data)
    if folds is None:
        return fit_gaussian_classes(data, 1.0)
    losses = np.zeros(len(_MIXTURES))
    for fold in range(_FOLDS):
        held = folds == fold
        test = _part(data, held)
        logs = _mixture_log_likelihoods(_part(data, ~held), test.x)
        logs -= np.logaddexp.reduce(logs, axis=2, keepdims=True)
        truth = np.take_along_axis(logs, test.labels[None, :, :1], axis=2)[:, :, 0]
        losses -= np.average(truth, axis=1, weights=test.weights)
    return fit_gaussian_classes(data, _MIXTURES[int(losses.argmin())])


def fit_gaussian_classes(data: LabelledVectors, mixture: float = 0.0) -> QuadraticDiscriminants:
    """Return Gaussian classes with shrunk covariances, of which the share `mixture` is that of all classes."""
    means, shared, covariances = _class_covariances(data, shared_alone=mixture == 1.0)
    mixed = [mixture * shared + (1.0 - mixture) * covariance for covariance in covariances]
    sizes = [np.linalg.slogdet(covariance)[1] for covariance in mixed]
    return QuadraticDiscriminants(means, np.stack([np.linalg.inv(covariance) for covariance in mixed]), np.array(sizes))


def _mixture_log_likelihoods(data: LabelledVectors, x: FloatArray) -> FloatArray:
    """Return log-likelihoods of rows under classes fitted to data, for each of the mixtures: M x n x K.

    In the coordinates where the shared covariance is the identity and that of the class is diagonal, every mixture is
    diagonal too, so that one eigendecomposition for each class gives all of them.
    """
    from scipy.linalg import eigh

    means, shared, covariances = _class_covariances(data)
    shares = np.array(_MIXTURES)[:, None]
    logs = np.empty((len(_MIXTURES), len(x), len(means)))
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        values, axes = eigh(covariance, shared)
        variances = shares + (1.0 - shares) * values
        squares = ((x - mean) @ axes) ** 2
        # the determinant of the shared covariance is the same for all classes
        logs[:, :, k] = -0.5 * ((1.0 / variances) @ squares.T + np.log(variances).sum(axis=1, keepdims=True))
    return logs


def _class_covariances(
    data: LabelledVectors, *, shared_alone: bool = False
) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Return class means, the shared covariance, and that of each class (the shared one if it alone is wanted)."""
    labels, means = data.labels[:, 0], class_means(data)
    inside = (data.x - means[labels]) * np.sqrt(data.weights / data.weights.mean())[:, None]
    shared = _covariance(inside)
    if shared_alone:
        return means, shared, [shared] * len(means)
    members = [labels == k for k in range(len(means))]
    scales = [np.sqrt(data.weights[rows].mean() / data.weights.mean()) for rows in members]
    return means, shared, [_covariance(inside[rows] / scale) for rows, scale in zip(members, scales, strict=True)]


def _covariance(rows: FloatArray) -> FloatArray:
    """Return the covariance of centred rows, shrunk by Ledoit and Wolf."""
    covariance = shrunk(rows.T @ rows / len(rows), shrinkage_share(rows, "auto"))
    size = len(covariance)
    return np.asarray(covariance + (_RIDGE * np.trace(covariance) / size + np.finfo(float).tiny) * np.eye(size))


def _folds(data: LabelledVectors) -> IntArray | None:
    """Return a fold for each row, by people and with all classes in each; None where a class has too few people."""
    labels = data.labels[:, 0]
    fold = np.zeros(len(labels), dtype=np.int64)
    for k in range(int(labels.max()) + 1):
        names, person = np.unique(data.people[labels == k], return_inverse=True)
        if len(names) < 2 * _FOLDS:
            return None
        fold[labels == k] = person % _FOLDS
    return fold


def _part(data: LabelledVectors, rows: FloatArray) -> LabelledVectors:
    labels, people = data.labels[rows], data.people[rows]
    return LabelledVectors(data.x[rows], labels, balanced_weights(labels, people), people)


_ERASED = 1e-9  # of the largest: a direction with less counts as having nothing


@dataclass(frozen=True, slots=True, eq=False)
class Eraser(StoredArrays):
    """Vectors become ``x - (x - mean) @ right @ left``; `right` is d x (K - 1), `left` (K - 1) x d."""

    mean: FloatArray
    right: FloatArray
    left: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Return vectors without what linear classifiers use."""
        return x - ((x - self.mean) @ self.right) @ self.left


def fit_eraser(data: LabelledVectors, shrinkage: Shrinkage) -> Eraser:
    """Return the eraser of weighted vectors."""
    share = data.weights / data.weights.sum()
    mean = share @ data.x
    centred = data.x - mean
    covariance = shrunk((centred * share[:, None]).T @ centred, shrinkage_share(centred, shrinkage))
    values, directions = np.linalg.eigh(covariance)
    positive = values > _ERASED * max(values[-1], np.finfo(float).tiny)
    values, directions = values[positive], directions[:, positive]
    whiten = (directions / np.sqrt(values)) @ directions.T
    colour = (directions * np.sqrt(values)) @ directions.T
    # each class has the same weight, so its covariance with the vectors is its mean, up to a factor
    means = class_means(data)
    _, sizes, rows = np.linalg.svd((means - mean) @ whiten, full_matrices=False)
    axes = rows[sizes > _ERASED * max(sizes[0], np.finfo(float).tiny)][: len(means) - 1]
    return Eraser(mean, whiten @ axes.T, axes @ colour)


_RANK = 1e-9  # of a direction's length, after what was removed before


def regression_directions(data: LabelledVectors, most: int) -> tuple[FloatArray, FloatArray]:
    r"""Return at most `most` orthonormal directions (d x m) of least-squares classifiers, and the classes' centre.

    The slopes of regression of the classes on vectors of covariance C are :math:`C^{-1} \delta`, with C shrunk and the
    differences :math:`\delta` of the class means. Each is removed before the next is found, as in iterative null-space
    projection [Ravfogel et al. 2020]. Without the direction q, the inverse is that of before less
    :math:`C^{-1} q q' C^{-1} / q' C^{-1} q`, so that no regression has to be solved anew.
    """
    means = class_means(data)
    centre = means.mean(axis=0)
    share = data.weights / data.weights.sum()
    rows = data.x - centre
    covariance = shrunk((rows * share[:, None]).T @ rows, shrinkage_share(rows, "auto"))
    ridge = _RANK * np.trace(covariance) / len(covariance) + np.finfo(float).tiny
    inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
    directions: list[FloatArray] = []
    while len(directions) < most:
        new = _orthonormal((means - centre) @ inverse, directions)[: most - len(directions)]
        if not new:
            break
        for direction in new:
            column = inverse @ direction
            inverse = inverse - np.outer(column, column) / (direction @ column)
        directions += new
    return np.stack(directions, axis=1) if directions else np.zeros((data.x.shape[1], 0)), centre


def _orthonormal(rows: FloatArray, basis: list[FloatArray]) -> list[FloatArray]:
    """Return orthonormal directions of rows outside a basis."""
    new: list[FloatArray] = []
    for row in rows:
        away = row.copy()
        for _ in range(2):  # twice: rounding of the first time
            for direction in (*basis, *new):
                away -= (away @ direction) * direction
        length = float(np.linalg.norm(away))
        if length > _RANK * max(float(np.linalg.norm(row)), np.finfo(float).tiny):
            new.append(away / length)
    return new

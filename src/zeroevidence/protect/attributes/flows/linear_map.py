"""The linear front of the flow: standardise, order by principal component, rotate the discriminants to the front.

In its coordinates the classes already lie where the latent densities expect them under the linear Gaussian model. So a
flow that is still the identity equals linear discriminant analysis. The front has an exact inverse. The flow works on
the leading coordinates; the others, the complement, are left as they are. If classes have covariances of their own, it
makes these diagonal, and the identity then equals quadratic discriminant analysis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes.flows.latent import LatentClasses, simplex
from zeroevidence.protect.attributes.flows.orbits import ClassGaussians

LinearMapKind = Literal["lda", "pca", "none"]
_FLOOR = 1e-6  # of the largest variance: a direction with less counts as having none
_LEAST_HALF = 1e-3  # of the distance between two classes: a coordinate must not be scaled to nothing


@dataclass(frozen=True, slots=True, eq=False)
class LinearMap:
    """Coordinates ``((x - mean) / scale) @ basis``, of which the first `width` are then rotated, scaled and shifted."""

    mean: FloatArray
    scale: FloatArray
    basis: FloatArray  # d x d, orthonormal
    turn: FloatArray  # width x width
    shift: FloatArray  # width

    @classmethod
    def fit(
        cls,
        x: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        *,
        kind: LinearMapKind,
        components: int,
        shrinkage: float,
        mu: float,
    ) -> tuple[LinearMap, list[LatentClasses]]:
        """Fit to weighted vectors; `labels` has a column for each attribute, whose discriminants come in that order.

        Returns the front and, for each attribute, the class densities to start from: those of the linear model for
        ``lda``; otherwise those given by `mu` for two classes, and means equally far apart for more.
        """
        share = weights / weights.sum()
        mean = share @ x
        scale = np.sqrt(share @ (x - mean) ** 2)
        scale = np.where(scale > 0.0, scale, 1.0)
        counts = [int(column.max()) + 1 for column in labels.T]
        needed = sum(counts) - len(counts)
        dimension = x.shape[1]
        start = [
            LatentClasses.binary(mu) if k == 2 else LatentClasses(simplex(k, np.sqrt(2.0 * mu)), 1.0) for k in counts
        ]
        if kind == "none":
            front = cls(mean, scale, np.eye(dimension), np.eye(dimension), np.zeros(dimension))
            return _wide_enough(front, needed), start
        standard = (x - mean) / scale
        values, basis = np.linalg.eigh((standard * share[:, None]).T @ standard)
        values, basis = values[::-1], basis[:, ::-1]
        width = min(components, int(np.count_nonzero(values > _FLOOR * values[0])))
        front = cls(mean, scale, basis, np.diag(1.0 / np.sqrt(values[:width])), np.zeros(width))
        _wide_enough(front, needed)
        if kind == "pca":
            return front, start
        a = standard @ basis[:, :width]
        whiten, effects = _within(a, labels, counts, share, shrinkage)
        turn, shift, evidence = _discriminants(a, labels, counts, whiten, effects)
        return cls(mean, scale, basis, turn, shift), evidence

    @classmethod
    def fit_spread(
        cls,
        x: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        *,
        kind: LinearMapKind,
        components: int,
        shrinkage: float,
    ) -> tuple[LinearMap, ClassGaussians]:
        """Fit to weighted vectors of two classes with covariances of their own; also the densities to start from.

        In each coordinate the class means have their middle at zero and the variances a product of one. With ``lda``
        both covariances are diagonal, and coordinates that tell most come first.
        """
        front, _ = cls.fit(
            x,
            labels,
            weights,
            kind="pca" if kind == "lda" else kind,
            components=components,
            shrinkage=shrinkage,
            mu=1.0,
        )
        share = weights / weights.sum()
        u = front.forward(x)[:, : front.width]
        turn: FloatArray = np.eye(front.width)
        if kind == "lda":
            turn, _ = _within(u, labels, [2], share, shrinkage)
            turn = turn @ _both_diagonal(*(_covariance(u @ turn, labels[:, 0] == k, share, shrinkage) for k in (0, 1)))
        means, variances = _diagonal_moments(u @ turn, labels[:, 0], share, shrinkage)
        scale = np.sqrt(variances).prod(axis=0) ** -0.5
        means, variances = means * scale, variances * scale**2
        shift = means.mean(axis=0)
        found = ClassGaussians(means - shift, variances)
        order = np.argsort(-found.told(), kind="stable") if kind == "lda" else np.arange(front.width)
        turned = cls(front.mean, front.scale, front.basis, (front.turn @ turn * scale)[:, order], shift[order])
        return turned, ClassGaussians(found.means[:, order], found.variances[:, order])

    @property
    def width(self) -> int:
        """Number of coordinates that the flow works on."""
        return len(self.shift)

    def forward(self, x: FloatArray) -> FloatArray:
        """All coordinates of vectors."""
        u: FloatArray = ((x - self.mean) / self.scale) @ self.basis
        u[:, : self.width] = u[:, : self.width] @ self.turn - self.shift
        return u

    def inverse(self, u: FloatArray) -> FloatArray:
        """Vectors with these coordinates."""
        inner = np.linalg.solve(self.turn.T, (u[:, : self.width] + self.shift).T).T
        standard = np.concatenate([inner, u[:, self.width :]], axis=1) @ self.basis.T
        x: FloatArray = standard * self.scale + self.mean
        return x


def _wide_enough(front: LinearMap, needed: int) -> LinearMap:
    if front.width < needed + 1 or front.width < 2:
        raise InputError(
            f"{front.width} dimension(s) with any spread cannot hold {needed} discriminant(s) and a residual"
        )
    return front


def _within(
    a: FloatArray, labels: IntArray, counts: list[int], share: FloatArray, shrinkage: float
) -> tuple[FloatArray, FloatArray]:
    """A map that makes the covariance within classes the identity, and the images of the class means, stacked."""
    design = np.concatenate([np.eye(k)[column] for k, column in zip(counts, labels.T, strict=True)], axis=1)
    root = np.sqrt(share)[:, None]
    effects, *_ = np.linalg.lstsq(design * root, a * root, rcond=None)
    inside = a - design @ effects
    within = (inside * share[:, None]).T @ inside
    within = (1.0 - shrinkage) * within + shrinkage * np.trace(within) / len(within) * np.eye(len(within))
    values, directions = np.linalg.eigh(within)
    whiten: FloatArray = directions / np.sqrt(np.maximum(values, _FLOOR * values[-1]))
    return whiten, effects @ whiten


def _covariance(u: FloatArray, rows: BoolArray, share: FloatArray, shrinkage: float) -> FloatArray:
    """Covariance of some rows, where that within classes is the identity, shrunk towards it."""
    own = share[rows] / share[rows].sum()
    centred = u[rows] - own @ u[rows]
    found: FloatArray = (1.0 - shrinkage) * (centred * own[:, None]).T @ centred
    return found + max(shrinkage, _FLOOR) * np.eye(u.shape[1])


def _both_diagonal(first: FloatArray, second: FloatArray) -> FloatArray:
    """A map after which both covariances are diagonal."""
    root = np.linalg.cholesky(first)
    inner = np.linalg.solve(root, np.linalg.solve(root, second).T)
    _, directions = np.linalg.eigh((inner + inner.T) / 2.0)
    found: FloatArray = np.linalg.solve(root.T, directions)
    return found


def _diagonal_moments(
    u: FloatArray, labels: IntArray, share: FloatArray, shrinkage: float
) -> tuple[FloatArray, FloatArray]:
    """Means of two classes and variances, of which a share is that of both classes."""
    means = np.stack([np.average(u[labels == k], axis=0, weights=share[labels == k]) for k in (0, 1)])
    own = np.stack([np.average((u[labels == k] - means[k]) ** 2, axis=0, weights=share[labels == k]) for k in (0, 1)])
    own = np.maximum(own, _FLOOR * own.max())
    return means, (1.0 - shrinkage) * own + shrinkage * own.mean(axis=0)


def _discriminants(
    a: FloatArray, labels: IntArray, counts: list[int], whiten: FloatArray, effects: FloatArray
) -> tuple[FloatArray, FloatArray, list[LatentClasses]]:
    """Rotate whitened coordinates so that class means differ only in the first ones: in the LLR for two classes."""
    width = len(whiten)
    blocks = np.split(effects, np.cumsum(counts)[:-1])
    sides = np.concatenate([block[1:] - block[0] for block in blocks])
    frame, _ = np.linalg.qr(np.concatenate([sides.T, np.eye(width)], axis=1))
    rotate = frame[:, :width]
    turn = whiten @ rotate
    evidence, start = [], 0
    for block in blocks:
        part = slice(start, start + len(block) - 1)
        start = part.stop
        means = (block - block.mean(axis=0)) @ rotate[:, part]
        if len(block) == 2:
            half = float(means[1, 0])
            half = half if abs(half) > _LEAST_HALF else _LEAST_HALF
            turn[:, part] *= 2.0 * half
            evidence.append(LatentClasses.binary(2.0 * half**2))
        else:
            evidence.append(LatentClasses(means, 1.0))
    u = a @ turn
    shift, start = np.zeros(width), 0
    for k, column in zip(counts, labels.T, strict=True):
        part = slice(start, start + k - 1)
        start = part.stop
        shift[part] = np.mean([u[column == label][:, part].mean(axis=0) for label in range(k)], axis=0)
    return turn, shift, evidence

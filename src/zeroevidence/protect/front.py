"""The linear front of the flow: standardise, order by principal component, rotate the discriminants to the front.

In its coordinates the classes already lie where the latent densities expect them under the linear Gaussian model. So a
flow that is still the identity equals linear discriminant analysis. The front has an exact inverse. The flow works on
the leading coordinates; the others, the complement, are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.protect.latent import Evidence, simplex

FrontKind = Literal["lda", "pca", "none"]
_FLOOR = 1e-6  # of the largest variance: a direction with less counts as having none
_LEAST_HALF = 1e-3  # of the distance between two classes: a coordinate must not be scaled to nothing


@dataclass(frozen=True, slots=True, eq=False)
class Front:
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
        kind: FrontKind,
        components: int,
        shrinkage: float,
        mu: float,
    ) -> tuple[Front, list[Evidence]]:
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
        start = [Evidence.binary(mu) if k == 2 else Evidence(simplex(k, np.sqrt(2.0 * mu)), 1.0) for k in counts]
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


def _wide_enough(front: Front, needed: int) -> Front:
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


def _discriminants(
    a: FloatArray, labels: IntArray, counts: list[int], whiten: FloatArray, effects: FloatArray
) -> tuple[FloatArray, FloatArray, list[Evidence]]:
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
            evidence.append(Evidence.binary(2.0 * half**2))
        else:
            evidence.append(Evidence(means, 1.0))
    u = a @ turn
    shift, start = np.zeros(width), 0
    for k, column in zip(counts, labels.T, strict=True):
        part = slice(start, start + k - 1)
        start = part.stop
        shift[part] = np.mean([u[column == label][:, part].mean(axis=0) for label in range(k)], axis=0)
    return turn, shift, evidence

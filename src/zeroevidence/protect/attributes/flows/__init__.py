"""Class densities in the latent space of the flow, where their evidence vanishes; the linear map before the flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes.moments import LabelledVectors, StoredArrays, evidence


@dataclass(frozen=True, slots=True, eq=False)
class LatentClasses:
    r"""Class densities :math:`N(m_k, v I)` over the coordinates of one attribute.

    With two classes the first coordinate is the log-likelihood ratio, :math:`N(\pm\mu, 2\mu)` [Noé et al. 2022, eqs.
    2-3]. With more there are K - 1 coordinates, one mean per class and unit variance; there is no evidence at the
    circumcentre of the means, where all K likelihoods are equal. All other coordinates are :math:`N(0, 1)` whatever the
    class.

    Parameters
    ----------
    means
        One row per class, K x (K - 1).
    variance
        Of every coordinate.
    """

    means: FloatArray
    variance: float

    @classmethod
    def binary(cls, mu: float) -> Self:
        """Return the densities of a calibrated LLR in favour of the second of two classes."""
        return cls(np.array([[-mu], [mu]]), 2.0 * mu)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    @property
    def width(self) -> int:
        """Number of coordinates, which come first and alone hold evidence about the classes."""
        return int(self.means.shape[1])

    @property
    def mu(self) -> float:
        """Mean evidence for the true class against another, in nats: for two classes the mean of the LLR."""
        gaps = ((self.means[:, None] - self.means) ** 2).sum(axis=2)[np.triu_indices(self.classes, 1)]
        return float(0.5 * gaps.mean() / self.variance)

    def log_likelihoods(self, z: FloatArray) -> FloatArray:
        """Return the log-likelihood of each class, n x K, without the terms that all classes share."""
        return np.asarray((z @ self.means.T - 0.5 * (self.means**2).sum(axis=1)) / self.variance)

    def llr(self, z: FloatArray) -> FloatArray:
        """Return the LLR of the second of two classes, or of each of K classes against the others, n x K."""
        return evidence(self.log_likelihoods(z))

    def placed(self, log_likelihoods: FloatArray) -> FloatArray:
        """Return where rows must move for these log-likelihoods of the classes, up to one constant per row."""
        logs = np.atleast_2d(np.asarray(log_likelihoods, dtype=np.float64))
        offset = 0.5 * (self.means**2).sum(axis=1) / self.variance
        sides = (self.means[1:] - self.means[0]) / self.variance
        right = (logs + offset)[:, 1:] - (logs + offset)[:, :1]
        try:
            coordinates: FloatArray = np.linalg.solve(sides, right.T).T
        except np.linalg.LinAlgError:
            raise InputError("the class means do not span their space, so no point is equally likely in all") from None
        return coordinates


def simplex(classes: int, distance: float) -> FloatArray:
    """Return K means in K - 1 dimensions at the same distance from each other."""
    corners = np.eye(classes) - 1.0 / classes
    _, _, axes = np.linalg.svd(corners)
    return np.asarray(corners @ axes[: classes - 1].T * (distance / np.sqrt(2.0)))


def class_log_likelihoods(llr: Any, classes: int, rows: int) -> FloatArray:
    """Return log-likelihoods of each class from the evidence to set, for all vectors or for each.

    Examples
    --------
    >>> class_log_likelihoods(2.0, classes=2, rows=5).tolist()
    [0.0, 2.0]
    """
    logs = np.asarray(llr, dtype=np.float64)
    if not np.isfinite(logs).all():
        raise InputError("evidence to set: expected finite numbers")
    if classes == 2:
        if logs.shape not in ((), (rows,)):
            raise InputError(f"evidence to set: expected one number or {rows}, got shape {logs.shape}")
        logs = np.stack([np.zeros(logs.shape), logs], axis=-1)
    if logs.shape not in ((classes,), (rows, classes)):
        raise InputError(
            f"evidence to set: expected {classes} numbers, one per class, or {rows} times that many, got shape "
            f"{np.shape(llr)}"
        )
    return logs


LinearMapKind = Literal["lda", "pca", "none"]
_FLOOR = 1e-6  # of the largest variance: a direction with less counts as having none
_LEAST_HALF = 1e-3  # of the distance between two classes: a coordinate must not be scaled to nothing


@dataclass(frozen=True, slots=True, eq=False)
class LinearMap(StoredArrays):
    """Coordinates ``((x - mean) / scale) @ basis``, of which the first `width` are then rotated, scaled and shifted.

    In its coordinates the classes already lie where the latent densities expect them under the linear Gaussian model.
    So a flow that is still the identity equals linear discriminant analysis. The map has an exact inverse. The flow
    works on the leading coordinates; the others, the complement, are left as they are.
    """

    mean: FloatArray
    scale: FloatArray
    basis: FloatArray  # d x d, orthonormal
    turn: FloatArray  # width x width
    shift: FloatArray  # width

    @classmethod
    def fit(
        cls, data: LabelledVectors, kind: LinearMapKind, components: int, shrinkage: float, mu: float
    ) -> tuple[LinearMap, list[LatentClasses]]:
        """Fit to weighted vectors; the discriminants of the attributes come in the order of the columns of labels.

        Returns
        -------
        The map and, for each attribute, the class densities to start from: those of the linear model for ``lda``;
        otherwise those given by `mu` for two classes, and means at equal distances for more.
        """
        x, labels = data.x, data.labels
        share = data.weights / data.weights.sum()
        mean = share @ x
        scale = np.sqrt(share @ (x - mean) ** 2)
        scale = np.where(scale > 0.0, scale, 1.0)
        counts = [int(column.max()) + 1 for column in labels.T]
        discriminants = sum(counts) - len(counts)
        dimension = x.shape[1]
        start = [
            LatentClasses.binary(mu) if k == 2 else LatentClasses(simplex(k, np.sqrt(2.0 * mu)), 1.0) for k in counts
        ]
        if kind == "none":
            linear_map = cls(mean, scale, np.eye(dimension), np.eye(dimension), np.zeros(dimension))
            return _wide_enough(linear_map, discriminants), start
        standard = (x - mean) / scale
        values, basis = np.linalg.eigh((standard * share[:, None]).T @ standard)
        values, basis = values[::-1], basis[:, ::-1]
        width = min(components, int(np.count_nonzero(values > _FLOOR * values[0])))
        linear_map = cls(mean, scale, basis, np.diag(1.0 / np.sqrt(values[:width])), np.zeros(width))
        _wide_enough(linear_map, discriminants)
        if kind == "pca":
            return linear_map, start
        a = standard @ basis[:, :width]
        whiten, effects = _whitening(a, labels, counts, share, shrinkage)
        turn, shift, latent = _discriminants(a, labels, counts, whiten, effects)
        return cls(mean, scale, basis, turn, shift), latent

    @property
    def width(self) -> int:
        """Number of coordinates that the flow works on."""
        return len(self.shift)

    def forward(self, x: FloatArray) -> FloatArray:
        """Return all coordinates of vectors."""
        u: FloatArray = ((x - self.mean) / self.scale) @ self.basis
        u[:, : self.width] = u[:, : self.width] @ self.turn - self.shift
        return u

    def inverse(self, u: FloatArray) -> FloatArray:
        """Return the vectors with these coordinates."""
        inner = np.linalg.solve(self.turn.T, (u[:, : self.width] + self.shift).T).T
        standard = np.concatenate([inner, u[:, self.width :]], axis=1) @ self.basis.T
        return standard * self.scale + self.mean


def _wide_enough(linear_map: LinearMap, discriminants: int) -> LinearMap:
    if linear_map.width < discriminants + 1 or linear_map.width < 2:
        raise InputError(
            f"{linear_map.width} dimension(s) that vary cannot hold {discriminants} discriminant(s) and a residual"
        )
    return linear_map


def _whitening(
    a: FloatArray, labels: IntArray, counts: list[int], share: FloatArray, shrinkage: float
) -> tuple[FloatArray, FloatArray]:
    """Return a map that makes the covariance within classes the identity, and the images of the class means."""
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
) -> tuple[FloatArray, FloatArray, list[LatentClasses]]:
    """Rotate whitened coordinates so that class means differ only in the first: in the LLR for two classes."""
    width = len(whiten)
    blocks = np.split(effects, np.cumsum(counts)[:-1])
    sides = np.concatenate([block[1:] - block[0] for block in blocks])
    frame, _ = np.linalg.qr(np.concatenate([sides.T, np.eye(width)], axis=1))
    rotate = frame[:, :width]
    turn = whiten @ rotate
    latent, start = [], 0
    for block in blocks:
        part = slice(start, start + len(block) - 1)
        start = part.stop
        means = (block - block.mean(axis=0)) @ rotate[:, part]
        if len(block) == 2:
            half = float(means[1, 0])
            half = half if abs(half) > _LEAST_HALF else _LEAST_HALF
            turn[:, part] *= 2.0 * half
            latent.append(LatentClasses.binary(2.0 * half**2))
        else:
            latent.append(LatentClasses(means, 1.0))
    u = a @ turn
    shift, start = np.zeros(width), 0
    for k, column in zip(counts, labels.T, strict=True):
        part = slice(start, start + k - 1)
        start = part.stop
        shift[part] = np.mean([u[column == label][:, part].mean(axis=0) for label in range(k)], axis=0)
    return turn, shift, latent

"""Class densities in the latent space of the flow, and the ways to where their evidence vanishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes.moments import evidence


@dataclass(frozen=True, slots=True, eq=False)
class _LatentDensities:
    """Densities of classes around their means, K x the coordinates that hold evidence about them."""

    means: FloatArray

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    @property
    def width(self) -> int:
        """Number of coordinates that hold evidence about the classes."""
        return int(self.means.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class LatentClasses(_LatentDensities):
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

    variance: float

    @classmethod
    def binary(cls, mu: float) -> Self:
        """Return the densities of a calibrated LLR in favour of the second of two classes."""
        return cls(np.array([[-mu], [mu]]), 2.0 * mu)

    @property
    def leading(self) -> int:
        """Number of coordinates that come first because they alone hold evidence about the classes."""
        return self.width

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

    def placed(self, z: FloatArray, log_likelihoods: FloatArray) -> FloatArray:  # noqa: ARG002
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


_FURTHEST = 64.0  # powers of T: what needs more is no vector of either class
_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class ClassGaussians(_LatentDensities):
    r"""Densities of two classes over all latent coordinates.

    Class k is :math:`N(m_k, \mathrm{diag}(v_k))`. The affine map T takes the first class to the second, and its powers
    :math:`T^t` are a group: vectors that one of them takes into each other lie on one curve, an orbit. What is the same
    all along an orbit has the same distribution in both classes, because T maps one class onto the other. So moving
    every vector along its orbit to the place where the evidence is zero leaves no evidence to any attacker. Where
    variances are equal, orbits are parallel lines and this is the method of Noé et al. 2022.

    Parameters
    ----------
    means
        One row for each class, 2 x w.
    variances
        One row for each class, 2 x w.

    Examples
    --------
    >>> wide = ClassGaussians(np.zeros((2, 1)), np.array([[1.0], [4.0]]))
    >>> moved = wide.moved(np.array([[-0.2], [3.0]]), 0.0)
    >>> moved.round(3).tolist(), wide.llr(moved).round(6).tolist()
    ([[-1.36], [1.36]], [0.0, 0.0])
    """

    variances: FloatArray

    @property
    def leading(self) -> int:
        """Number of coordinates that come first because they alone hold evidence: none, since all may."""
        return 0

    @property
    def mu(self) -> float:
        """Mean evidence for the true class, in nats, over both classes."""
        return float(self.coordinate_evidence().sum())

    def coordinate_evidence(self) -> FloatArray:
        """Return what each coordinate adds to the mean evidence, in nats."""
        ratio = self.variances[0] / self.variances[1]
        apart = (self.means[1] - self.means[0]) ** 2 * (1.0 / self.variances).sum(axis=0)
        return np.asarray(0.25 * (ratio + 1.0 / ratio - 2.0 + apart))

    def llr(self, z: FloatArray) -> FloatArray:
        """Return the LLR of the second class: a quadratic form."""
        first, second = (
            ((z - mean) ** 2 / variance + np.log(variance)).sum(axis=1)
            for mean, variance in zip(self.means, self.variances, strict=True)
        )
        return np.asarray(0.5 * (first - second))

    def along(self, z: FloatArray, power: FloatArray) -> FloatArray:
        """Return each row moved by a power of the map that takes the first class to the second."""
        stretch = 0.5 * np.log(self.variances[1] / self.variances[0])
        offset = self.means[1] - np.exp(stretch) * self.means[0]
        flat = np.abs(stretch) < 1e-12
        safe = np.where(flat, 1.0, stretch)
        exponent = power[:, None] * stretch
        share = np.where(flat, power[:, None], np.expm1(exponent) / np.expm1(safe))
        return np.asarray(np.exp(exponent) * z + share * offset)

    def placed(self, z: FloatArray, log_likelihoods: FloatArray) -> FloatArray:
        """Return where to move rows so that the classes have these log-likelihoods, up to one constant per row."""
        logs = np.atleast_2d(np.asarray(log_likelihoods, dtype=np.float64))
        return self.moved(z, logs[:, 1] - logs[:, 0])

    def moved(self, z: FloatArray, llr: FloatArray | float) -> FloatArray:
        """Return each row moved along its orbit to where it has the given evidence; NaN where there is none."""
        target = np.broadcast_to(np.asarray(llr, dtype=np.float64), len(z))

        def above(power: FloatArray) -> FloatArray:
            return self.llr(self.along(z, power)) - target

        start = above(np.zeros(len(z)))
        sign = np.where(start < 0.0, 1.0, -1.0)  # evidence rises with the power
        near, far = np.zeros(len(z)), 0.5 * sign
        with np.errstate(over="ignore", invalid="ignore"):
            while True:
                short = sign * above(far) < 0.0
                if not short.any() or abs(far[short]).max() >= _FURTHEST:
                    break
                near = np.where(short, far, near)
                far = np.where(short, 2.0 * far, far)
            far = np.where(short, np.nan, far)
            for _ in range(_HALVINGS):
                middle = 0.5 * (near + far)
                short = sign * above(middle) < 0.0
                near, far = np.where(short, middle, near), np.where(short, far, middle)
        return self.along(z, np.where(start == 0.0, 0.0, far))

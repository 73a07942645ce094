"""Class densities in the latent space of the flow, and where their evidence vanishes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes.moments import evidence


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

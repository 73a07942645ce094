r"""Where the classes of an attribute lie in the latent space, and what that means for evidence.

With two classes the first coordinate is the log-likelihood ratio, :math:`N(\pm\mu, 2\mu)` [Noé et al. 2022, eqs. 2-3].
With more there are K - 1 coordinates, one mean per class and unit variance; there is no evidence at the circumcentre of
the means, where all K likelihoods are equal. All other coordinates are :math:`N(0, 1)` whatever the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class LatentClasses:
    """Class densities :math:`N(m_k, v I)` over the coordinates of one attribute.

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
        """The coordinate of a calibrated LLR in favour of the second class."""
        return cls(np.array([[-mu], [mu]]), 2.0 * mu)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.means)

    @property
    def width(self) -> int:
        """Number of coordinates that tell about the classes."""
        return int(self.means.shape[1])

    @property
    def leading(self) -> int:
        """How many coordinates stand before all others because they alone tell about the classes."""
        return self.width

    @property
    def mu(self) -> float:
        """Mean evidence for the true class against another, in nats: for two classes the mean of the LLR."""
        gaps = ((self.means[:, None] - self.means) ** 2).sum(axis=2)[np.triu_indices(self.classes, 1)]
        return float(0.5 * gaps.mean() / self.variance)

    def log_likelihoods(self, z: FloatArray) -> FloatArray:
        """Log-likelihood of each class, n x K, without the terms that all classes share."""
        found: FloatArray = (z @ self.means.T - 0.5 * (self.means**2).sum(axis=1)) / self.variance
        return found

    def llr(self, z: FloatArray) -> FloatArray:
        """Evidence for the second of two classes; or for each of K classes against the mean of the others, n x K."""
        found = self.log_likelihoods(z)
        return found[:, 1] - found[:, 0] if self.classes == 2 else against_others(found)

    def point(self, log_likelihoods: FloatArray) -> FloatArray:
        """Coordinates at which the classes have these log-likelihoods, up to one constant per row; n x (K - 1)."""
        wanted = np.atleast_2d(np.asarray(log_likelihoods, dtype=np.float64))
        offset = 0.5 * (self.means**2).sum(axis=1) / self.variance
        sides = (self.means[1:] - self.means[0]) / self.variance
        right = (wanted + offset)[:, 1:] - (wanted + offset)[:, :1]
        try:
            found: FloatArray = np.linalg.solve(sides, right.T).T
        except np.linalg.LinAlgError:
            raise InputError("the class means do not span their space, so no point is equally likely in all") from None
        return found

    def placed(self, z: FloatArray, log_likelihoods: FloatArray) -> FloatArray:  # noqa: ARG002 (all go to one place)
        """Where to move rows so that the classes have these log-likelihoods, up to one constant per row."""
        return self.point(log_likelihoods)

    def centre(self) -> FloatArray:
        """The circumcentre, where all classes are equally likely."""
        found: FloatArray = self.point(np.zeros(self.classes))[0]
        return found


def against_others(log_likelihoods: FloatArray) -> FloatArray:
    """LLR of each class against the mean likelihood of all others."""
    count = log_likelihoods.shape[1]
    others = np.stack(
        [np.logaddexp.reduce(np.delete(log_likelihoods, k, axis=1), axis=1) for k in range(count)], axis=1
    ) - np.log(count - 1.0)
    llr: FloatArray = log_likelihoods - others
    return llr


def simplex(classes: int, distance: float) -> FloatArray:
    """K means in K - 1 dimensions, each that far from every other."""
    corners = np.eye(classes) - 1.0 / classes
    _, _, axes = np.linalg.svd(corners)
    spread: FloatArray = corners @ axes[: classes - 1].T * (distance / np.sqrt(2.0))
    return spread


def class_log_likelihoods(llr: Any, classes: int, rows: int) -> FloatArray:
    """Log-likelihoods of each class from the evidence that is asked for, for all vectors or for each.

    Examples
    --------
    >>> class_log_likelihoods(2.0, classes=2, rows=5).tolist()
    [0.0, 2.0]
    """
    wanted = np.asarray(llr, dtype=np.float64)
    if not np.isfinite(wanted).all():
        raise InputError("evidence to set: expected finite numbers")
    if classes == 2:
        if wanted.shape not in ((), (rows,)):
            raise InputError(f"evidence to set: expected one number or {rows}, got shape {wanted.shape}")
        wanted = np.stack([np.zeros(wanted.shape), wanted], axis=-1)
    if wanted.shape not in ((classes,), (rows, classes)):
        raise InputError(
            f"evidence to set: expected {classes} numbers, one per class, or {rows} times that many, got shape "
            f"{np.shape(llr)}"
        )
    return wanted

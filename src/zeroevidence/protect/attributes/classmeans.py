"""Class-means protector: removes the directions in which the class means differ."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import class_means
from zeroevidence.protect.attributes.shared.evidence import evidence
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector

_RANK = 1e-9  # of the longest side


@register_protector("Puts vectors halfway between the class means, along the lines that join them.")
class ClassMeans(EmbeddingProtector):
    """Remove the directions in which the class means differ; covariances are ignored.

    The parameters are those of `EmbeddingProtector`.

    Attributes
    ----------
    means_
        The class means, K x d.
    basis_
        The directions in which they differ, orthonormal, d x (K - 1).

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import ClassMeans
    >>> x = np.array([[-3.0, 1.0], [-1.0, 0.0], [-2.0, -1.0], [2.0, 1.0], [1.0, 0.0], [3.0, -1.0]])
    >>> ClassMeans().fit(x, ["f", "f", "f", "m", "m", "m"]).transform(x).round(6).tolist()[:2]
    [[0.0, 1.0], [0.0, 0.0]]
    """

    kind = "classmeans"

    def _fit(self, data: LabelledVectors) -> None:
        self.means_ = class_means(data)
        centred = data.x - self.means_[data.labels[:, 0]]
        self.variance_ = float(np.average((centred**2).mean(axis=1), weights=data.weights))
        self._span()

    def _span(self) -> None:
        """Compute the directions from the means."""
        centred = self.means_ - self.means_.mean(axis=0)
        _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
        self.basis_ = directions[sizes > _RANK * max(sizes[0], np.finfo(float).tiny)].T

    def _transform(self, x: FloatArray) -> FloatArray:
        centre = self.means_.mean(axis=0)
        moved: FloatArray = x - ((x - centre) @ self.basis_) @ self.basis_.T
        return moved

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence of Gaussian classes with one isotropic covariance."""
        logs = (x @ self.means_.T - 0.5 * (self.means_**2).sum(axis=1)) / max(self.variance_, np.finfo(float).tiny)
        return evidence(logs)

    def _arrays(self) -> dict[str, FloatArray]:
        return {"means": self.means_, "variance": np.array([self.variance_])}

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.means_, self.variance_ = arrays["means"], float(arrays["variance"][0])
        self._span()

"""INLP protector: iterative null-space projection [Ravfogel et al. 2020]."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence._typing import FloatArray
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.nullspace import classifier_directions
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector


@register_protector("Removes the direction of a linear classifier, trains another on the rest, and so on (INLP).")
@dataclass(kw_only=True, eq=False, repr=False)
class Inlp(EmbeddingProtector):
    """Remove the directions of a sequence of linear classifiers.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    directions
        How many directions to remove; at least one remains.

    Attributes
    ----------
    basis_
        The directions that are removed, orthonormal, d x at most `directions`.
    centre_
        Where vectors are put along them.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Inlp
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0, 1], 50)
    >>> x = rng.normal(size=(100, 6)) + np.outer(sex, [2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> inlp = Inlp(directions=2).fit(x, sex)
    >>> inlp.basis_.shape, np.linalg.matrix_rank(inlp.transform(x) - inlp.centre_)
    ((6, 2), np.int64(4))
    """

    kind = "inlp"
    array_names = ("basis", "centre")
    record_types = (("discriminants", LinearDiscriminants),)

    directions: int = 10

    def _fit(self, data: LabelledVectors) -> None:
        self._check_at_least(directions=1)
        most = min(self.directions, data.x.shape[1] - 1)
        self.basis_, self.centre_, self.discriminants_ = classifier_directions(data, most)

    def _transform(self, x: FloatArray) -> FloatArray:
        moved: FloatArray = x - ((x - self.centre_) @ self.basis_) @ self.basis_.T
        return moved

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence of the first classifier."""
        return self.discriminants_.llr(x)

"""Iterative null-space projection [Ravfogel et al. 2020]: one linear classifier after another is made blind."""

from __future__ import annotations

from typing import ClassVar

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.noise import NoiseShape
from zeroevidence.protect.attributes.shared.nullspace import classifier_directions
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector


@register_protector("Removes the direction of a linear classifier, trains another on the rest, and so on (INLP).")
class Inlp(EmbeddingProtector):
    """Project vectors onto what a row of linear classifiers do not use.

    Parameters
    ----------
    directions
        How many directions to remove; at least one remains.
    noise, noise_shape, noise_seed
        See `EmbeddingProtector`.

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

    kind: ClassVar[str] = "inlp"

    def __init__(
        self,
        *,
        directions: int = 10,
        noise: float = 0.0,
        noise_shape: NoiseShape = "within",
        noise_seed: int | None = None,
    ) -> None:
        super().__init__(noise=noise, noise_shape=noise_shape, noise_seed=noise_seed)
        self.directions = directions

    def _fit(self, data: LabelledVectors) -> None:
        if self.directions < 1:
            raise UsageError(f"directions: expected at least 1, got {self.directions}")
        most = min(self.directions, data.x.shape[1] - 1)
        self.basis_, self.centre_, self.discriminants_ = classifier_directions(data, most)

    def _transform(self, x: FloatArray) -> FloatArray:
        moved: FloatArray = x - ((x - self.centre_) @ self.basis_) @ self.basis_.T
        return moved

    def _llr(self, x: FloatArray) -> FloatArray:
        """That of the first classifier."""
        return self.discriminants_.llr(x)

    def _arrays(self) -> dict[str, FloatArray]:
        return {"basis": self.basis_, "centre": self.centre_, **self.discriminants_.arrays()}

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.basis_, self.centre_ = arrays["basis"], arrays["centre"]
        self.discriminants_ = LinearDiscriminants.of(arrays)

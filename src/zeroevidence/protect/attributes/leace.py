r"""Least-squares concept erasure [Belrose et al. 2023]: the smallest change after which no linear classifier learns.

With the whitening :math:`W = \Sigma_{xx}^{-1/2}` and P the orthogonal projection onto the columns of
:math:`W \Sigma_{xz}`, where z says the class, vectors become :math:`x - W^+ P W (x - \bar x)`. Then no entry is
correlated with the class.
"""

from __future__ import annotations

from typing import ClassVar

from zeroevidence._typing import FloatArray
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants, linear_discriminants
from zeroevidence.protect.attributes.shared.erasing import Eraser, eraser
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import Shrinkage
from zeroevidence.protect.attributes.shared.noise import NoiseShape
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector


@register_protector("Removes all correlation with the class by the smallest change (LEACE).")
class Leace(EmbeddingProtector):
    """Erase what any linear classifier could learn, and change vectors as little as possible.

    Parameters
    ----------
    shrinkage
        Share of the covariance that is replaced by a multiple of the identity with the same trace; ``auto`` takes the
        share of Ledoit & Wolf. The correlation vanishes with any share.
    noise, noise_shape, noise_seed
        See `EmbeddingProtector`.

    Attributes
    ----------
    mean_
        The centre that stays where it is.
    left_, right_
        Vectors become ``x - (x - mean_) @ right_ @ left_``; d x (K - 1), and (K - 1) x d.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Leace
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0, 1], 50)
    >>> x = rng.normal(size=(100, 4)) + np.outer(sex, [2.0, 1.0, 0.0, 0.0])
    >>> protected = Leace().fit(x, sex).transform(x)
    >>> bool(np.allclose(protected[sex == 0].mean(axis=0), protected[sex == 1].mean(axis=0)))
    True
    """

    kind: ClassVar[str] = "leace"

    def __init__(
        self,
        *,
        shrinkage: Shrinkage = "auto",
        noise: float = 0.0,
        noise_shape: NoiseShape = "within",
        noise_seed: int | None = None,
    ) -> None:
        super().__init__(noise=noise, noise_shape=noise_shape, noise_seed=noise_seed)
        self.shrinkage = shrinkage

    def _fit(self, data: LabelledVectors) -> None:
        found = eraser(data, self.shrinkage)
        self.mean_, self.right_, self.left_ = found.mean, found.right, found.left
        self.discriminants_, _ = linear_discriminants(data, self.shrinkage)

    def _transform(self, x: FloatArray) -> FloatArray:
        return Eraser(self.mean_, self.right_, self.left_)(x)

    def _llr(self, x: FloatArray) -> FloatArray:
        """Of Gaussian classes with one covariance."""
        return self.discriminants_.llr(x)

    def _arrays(self) -> dict[str, FloatArray]:
        return {"mean": self.mean_, "right": self.right_, "left": self.left_, **self.discriminants_.arrays()}

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.mean_, self.right_, self.left_ = arrays["mean"], arrays["right"], arrays["left"]
        self.discriminants_ = LinearDiscriminants.of(arrays)

r"""LEACE protector: least-squares concept erasure [Belrose et al. 2023].

With the whitening :math:`W = \Sigma_{xx}^{-1/2}` and P the orthogonal projection onto the columns of
:math:`W \Sigma_{xz}`, where z indicates the class, vectors become :math:`x - W^+ P W (x - \bar x)`. Then no entry is
correlated with the class, and no linear classifier can learn it.
"""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence._typing import FloatArray
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants, linear_discriminants
from zeroevidence.protect.attributes.shared.erasing import Eraser, fit_eraser
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import Shrinkage
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector


@register_protector("Removes all correlation with the class by the smallest change (LEACE).")
@dataclass(kw_only=True, eq=False, repr=False)
class Leace(EmbeddingProtector):
    """Erase what any linear classifier could learn, and change vectors as little as possible.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    shrinkage
        Share of the covariance that is replaced by a multiple of the identity with the same trace; ``auto`` takes the
        share of Ledoit & Wolf. The correlation vanishes with any share.

    Attributes
    ----------
    eraser_
        Vectors become ``x - (x - mean) @ right @ left``.

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

    kind = "leace"
    record_types = (("eraser", Eraser), ("discriminants", LinearDiscriminants))

    shrinkage: Shrinkage = "auto"

    def _fit(self, data: LabelledVectors) -> None:
        self.eraser_ = fit_eraser(data, self.shrinkage)
        self.discriminants_, _ = linear_discriminants(data, self.shrinkage)

    def _transform(self, x: FloatArray) -> FloatArray:
        return self.eraser_(x)

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence of Gaussian classes with one covariance."""
        return self.discriminants_.llr(x)

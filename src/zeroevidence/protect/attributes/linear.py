r"""Linear protector: linear discriminants are set to the values at which all classes are equally likely.

For two classes it is eq. 8 of [Noé et al. 2022]: with :math:`w = \Sigma_W^{-1}(\mu_1 - \mu_0)` the log-likelihood
ratio of Gaussian classes with one covariance is :math:`w'x - c`, :math:`c = \tfrac{1}{2} w'(\mu_0 + \mu_1)`, and
vectors move along w until it is zero. For more classes w becomes a matrix of K - 1 columns, and vectors move to the
circumcentre of the class means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants, linear_discriminants
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import Shrinkage
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector


@register_protector("Moves vectors along the linear discriminants until the evidence of Gaussian classes vanishes.")
@dataclass(kw_only=True, eq=False, repr=False)
class LinearNuller(EmbeddingProtector):
    """Remove the evidence of Gaussian classes with one covariance, which is linear.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    shrinkage
        Share of the covariance within classes that is replaced by a multiple of the identity with the same trace;
        ``auto`` takes the share of Ledoit & Wolf. The published baseline has none (0).

    Attributes
    ----------
    shrinkage_
        The share that was replaced.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import LinearNuller
    >>> x = np.array([[-3.0, 1.0], [-1.0, 0.0], [-2.0, -1.0], [2.0, 1.0], [1.0, 0.0], [3.0, -1.0]])
    >>> sex = ["f", "f", "f", "m", "m", "m"]
    >>> nuller = LinearNuller().fit(x, sex)
    >>> nuller.llr(x).round(1).tolist()
    [-20.0, -8.0, -20.0, 20.0, 8.0, 20.0]
    >>> protected = nuller.transform(x)
    >>> bool(np.allclose(nuller.llr(protected), 0.0))
    True
    """

    kind = "linear"
    record_types = (("discriminants", LinearDiscriminants),)

    shrinkage: Shrinkage = 0.0

    def _fit(self, data: LabelledVectors) -> None:
        self.discriminants_, self.shrinkage_ = linear_discriminants(data, self.shrinkage)

    @property
    def directions_(self) -> FloatArray:
        """The discriminants, d x (K - 1)."""
        return self.discriminants_.directions

    @property
    def offsets_(self) -> FloatArray:
        """The values they are set to."""
        return self.discriminants_.offsets

    def _llr(self, x: FloatArray) -> FloatArray:
        return self.discriminants_.llr(x)

    def _transform(self, x: FloatArray) -> FloatArray:
        w = self.directions_
        step, *_ = np.linalg.lstsq(w.T @ w, (x @ w - self.offsets_).T, rcond=None)
        moved: FloatArray = x - (w @ step).T
        return moved

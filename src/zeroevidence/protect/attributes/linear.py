r"""The linear baseline: linear discriminants, set to the values at which all classes are equally likely.

For two classes it is eq. 8 of [Noé et al. 2022]: with :math:`w = \Sigma_W^{-1}(\mu_1 - \mu_0)` the log-likelihood
ratio of Gaussian classes with one covariance is :math:`w'x - c`, :math:`c = \tfrac{1}{2} w'(\mu_0 + \mu_1)`, and
vectors move along w until it is zero. For more classes w becomes a matrix of K - 1 columns, and vectors move to the
circumcentre of the class means.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes import protector
from zeroevidence.protect.latent import against_others
from zeroevidence.protect.transformers import EmbeddingProtector, Training


@protector("Moves vectors along the linear discriminants until the evidence of Gaussian classes vanishes.")
class LinearNuller(EmbeddingProtector):
    """Remove what a linear classifier sees that assumes Gaussian classes with one covariance.

    Parameters
    ----------
    shrinkage
        Share of the covariance within classes that is replaced by a multiple of the identity with the same trace;
        ``auto`` takes the share of Ledoit & Wolf. The published baseline has none (0).

    Attributes
    ----------
    directions_
        The discriminants, d x (K - 1).
    offsets_
        The values they are set to.

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

    kind: ClassVar[str] = "linear"

    def __init__(self, *, shrinkage: float | Literal["auto"] = 0.0) -> None:
        self.shrinkage = shrinkage

    def _fit(self, data: Training) -> None:
        labels, share = data.labels[:, 0], data.weights / data.weights.sum()
        means = np.stack(
            [share[labels == k] @ data.x[labels == k] / share[labels == k].sum() for k in range(len(self.classes_))]
        )
        inside = data.x - means[labels]
        within = (inside * share[:, None]).T @ inside
        if self.shrinkage == "auto":
            from sklearn.covariance import ledoit_wolf_shrinkage

            level = float(ledoit_wolf_shrinkage(inside, assume_centered=True))
        elif 0.0 <= self.shrinkage <= 1.0:
            level = float(self.shrinkage)
        else:
            raise UsageError(f"shrinkage: expected auto, or a share from 0 to 1, got {self.shrinkage!r}")
        within = (1.0 - level) * within + level * np.trace(within) / len(within) * np.eye(len(within))
        inverse = np.linalg.pinv(within, hermitian=True)
        self.shrinkage_ = level
        self.directions_ = inverse @ (means[1:] - means[0]).T
        # log-likelihoods of the classes against that of the first
        squares = np.einsum("kd,de,ke->k", means, inverse, means)
        self.offsets_ = 0.5 * (squares[1:] - squares[0])

    def _llr(self, x: FloatArray) -> FloatArray:
        against_first = x @ self.directions_ - self.offsets_
        if len(self.classes_) == 2:
            llr: FloatArray = against_first[:, 0]
            return llr
        return against_others(np.concatenate([np.zeros((len(against_first), 1)), against_first], axis=1))

    def _transform(self, x: FloatArray) -> FloatArray:
        w = self.directions_
        step, *_ = np.linalg.lstsq(w.T @ w, (x @ w - self.offsets_).T, rcond=None)
        moved: FloatArray = x - (w @ step).T
        return moved

    def _arrays(self) -> dict[str, FloatArray]:
        return {"directions": self.directions_, "offsets": self.offsets_}

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.directions_, self.offsets_ = arrays["directions"], arrays["offsets"]

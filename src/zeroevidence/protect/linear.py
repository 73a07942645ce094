r"""The linear baseline: linear discriminant analysis, and the discriminants put where all classes are equally likely.

For two classes it is eq. 8 of [Noé et al. 2022]: with :math:`w = \Sigma_W^{-1}(\mu_1 - \mu_0)` the log-likelihood
ratio under Gaussian classes of one covariance is :math:`w'x - c`, :math:`c = \tfrac{1}{2} w'(\mu_0 + \mu_1)`, and
vectors move along w until it is zero. For more classes w becomes a matrix of K - 1 columns, and the point the
circumcentre of the class means.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.latent import against_others
from zeroevidence.protect.transformers import EmbeddingProtector, Training


class LinearNuller(EmbeddingProtector):
    """Remove what a linear classifier with Gaussian classes of one covariance sees.

    Parameters
    ----------
    shrinkage
        Share of the covariance within classes that is replaced by a multiple of the identity with the same trace;
        ``auto`` takes that of Ledoit & Wolf. The published baseline has none (0).

    Attributes
    ----------
    directions_
        The discriminants, d x (K - 1).
    offsets_
        What they are set to.
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

    def llr(self, X: Any) -> FloatArray:
        """Evidence in favour of ``classes_[1]``; for more than two classes of each against the others, n x K."""
        against_first = self._checked(X) @ self.directions_ - self.offsets_
        if len(self.classes_) == 2:
            llr: FloatArray = against_first[:, 0]
            return llr
        return against_others(np.concatenate([np.zeros((len(against_first), 1)), against_first], axis=1))

    def transform(self, X: Any) -> FloatArray:
        """Vectors moved along the discriminants until the evidence is nil."""
        x = self._checked(X)
        w = self.directions_
        step, *_ = np.linalg.lstsq(w.T @ w, (x @ w - self.offsets_).T, rcond=None)
        moved: FloatArray = x - (w @ step).T
        return moved

    def _arrays(self) -> dict[str, FloatArray]:
        return {"directions": self.directions_, "offsets": self.offsets_}

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.directions_, self.offsets_ = arrays["directions"], arrays["offsets"]

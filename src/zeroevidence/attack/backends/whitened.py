r"""Cosine after within-class whitening: directions in which one person's recordings differ count less.

Within-class covariance normalisation [Hatch et al. 2006], shrunk towards a sphere because training people are few, and
linear discriminants before it where asked for. Against protected speech this is what a protection drawn anew for each
recording calls for: what the protection changes is spread within people, and whitening takes it out.
"""

from __future__ import annotations

from typing import Self

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.backends.backend import BACKENDS, BackendKind
from zeroevidence.attack.backends.plda import Shrinkage, covariances, diagonalise
from zeroevidence.attack.backends.vectors import VectorEstimator, as_matrix, unit
from zeroevidence.errors import UsageError


class Whitened(VectorEstimator):
    """Cosine of the angle between profile and trial after within-class whitening.

    Parameters
    ----------
    shrinkage
        Share of the within-class covariance that is replaced by a multiple of the identity; ``auto`` takes that of
        Ledoit & Wolf. At 1 the scores are plain cosines.
    lda
        Discriminant directions to keep, at most speakers - 1; None for all directions.

    Examples
    --------
    Recordings of one person differ along the first axis only, so the second decides:

    >>> import numpy as np
    >>> train = np.array([[-5.0, 1.0], [5.0, 1.1], [-5.0, -1.0], [5.0, -1.1], [-4.0, 0.1], [4.0, -0.1]])
    >>> whitened = Whitened(shrinkage=0.01).fit(train, np.repeat(["ada", "bob", "cyd"], 2))
    >>> scores = whitened.score(np.array([[4.0, 1.0], [-4.0, -1.0]]), np.array([[-4.0, 1.0]]))
    >>> (scores > 0.5).tolist()
    [[True, False]]
    """

    def __init__(self, *, shrinkage: Shrinkage = "auto", lda: int | None = None) -> None:
        self.shrinkage = shrinkage
        self.lda = lda

    @property
    def name(self) -> str:
        """Name in tables."""
        return "whitened" if self.lda is None else f"whitened-lda{self.lda}"

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Learn centre and directions."""
        x = as_matrix(vectors)
        model = covariances(x, speakers, shrinkage=self.shrinkage)
        axes, _ = diagonalise(model.between, model.within)
        if self.lda is not None and not 1 <= self.lda <= x.shape[1]:
            raise UsageError(f"lda: expected 1 to {x.shape[1]} directions, got {self.lda}")
        self.mean_ = model.mean
        self.axes_ = axes if self.lda is None else axes[:, : self.lda]
        return self

    def score(self, enrol: FloatArray, trial: FloatArray) -> FloatArray:
        """Return cosines in the whitened space, T x N."""
        if not hasattr(self, "axes_"):
            raise UsageError("this back-end is not trained: call fit on training vectors first")
        x, y = ((as_matrix(v, len(self.mean_)) - self.mean_) @ self.axes_ for v in (trial, enrol))
        scores: FloatArray = unit(x) @ unit(y).T
        return scores


BACKENDS.add(
    BackendKind(
        "whitened",
        "Cosine where spread within a person counts less (WCCN, shrunk)",
        ("centre", "covariances"),
        Whitened,
    )
)

"""Cosine back-ends: plain, after within-class whitening, and with scores normalised by a cohort."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.backends import (
    BACKENDS,
    Backend,
    BackendKind,
    VectorEstimator,
    as_matrix,
    grouped,
    unfitted,
    unit,
)
from zeroevidence.attack.backends.plda import Plda, Shrinkage, covariances, diagonalise
from zeroevidence.errors import InputError, UsageError


class Cosine(VectorEstimator):
    """Cosine of the angle between profile and trial.

    Parameters
    ----------
    centre
        Subtract the mean of the training vectors first: embeddings often share a large common direction, which makes
        all cosines alike. The mean of the speakers' means is used, so that talkative speakers count no more.

    Attributes
    ----------
    mean_
        What is subtracted.

    Examples
    --------
    Two profiles in the rows of the first array, one trial in the second:

    >>> import numpy as np
    >>> from zeroevidence.attack.backends.cosine import Cosine
    >>> Cosine(centre=False).score(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0, 4.0]])).tolist()
    [[0.6, 0.8]]
    >>> train = np.array([[5.0, 1.0], [5.0, -1.0], [7.0, 0.0]])
    >>> cosine = Cosine().fit(train, np.array(["ada", "ada", "bob"]))
    >>> cosine.mean_.tolist()
    [6.0, 0.0]
    >>> cosine.score(np.array([[7.0, 0.0], [6.0, 2.0]]), np.array([[6.0, 1.0]])).tolist()
    [[0.0, 1.0]]
    """

    def __init__(self, *, centre: bool = True) -> None:
        self.centre = centre

    @property
    def name(self) -> str:
        """Name in tables."""
        return "cosine"

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Learn the centre."""
        x, _, _, means = grouped(vectors, speakers)
        self.mean_ = means.mean(axis=0) if self.centre else np.zeros(x.shape[1])
        return self

    def score(self, enrol: FloatArray, trial: FloatArray) -> FloatArray:
        """Return cosines, T x N; a vector at the centre has no direction and scores 0."""
        mean = self.mean_ if hasattr(self, "mean_") else None
        if mean is None and self.centre:
            raise UsageError("this cosine back-end is to be centred: call fit on training vectors first")
        x, y = (as_matrix(v, None if mean is None else len(mean)) for v in (trial, enrol))
        if mean is not None:
            x, y = x - mean, y - mean
        return unit(x) @ unit(y).T


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
        return unit(x) @ unit(y).T


NormMethod: TypeAlias = Literal["z", "t", "s"]
_FLAT = 1e-12


class ScoreNorm(VectorEstimator):
    """A back-end whose scores are standardised by cohort scores.

    z-norm standardises by the scores of the profile against the cohort, t-norm by those of the trial against the
    cohort, s-norm is the mean of both. With `top`, only the highest cohort scores of each side count (adaptive
    normalisation). The cohort is one profile per training speaker unless `cohort` gives the vectors.

    All are unchanged when the scores of the back-end are scaled by a positive number or shifted.

    Parameters
    ----------
    backend
        What to normalise; `fit` trains a copy of it.
    method
        ``z``, ``t`` or ``s``.
    top
        Cohort scores that count for each profile and trial; None for all.
    cohort
        Vectors of the cohort; None for the mean vectors of the training speakers.

    Attributes
    ----------
    backend_
        The trained back-end.
    cohort_
        Vectors of the cohort.

    Examples
    --------
    A trial in the direction of the first of two profiles, in standard deviations of what a cohort of three scores:

    >>> import numpy as np
    >>> from zeroevidence.attack.backends.cosine import Cosine
    >>> from zeroevidence.attack.backends.cosine import ScoreNorm
    >>> norm = ScoreNorm(Cosine(centre=False), method="t")
    >>> norm
    ScoreNorm(backend=Cosine(centre=False), method='t')
    >>> norm.name
    'cosine-tnorm'
    >>> cohort = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> trained = norm.fit(cohort, np.array(["ada", "bob", "cyd"]))
    >>> trained.score(np.eye(2), np.array([[2.0, 0.0]])).round(3).tolist()
    [[1.225, 0.0]]
    """

    def __init__(
        self, backend: Backend, *, method: NormMethod = "s", top: int | None = None, cohort: FloatArray | None = None
    ) -> None:
        self.backend = backend
        self.method = method
        self.top = top
        self.cohort = cohort

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.backend.name}-{'' if self.top is None else 'a'}{self.method}norm"

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Train the back-end and set the cohort."""
        *methods, last = get_args(NormMethod)
        if self.method not in (*methods, last):
            raise UsageError(f"unknown score normalisation {self.method!r}; expected {', '.join(methods)} or {last}")
        trained = unfitted(self.backend).fit(vectors, speakers)
        cohort = grouped(vectors, speakers)[3] if self.cohort is None else as_matrix(self.cohort)
        if len(cohort) < 2:
            raise InputError(f"score normalisation needs a cohort of at least two, got {len(cohort)}")
        if self.top is not None and not 2 <= self.top <= len(cohort):
            raise UsageError(f"top: expected 2 to {len(cohort)}, the size of the cohort, got {self.top}")
        self.backend_: Backend = trained
        self.cohort_ = cohort
        return self

    def score(self, enrol: FloatArray, trial: FloatArray) -> FloatArray:
        """Return normalised scores, T x N."""
        if not hasattr(self, "cohort_"):
            raise UsageError("this score normalisation has no cohort: call fit on training vectors first")
        raw = self.backend_.score(enrol, trial)
        parts = []
        if self.method in ("z", "s"):
            mean, spread = self._cohort_moments(self.backend_.score(enrol, self.cohort_).T)
            parts.append((raw - mean) / spread)
        if self.method in ("t", "s"):
            mean, spread = self._cohort_moments(self.backend_.score(self.cohort_, trial))
            parts.append((raw - mean[:, None]) / spread[:, None])
        return np.asarray(np.mean(parts, axis=0))

    def _cohort_moments(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation of the (highest) cohort scores of each row; equal scores are only shifted."""
        if self.top is not None:
            scores = -np.partition(-scores, self.top - 1, axis=1)[:, : self.top]
        mean = scores.mean(axis=1)
        spread = scores.std(axis=1)
        return mean, np.where(spread > _FLAT * np.abs(scores).max(axis=1), spread, 1.0)


BACKENDS.add(
    BackendKind("cosine", "Cosine of the angle between profile and trial, seen from the centre", ("centre",), Cosine),
    BackendKind(
        "whitened",
        "Cosine where spread within a person counts less (WCCN, shrunk)",
        ("centre", "covariances"),
        Whitened,
    ),
    BackendKind(
        "cosine-snorm", "Cosine over what a cohort scores, s-norm", ("centre", "cohort"), lambda: ScoreNorm(Cosine())
    ),
    BackendKind(
        "plda-snorm",
        "PLDA over what a cohort scores, s-norm",
        ("centre", "covariances", "cohort"),
        lambda: ScoreNorm(Plda()),
    ),
)

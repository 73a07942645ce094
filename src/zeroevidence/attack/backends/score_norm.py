"""Score normalisation by the scores of a cohort of other people.

z- and t-norm are of Auckenthaler et al. (2000), s-norm of Kenny (2010), its adaptive form is compared by Matějka et al.
(2017).
"""

from __future__ import annotations

from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from sklearn.base import clone

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.backends.backend import BACKENDS, Backend, BackendKind
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.backends.vectors import VectorEstimator, as_matrix, grouped
from zeroevidence.errors import InputError, UsageError

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
    >>> from zeroevidence.attack.backends.score_norm import ScoreNorm
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
        self,
        backend: Backend,
        *,
        method: NormMethod = "s",
        top: int | None = None,
        cohort: FloatArray | None = None,
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
        trained = clone(self.backend, safe=False).fit(vectors, speakers)
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
        normalised: FloatArray = np.mean(parts, axis=0)
        return normalised

    def _cohort_moments(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and deviation of the (highest) cohort scores of each row; equal scores are only shifted."""
        if self.top is not None:
            scores = -np.partition(-scores, self.top - 1, axis=1)[:, : self.top]
        mean = scores.mean(axis=1)
        spread = scores.std(axis=1)
        return mean, np.where(spread > _FLAT * np.abs(scores).max(axis=1), spread, 1.0)


BACKENDS.add(
    BackendKind(
        "cosine-snorm", "Cosine over what a cohort scores, s-norm", ("centre", "cohort"), lambda: ScoreNorm(Cosine())
    )
)
BACKENDS.add(
    BackendKind(
        "plda-snorm",
        "PLDA over what a cohort scores, s-norm",
        ("centre", "covariances", "cohort"),
        lambda: ScoreNorm(Plda()),
    )
)

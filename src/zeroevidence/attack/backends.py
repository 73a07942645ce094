"""Back-ends: from embeddings to scores, higher meaning more alike.

All have one small interface: ``fit(vectors, speakers)`` on other people's embeddings, then ``score(enrol, trial)`` of
N profiles against T trials as a T x N array. The profile of an enrolled speaker is the mean of the speaker's
embeddings [Šterns et al., sec. 3.2].
"""

from __future__ import annotations

from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.errors import InputError, UsageError

BACKENDS = ("cosine", "plda", "cosine-snorm", "plda-snorm")


@runtime_checkable
class Backend(Protocol):
    """What an attacker needs to compare a trial with an enrolled identity."""

    @property
    def name(self) -> str:
        """A short word for tables."""

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Learn from the embeddings (n x d) of training speakers."""

    def score(self, enrol: FloatArray, trial: FloatArray) -> FloatArray:
        """Scores, T x N, of T trials against N profiles."""


BackendLike: TypeAlias = str | Backend


def make_backend(backend: BackendLike) -> Backend:
    """A new, unfitted back-end by name, or a copy of the one given."""
    from copy import deepcopy

    from zeroevidence.attack.normalise import ScoreNorm
    from zeroevidence.attack.plda import Plda

    if not isinstance(backend, str):
        return deepcopy(backend)
    base, _, norm = backend.partition("-")
    if backend not in BACKENDS:
        raise UsageError(f"unknown back-end {backend!r}; expected {', '.join(BACKENDS)}, or an estimator")
    made: Backend = Cosine() if base == "cosine" else Plda()
    return ScoreNorm(made, method="s") if norm else made


class Cosine:
    """Cosine of the angle between profile and trial.

    Parameters
    ----------
    centre
        Subtract the mean of the training vectors first: embeddings often share a large common direction, which makes
        all cosines alike. The mean of the speakers' means is used, so that talkative speakers count no more.
    """

    def __init__(self, *, centre: bool = True) -> None:
        self.centre = centre

    @property
    def name(self) -> str:
        """A short word for tables."""
        return "cosine"

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Learn the centre."""
        x, _, _, means = grouped(vectors, speakers)
        self.mean_ = means.mean(axis=0) if self.centre else np.zeros(x.shape[1])
        return self

    def score(self, enrol: FloatArray, trial: FloatArray) -> FloatArray:
        """Cosines, T x N; a vector that lies on the centre has no direction and scores 0."""
        mean = self.mean_ if hasattr(self, "mean_") else None
        if mean is None and self.centre:
            raise UsageError("this cosine back-end is to be centred: call fit on training vectors first")
        x, y = (as_matrix(v, None if mean is None else len(mean)) for v in (trial, enrol))
        if mean is not None:
            x, y = x - mean, y - mean
        scores: FloatArray = unit(x) @ unit(y).T
        return scores


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors over their lengths; a zero vector stays zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: FloatArray = vectors / np.where(length > 0.0, length, 1.0)
    return scaled


def as_matrix(vectors: FloatArray, dimension: int | None = None) -> FloatArray:
    """Vectors in double precision, checked to be a finite n x d array of the dimension that was learned."""
    x = np.asarray(vectors, dtype=np.float64)
    if x.ndim != 2 or 0 in x.shape:
        raise InputError(f"vectors: expected one vector per row, got shape {x.shape}")
    if dimension is not None and x.shape[1] != dimension:
        raise InputError(f"vectors have {x.shape[1]} dimensions; expected {dimension}, as in training")
    if not np.isfinite(x).all():
        raise InputError(f"row {int(np.argmin(np.isfinite(x).all(axis=1)))}: expected finite numbers")
    return x


def grouped(vectors: FloatArray, speakers: StrArray) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """Vectors in double precision, the speaker number of each, utterances per speaker, and the speakers' means."""
    x = as_matrix(vectors)
    names = np.asarray(speakers)
    if names.shape != (len(x),):
        raise InputError(f"speakers: expected {len(x)}, one per vector, got shape {names.shape}")
    _, index = np.unique(names, return_inverse=True)
    counts = np.bincount(index).astype(np.int64)
    if len(counts) < 2:
        raise InputError("a back-end is trained on at least two speakers, got one")
    sums = np.zeros((len(counts), x.shape[1]))
    np.add.at(sums, index, x)
    return x, index.astype(np.int64), counts, sums / counts[:, None]

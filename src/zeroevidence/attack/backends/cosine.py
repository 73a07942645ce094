"""The cosine back-end."""

from __future__ import annotations

from typing import Self

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.backends.backend import BACKENDS, BackendKind
from zeroevidence.attack.backends.vectors import VectorEstimator, as_matrix, grouped, unit
from zeroevidence.errors import UsageError


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
        scores: FloatArray = unit(x) @ unit(y).T
        return scores


BACKENDS.add(
    BackendKind("cosine", "Cosine of the angle between profile and trial, seen from the centre", ("centre",), Cosine)
)

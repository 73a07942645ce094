"""Back-ends, from embeddings to scores: their interface, their registry, and checks of vectors."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, mated_rows
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError, UsageError
from zeroevidence.registry import Registry


@runtime_checkable
class Backend(Protocol):
    """Compares trials with enrolled identities."""

    @property
    def name(self) -> str:
        """Name in tables."""

    def fit(self, vectors: FloatArray, speakers: StrArray) -> Self:
        """Learn from the embeddings (n x d) of training speakers."""

    def score(self, enrol: FloatArray, trial: FloatArray) -> FloatArray:
        """Return the scores, T x N, of T trials against N profiles."""


BackendLike: TypeAlias = str | Backend


@dataclass(frozen=True, slots=True)
class BackendKind:
    """A registered back-end."""

    name: str
    title: str
    learns: tuple[str, ...]  # what `fit` estimates on the training speakers; empty where it needs no training
    make: Callable[[], Backend]  # the class, or a function that needs no arguments


BACKENDS: Registry[BackendKind] = Registry("back-end", package=__name__, order=lambda kind: kind.name)


def make_backend(backend: BackendLike) -> Backend:
    """Return a new, unfitted back-end: by name, or with the parameters of the given one.

    An object that is no scikit-learn estimator is copied as it is.

    Examples
    --------
    >>> from zeroevidence.attack.backends import make_backend
    >>> make_backend("plda")
    Plda()
    >>> make_backend("cosine-snorm")
    ScoreNorm(backend=Cosine())
    >>> make_backend("svm")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: unknown back-end 'svm'; expected cosine, cosine-snorm, ...
    """
    if isinstance(backend, str):
        return BACKENDS.find(backend).make()
    if isinstance(backend, type) or not isinstance(backend, Backend):
        raise UsageError(f"expected the name of a back-end or an object with name, fit and score, got {backend!r}")
    copy: Backend = unfitted(backend)
    return copy


def unfitted(backend: Any) -> Any:
    """Return a new back-end with the parameters of a given one; an object without parameters is copied as it is."""
    if isinstance(backend, VectorEstimator):
        return type(backend)(**{name: unfitted(value) for name, value in backend.get_params(deep=False).items()})
    if not hasattr(backend, "get_params"):
        return deepcopy(backend)
    from sklearn.base import clone

    return clone(backend, safe=False)


def named_scores(scores: FloatArray, trials: Embeddings, profiles: Embeddings) -> ScoreMatrix:
    """Return scores, T x N, with the names and the people of trials and profiles."""
    return ScoreMatrix(
        scores, mated_rows(trials, profiles), trials.ids, profiles.ids, trials.speakers, profiles.speakers
    )


class VectorEstimator:
    """A scikit-learn estimator that learns from vectors and their speakers.

    It can be cloned, printed, pickled, and its parameters read and set as scikit-learn does. The constructor stores
    parameters and `fit` checks them. `score` of a back-end compares profiles with trials and is no measure of quality,
    so back-ends are not for scikit-learn's model selection. It has no class of scikit-learn as its base: each process
    of an audit would take a second and 80 MB to import that, with all of `scipy.stats` and pandas.
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = signature(cls).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is not Parameter.VAR_KEYWORD}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, and those of nested estimators as ``name__parameter``."""
        values = {name: getattr(self, name) for name in sorted(self._defaults())}
        nested = {name: value for name, value in values.items() if deep and hasattr(value, "get_params")}
        return values | {
            f"{name}__{key}": inner for name, value in nested.items() for key, inner in value.get_params().items()
        }

    def set_params(self, **values: Any) -> Self:
        """Set parameters by name, those of nested estimators as ``name__parameter``."""
        for name, value in values.items():
            own, _, inner = name.partition("__")
            if own not in self._defaults():
                expected = ", ".join(sorted(self._defaults()))
                raise UsageError(f"{type(self).__name__} has no parameter {own!r}; expected one of {expected}")
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        values = self.get_params(deep=False).items()
        changed = [f"{name}={value!r}" for name, value in values if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


def unit(vectors: FloatArray) -> FloatArray:
    """Return vectors divided by their lengths; a zero vector stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.attack.backends import unit
    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def as_matrix(vectors: FloatArray, dimension: int | None = None) -> FloatArray:
    """Return vectors in double precision, checked to be a finite n x d array of the dimension of training."""
    x = np.asarray(vectors, dtype=np.float64)
    if x.ndim != 2 or 0 in x.shape:
        raise InputError(f"vectors: expected one vector per row, got shape {x.shape}")
    if dimension is not None and x.shape[1] != dimension:
        raise InputError(f"vectors have {x.shape[1]} dimensions; expected {dimension}, as in training")
    if not np.isfinite(x).all():
        raise InputError(f"row {int(np.argmin(np.isfinite(x).all(axis=1)))}: expected finite numbers")
    return x


def grouped(vectors: FloatArray, speakers: StrArray) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """Return vectors in double precision, the speaker number of each, utterances per speaker, and speakers' means."""
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

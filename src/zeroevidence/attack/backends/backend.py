"""Back-ends: their interface, and the registry of those that have a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, runtime_checkable

from sklearn.base import clone

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.errors import UsageError
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

    @property
    def trains(self) -> bool:
        """Whether it must be fitted before it scores."""
        return bool(self.learns)


BACKENDS: Registry[BackendKind] = Registry(
    "back-end", package="zeroevidence.attack.backends", order=lambda kind: kind.name
)


def make_backend(backend: BackendLike) -> Backend:
    """Return a new, unfitted back-end: by name, or with the parameters of the given one.

    An object that is no scikit-learn estimator is copied as it is.

    Examples
    --------
    >>> from zeroevidence.attack.backends.backend import make_backend
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
    copy: Backend = clone(backend, safe=False)
    return copy

"""The table of back-ends: what each is called, does and learns, and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from sklearn.base import clone

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.errors import UsageError
from zeroevidence.registry import Registry


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

Factory = TypeVar("Factory", bound=Callable[[], Backend])


@dataclass(frozen=True, slots=True)
class BackendKind:
    """One back-end that has a name."""

    name: str
    title: str  # one line of words
    learns: tuple[str, ...]  # what `fit` takes from the training speakers; nothing where it needs no training
    make: Callable[[], Backend]

    @property
    def trains(self) -> bool:
        """Whether it must be fitted before it scores."""
        return bool(self.learns)


BACKENDS: Registry[BackendKind] = Registry(
    "back-end", package="zeroevidence.attack.backends", order=lambda kind: kind.name
)


def register_backend(name: str, title: str, *, learns: tuple[str, ...]) -> Callable[[Factory], Factory]:
    """Add a back-end to `BACKENDS`: a class, or a function that makes one, which needs no arguments."""

    def enter(make: Factory) -> Factory:
        BACKENDS.add(BackendKind(name, title, learns, make))
        return make

    return enter


def make_backend(backend: BackendLike) -> Backend:
    """A new, unfitted back-end: by name, or with the parameters of the one given.

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
    made: Backend = clone(backend, safe=False)
    return made

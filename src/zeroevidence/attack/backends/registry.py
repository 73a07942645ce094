"""The table of back-ends: what each is called, does and learns, and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sklearn.base import clone

from zeroevidence.attack.backends.base import Backend, BackendLike
from zeroevidence.errors import UsageError

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


BACKENDS: dict[str, BackendKind] = {}


def register_backend(name: str, title: str, *, learns: tuple[str, ...]) -> Callable[[Factory], Factory]:
    """Enter a back-end into the table: a class, or a function that makes one, which needs no arguments.

    A second one of the same name takes the place of the first.
    """

    def enter(make: Factory) -> Factory:
        BACKENDS[name] = BackendKind(name, title, learns, make)
        return make

    return enter


def find_backend(name: str) -> BackendKind:
    """The entry of that name."""
    try:
        return BACKENDS[name]
    except KeyError:
        raise UsageError(f"unknown back-end {name!r}; expected {', '.join(BACKENDS)}, or an estimator") from None


def make_backend(backend: BackendLike) -> Backend:
    """A new, unfitted back-end: by name, or with the parameters of the one given.

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
    zeroevidence.errors.UsageError: unknown back-end 'svm'; expected cosine, plda, ...
    """
    if isinstance(backend, str):
        return find_backend(backend).make()
    if isinstance(backend, type) or not isinstance(backend, Backend):
        raise UsageError(f"expected the name of a back-end or an object with name, fit and score, got {backend!r}")
    made: Backend = clone(backend, safe=False)
    return made

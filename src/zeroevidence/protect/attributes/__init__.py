"""The table of attribute protectors: the estimators that take the evidence about an attribute out of embeddings.

Each module of this package is one protector and bears its name. So the names are known without importing anything, and
a protector's module is imported when that protector is asked for; torch is imported when it is fitted or applied.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from zeroevidence.errors import UsageError

if TYPE_CHECKING:
    from zeroevidence.protect.attributes.shared.transformers import EmbeddingProtector, Target

P = TypeVar("P", bound="type[EmbeddingProtector]")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of attribute protector."""

    name: str
    words: str  # one line: how it works
    cls: type[EmbeddingProtector]
    extra: str | None = None  # the optional part of the package that it needs
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # parameters by the name of the preset

    @property
    def parameters(self) -> tuple[str, ...]:
        """What can be set, in alphabetical order."""
        return tuple(sorted(self.cls().get_params()))

    @property
    def fit_options(self) -> tuple[str, ...]:
        """What `fit` takes besides vectors and labels: ``speakers``, ``keep``, ``progress``."""
        found = inspect.signature(self.cls.fit).parameters.values()
        return tuple(one.name for one in found if one.kind is inspect.Parameter.KEYWORD_ONLY)

    @property
    def conceals(self) -> Target:
        """Whether it conceals classes or a number."""
        return self.cls.conceals

    @property
    def seeded(self) -> bool:
        """Whether it draws at random, and so has a ``random_state``."""
        return "random_state" in self.parameters


_KINDS: dict[str, Kind] = {}


def protector(
    words: str, *, extra: str | None = None, presets: Mapping[str, Mapping[str, Any]] | None = None
) -> Callable[[P], P]:
    """Enter a class into the table under its ``kind``.

    A class of your own may be entered too: then `make_protector` knows it, and its models can be saved and loaded.
    """

    def enter(cls: P) -> P:
        taken = _KINDS.get(cls.kind)
        other = taken is not None and _home(taken.cls) != _home(cls)
        if other or (cls.kind in _modules() and cls.__module__ != f"{__name__}.{cls.kind}"):
            raise UsageError(f"there is already a protector called {cls.kind!r}; give {cls.__name__} another kind")
        _KINDS[cls.kind] = Kind(cls.kind, words, cls, extra, presets or {})
        return cls

    return enter


def remove(name: str) -> None:
    """Take a protector out of the table again, after trying it out."""
    del _KINDS[name]


def names() -> tuple[str, ...]:
    """Names of all attribute protectors, in alphabetical order; imports none of them."""
    return tuple(sorted({*_modules(), *_KINDS}))


def find(name: str) -> Kind:
    """The kind of that name."""
    if name not in _KINDS and name in _modules():
        importlib.import_module(f"{__name__}.{name}")
    try:
        return _KINDS[name]
    except KeyError:
        raise UsageError(f"unknown protector {name!r}; expected one of {', '.join(names())}") from None


def kinds(conceals: Target | None = "classes") -> tuple[Kind, ...]:
    """Kinds that conceal classes, those that conceal a number or, for None, all of them, in alphabetical order.

    Those that need no optional part come first, then the others.
    """
    found = [kind for kind in map(find, names()) if conceals in (None, kind.conceals)]
    return tuple(sorted(found, key=lambda kind: (kind.extra is not None, kind.name)))


def _modules() -> tuple[str, ...]:
    return tuple(module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def _home(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"

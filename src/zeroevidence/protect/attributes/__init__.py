"""Attribute protectors: estimators that remove the evidence about an attribute from embeddings, and their registry.

Each module of this package defines and registers one protector. Reading the registry imports the modules, but not
torch, which is imported when a protector that needs it is fitted or applied.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from zeroevidence.registry import Registry

if TYPE_CHECKING:
    from zeroevidence.protect.attributes.protector import EmbeddingProtector

P = TypeVar("P", bound="type[EmbeddingProtector]")


@dataclass(frozen=True, slots=True)
class AttributeProtectorKind:
    """A registered attribute protector.

    Parameters
    ----------
    name
        Its name in options, files and messages.
    description
        One sentence: how it works.
    cls
        The estimator.
    extra
        The optional dependency that it needs.
    presets
        Named sets of parameters.
    """

    name: str
    description: str
    cls: type[EmbeddingProtector]
    extra: str | None = None
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of its parameters, in alphabetical order."""
        return tuple(sorted(self.cls().get_params()))

    @property
    def fit_options(self) -> tuple[str, ...]:
        """Keyword arguments of `fit` besides vectors and labels: ``speakers``, ``keep``, ``progress``."""
        parameters = inspect.signature(self.cls.fit).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)

    @property
    def seeded(self) -> bool:
        """Whether it draws random numbers, and so has a ``random_state``."""
        return "random_state" in self.parameters


# those without optional dependencies first
ATTRIBUTE_PROTECTORS: Registry[AttributeProtectorKind] = Registry(
    "protector", package=__name__, order=lambda kind: (kind.extra is not None, kind.name)
)


def register_protector(
    description: str, *, extra: str | None = None, presets: Mapping[str, Mapping[str, Any]] | None = None
) -> Callable[[P], P]:
    """Return a decorator that registers a class under its ``kind``.

    Classes from outside this package can be registered too: `make_protector` then makes them by name, and their models
    can be saved and loaded. The same class may be registered again, as by a cell of a notebook that is run twice.
    """

    def register(cls: P) -> P:
        if not cls.__module__.startswith(f"{__name__}."):
            registered = ATTRIBUTE_PROTECTORS.get(cls.kind)
            if registered is not None and _path(registered.cls) == _path(cls):
                ATTRIBUTE_PROTECTORS.remove(cls.kind)
        ATTRIBUTE_PROTECTORS.add(AttributeProtectorKind(cls.kind, description, cls, extra, presets or {}))
        return cls

    return register


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"

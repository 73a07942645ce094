"""Attribute protectors: estimators that remove the evidence about an attribute from embeddings, and their registry.

Each module of this package defines and registers one protector. Reading the registry imports the modules, but not
torch, which is imported when a protector that needs it is fitted or applied.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from zeroevidence.errors import UsageError
from zeroevidence.registry import Registry
from zeroevidence.run import Step, no_step

if TYPE_CHECKING:
    from zeroevidence._typing import StrArray
    from zeroevidence.data.embeddings import Embeddings
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
        cls.registered = cls
        return cls

    return register


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def make_protector(
    name: str, parameters: Mapping[str, Any] | None = None, /, *, preset: str | None = None, **more: Any
) -> EmbeddingProtector:
    """Return an unfitted protector by its name.

    Parameters
    ----------
    name
        Name of a protector that is registered in `attributes.ATTRIBUTE_PROTECTORS`.
    parameters
        Parameters to set, as a mapping; they may also be given as keywords, which count if both are given.
    preset
        Parameters to start from, by name: ``paper`` is the published configuration of the flow.
    more
        Parameters to set, as keywords.

    Examples
    --------
    >>> from zeroevidence.protect import make_protector
    >>> make_protector("linear", shrinkage=0.1)
    LinearNuller(shrinkage=0.1)
    >>> flow = make_protector("flow", {"epochs": 50}, preset="paper")
    >>> flow.epochs, flow.batch
    (50, 64)
    """
    kind = ATTRIBUTE_PROTECTORS.find(name)
    chosen = {**(parameters or {}), **more}
    for parameter in chosen:
        if parameter not in kind.parameters:
            raise UsageError(f"{name} has no parameter {parameter!r}; it has {', '.join(kind.parameters)}")
    if preset is not None and preset not in kind.presets:
        raise UsageError(f"{name} has no preset {preset!r}; it has {', '.join(kind.presets) or 'none'}")
    start = {} if preset is None else kind.presets[preset]
    return kind.cls(**{**start, **chosen})


def seeded_protector(
    name: str, parameters: Mapping[str, Any] | None, seed: int, *, preset: str | None = None
) -> EmbeddingProtector:
    """Return an unfitted protector; the seed is its `random_state` if it has one that is not among the parameters."""
    seeded = {"random_state": seed} if ATTRIBUTE_PROTECTORS.find(name).seeded else {}
    return make_protector(name, {**seeded, **(parameters or {})}, preset=preset)


def fit_protector(
    protector: EmbeddingProtector, data: Embeddings, labels: StrArray, *, keep: Any = None, step: Step = no_step
) -> EmbeddingProtector:
    """Fit a protector to embeddings with these labels, and return it.

    Speakers, the labels of a second attribute to keep, and progress are for protectors whose `fit` takes them.
    """
    options = {"speakers": data.speakers, "keep": keep, "progress": step}
    names = AttributeProtectorKind(protector.kind, "", type(protector)).fit_options  # also where it is not registered
    given = {name: options[name] for name in names if options.get(name) is not None}
    return protector.fit(data.vectors, labels, **given)

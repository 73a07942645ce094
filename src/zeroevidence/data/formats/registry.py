"""Tables of formats: each format is a module that enters itself, and the package of that module finds it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from zeroevidence.data.formats.source import CONTAINERS, Container
from zeroevidence.errors import UsageError


class Format(Protocol):
    """What every format says about itself."""

    @property
    def name(self) -> str:
        """What it is called, in options and messages."""

    @property
    def words(self) -> str:
        """One line for help and documentation."""

    @property
    def place(self) -> int:
        """Where it stands among the others; those of one place are in alphabetical order."""

    @property
    def containers(self) -> tuple[Container, ...]:
        """The kinds of binary files that it reads."""


F = TypeVar("F", bound=Format)


class Registry(Mapping[str, F]):
    """Formats by name, in the order of their places."""

    def __init__(self) -> None:
        self._formats: dict[str, F] = {}

    def add(self, format: F) -> None:
        """Enter a format; from now on its files are recognised."""
        if format.name in self._formats:
            raise UsageError(f"the format {format.name!r} is registered already; expected another name")
        entries = sorted([*self._formats.values(), format], key=lambda one: (one.place, one.name))
        self._formats = {one.name: one for one in entries}
        CONTAINERS.extend(format.containers)

    def remove(self, name: str) -> None:
        """Take a format out again, as when another version of it is tried."""
        for container in self._formats.pop(name).containers:
            CONTAINERS.remove(container)

    def __getitem__(self, name: str) -> F:
        return self._formats[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._formats)

    def __len__(self) -> int:
        return len(self._formats)


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, so that those that are formats enter themselves."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")

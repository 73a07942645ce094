"""One registry for everything that there may be several of: measures, formats, back-ends, attackers, figures.

An entry registers itself in the module that defines it. The modules of the registry's package are imported when the
registry is first read, so a new entry is one new file. A plug-in adds its entry from anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from zeroevidence.errors import UsageError


class Named(Protocol):
    """What every entry has."""

    @property
    def name(self) -> str:
        """What options, files and messages call it."""


T = TypeVar("T", bound=Named)


class Registry(Mapping[str, T]):
    """Entries by name.

    Parameters
    ----------
    noun
        What messages call an entry, as in "unknown back-end 'svm'".
    package
        The package whose modules add entries; None where all are added by hand.
    order
        Sort key of the entries; by default they keep the order in which they were added.
    recursive
        Whether modules in the package's own packages add entries too.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> colours = Registry("colour")
    >>> red = colours.add(SimpleNamespace(name="red"))
    >>> colours.find("red") is red
    True
    >>> colours.find("blue")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: unknown colour 'blue'; expected red
    """

    def __init__(
        self, noun: str, *, package: str | None = None, order: Callable[[T], Any] | None = None, recursive: bool = False
    ) -> None:
        self._noun, self._package, self._order = noun, package, order
        self._modules = pkgutil.walk_packages if recursive else pkgutil.iter_modules
        self._entries: dict[str, T] = {}
        self._importing: set[int] = set()  # threads
        self._changing = threading.Lock()

    def add(self, entry: T, *others: T) -> T:
        """Add one or several entries and return the first; a name that is taken is refused."""
        with self._changing:
            for new in (entry, *others):
                if new.name in self._entries:
                    raise UsageError(f"there is already a {self._noun} called {new.name!r}; expected another name")
                self._entries[new.name] = new
            if self._order is not None:
                self._entries = {item.name: item for item in sorted(self._entries.values(), key=self._order)}
        return entry

    def remove(self, name: str) -> T:
        """Take out an entry and return it."""
        self._load()  # so that its module does not add it again later
        return self._entries.pop(name)

    def find(self, name: str) -> T:
        """Return the entry of that name, or raise an error that lists the names there are."""
        try:
            return self[name]
        except KeyError:
            raise UsageError(f"unknown {self._noun} {name!r}; expected {', '.join(self)}") from None

    def __getitem__(self, name: str) -> T:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def _load(self) -> dict[str, T]:
        """Import the modules of the package, and return the entries.

        Threads that come at once all import them, and wait for each other at the locks of the imports: with a lock
        around all of it, an import could wait for a thread that waits for this import. A module that reads the registry
        while it is imported sees the entries so far.
        """
        package, thread = self._package, threading.get_ident()
        if package is not None and thread not in self._importing:
            self._importing.add(thread)
            try:
                for module in self._modules(importlib.import_module(package).__path__, f"{package}."):
                    importlib.import_module(module.name)
            finally:
                self._importing.discard(thread)
            self._package = None
        return self._entries

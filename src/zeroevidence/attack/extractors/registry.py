"""The table of families of speaker encoders: which names each takes, what it needs, and how it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from zeroevidence.attack.extractors.base import Extractor
from zeroevidence.errors import InputError


class Loads(Protocol):
    """A loader: the name as given in, the encoder out."""

    def __call__(self, name: str, /, *, threads: int) -> Extractor:
        """Load it."""


Loader = TypeVar("Loader", bound=Loads)


@dataclass(frozen=True, slots=True)
class ExtractorFamily:
    """One way to get at speaker encoders."""

    name: str
    title: str  # one line of words
    forms: tuple[str, ...]  # what its names look like, for help and errors
    extra: str  # the optional part of this package that runs it
    takes: Callable[[str], bool]
    load: Loads
    files: bool  # whether its names are files; those are asked last, so that no file hides the name of a family
    needs: str = ""  # what else must be there, in words


EXTRACTORS: dict[str, ExtractorFamily] = {}


def register_extractor(
    name: str,
    title: str,
    *,
    forms: tuple[str, ...],
    extra: str,
    takes: Callable[[str], bool],
    files: bool = False,
    needs: str = "",
) -> Callable[[Loader], Loader]:
    """Enter a family into the table by what loads its encoders.

    A second one of the same name takes the place of the first.
    """

    def enter(load: Loader) -> Loader:
        EXTRACTORS[name] = ExtractorFamily(name, title, forms, extra, takes, load, files, needs)
        return load

    return enter


def expected_names() -> str:
    """What the names of all families look like, in words."""
    *forms, last = (form for family in EXTRACTORS.values() for form in family.forms)
    return f"{', '.join(forms)}, or {last}" if forms else last


def load_extractor(name: str | Path, *, threads: int = 1) -> Extractor:
    """The extractor behind a name.

    Parameters
    ----------
    name
        ``campplus``, which comes with the package; the name of an encoder that was added; a model card
        (``cards.json#ecapa_voxceleb`` picks one of several models) or an ONNX file with a card beside it;
        ``resemblyzer``; ``speechbrain/spkrec-ecapa-voxceleb`` and the like, which are fetched from their hub; or a name
        that another family of `EXTRACTORS` takes.
    threads
        Threads of one forward pass; with one, results do not depend on the machine's number of cores.

    Raises
    ------
    InputError
        When there is no such model, or its card does not fit.
    MissingExtra
        When what runs it is not installed.

    Examples
    --------
    >>> from zeroevidence.attack.extractors import EXTRACTORS, load_extractor
    >>> EXTRACTORS["resemblyzer"].title
    "Resemblyzer's encoder, whose weights come with its wheel"
    >>> load_extractor("wishful")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    zeroevidence.errors.InputError: wishful: no such extractor; expected campplus, cues, ...
    """
    words = str(name)
    for family in sorted(EXTRACTORS.values(), key=lambda family: family.files):
        if family.takes(words):
            return family.load(words, threads=threads)
    raise InputError(f"no such extractor; expected {expected_names()}", path=words)

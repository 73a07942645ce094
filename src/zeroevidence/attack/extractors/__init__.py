"""Extractors, speaker encoders behind one small interface: the registry of their families, found by name or by file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError
from zeroevidence.registry import Registry

DEFAULT_EXTRACTOR = "campplus"  # comes with the package, so that speech can be audited without a network
Vectors = NDArray[np.float32]


class Extractor(Protocol):
    """What turns waveforms into vectors, one each, independent of what else is in the batch.

    `fingerprint` changes whenever the same waveform would give another vector; it is part of the key of every
    stored vector.
    """

    name: str  # in results
    sample_rate: int  # of the waveforms that it takes, in Hz
    dim: int
    fingerprint: str

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per mono waveform in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class ExtractorFamily:
    """Speaker encoders that are loaded in the same way."""

    name: str
    title: str
    forms: tuple[str, ...]  # what its names look like, for help and messages
    extra: str  # the optional part of this package that runs it
    takes: Callable[[str], bool]
    load: Callable[[str], Extractor]  # by a name, on one thread
    files: bool = False  # whether its names are files
    needs: str = ""  # what else must be installed


# The default comes first, and files last, so that no file hides the name of a family.
EXTRACTORS: Registry[ExtractorFamily] = Registry(
    "family of extractors",
    package="zeroevidence.attack.extractors.families",
    order=lambda family: (family.files, family.name != DEFAULT_EXTRACTOR, family.name),
)


def expected_names() -> str:
    """Return what the names of all families look like, as a list in a sentence."""
    *forms, last = (form for family in EXTRACTORS.values() for form in family.forms)
    return f"{', '.join(forms)}, or {last}" if forms else last


def load_extractor(name: str | Path) -> Extractor:
    """Return the extractor of a name, which computes with one thread: so results do not depend on the machine.

    Parameters
    ----------
    name
        ``campplus``, which comes with the package; the name of an encoder that was added; a model card
        (``cards.json#ecapa_voxceleb`` picks one of several models) or an ONNX file with a card beside it;
        ``resemblyzer``; ``speechbrain/spkrec-ecapa-voxceleb`` and the like, which are fetched from their hub; or a name
        that another family of `EXTRACTORS` takes.

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
    zeroevidence.errors.InputError: wishful: no such extractor; expected campplus, ...
    """
    text = str(name)
    for family in EXTRACTORS.values():
        if family.takes(text):
            return family.load(text)
    raise InputError(f"no such extractor; expected {expected_names()}", path=text)

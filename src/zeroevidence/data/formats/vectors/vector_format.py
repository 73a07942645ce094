"""Formats of embedding files: how the files of each are recognised and read.

A format is one module of this package that adds a `VectorFormat` to `VECTOR_FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.input_file import Container, InputFile
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorFormat:
    """One format of embedding files.

    Parameters
    ----------
    name
        What lists and messages call it.
    description
        One line for documentation.
    read
        Returns the embeddings of a file.
    suffix
        How the name of a file ends.
    containers
        The kinds of binary files that are read; a format without suffix and containers takes any file.
    place
        Position in the order in which formats are tried; new ones come before the one that takes any file.
    """

    name: str
    description: str
    read: Callable[[InputFile], Embeddings]
    suffix: str = ""
    containers: tuple[Container, ...] = ()
    place: int = 100

    def recognises(self, file: InputFile) -> bool:
        """Return whether a file looks like one of this format."""
        if not self.suffix and not self.containers:
            return True
        named = self.suffix != "" and file.name.endswith(self.suffix)
        return named or any(map(file.is_in, self.containers))


VECTOR_FORMATS: Registry[VectorFormat] = Registry(
    "embedding format",
    package="zeroevidence.data.formats.vectors",
    order=lambda format: (format.place, format.name),
)

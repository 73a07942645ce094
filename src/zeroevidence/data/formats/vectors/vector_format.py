"""The table of embedding formats: how the files of each are recognised and read.

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
    name, words
        What it is called, and one line for documentation.
    read
        A file in, embeddings out.
    suffix, containers
        How the name of a file ends, or which kinds of binary files are read; one that has neither takes any file.
    place
        When it is asked whether a file is its own; new ones come before the one that takes any file.
    """

    name: str
    words: str
    read: Callable[[InputFile], Embeddings]
    suffix: str = ""
    containers: tuple[Container, ...] = ()
    place: int = 100

    def recognises(self, file: InputFile) -> bool:
        """Whether a file looks like its own."""
        if not self.suffix and not self.containers:
            return True
        named = self.suffix != "" and file.name.endswith(self.suffix)
        return named or any(map(file.is_in, self.containers))


VECTOR_FORMATS: Registry[VectorFormat] = Registry(
    "embedding format",
    package="zeroevidence.data.formats.vectors",
    order=lambda format: (format.place, format.name),
)

"""One NumPy array, memory-mapped, with a list of `utterance [speaker]` lines beside it."""

from __future__ import annotations

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.source import NPY, InputFile
from zeroevidence.data.formats.vectors.lists import with_names
from zeroevidence.data.formats.vectors.registry import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError


def read_npy(file: InputFile) -> Embeddings:
    """The vectors, with the names that ``NAME.ids`` or ``NAME.txt`` gives them."""
    try:
        if file.held is not None:
            with file.stream() as stream:
                vectors = np.load(stream, allow_pickle=False)
        else:
            vectors = np.load(file.path, mmap_mode="r", allow_pickle=False)
    except Exception as error:
        raise InputError(f"cannot be read as NumPy npy: {error}", path=file.name) from None
    for ending in (".ids", ".txt"):
        beside = file.path.with_suffix(ending)
        if file.held is None and beside.is_file():
            return with_names(vectors, beside)
    return Embeddings(vectors)


VECTOR_FORMATS.add(
    VectorFormat(
        name="npy",
        words="NumPy array, memory-mapped, with lines of `utterance [speaker]` in `NAME.ids` or `NAME.txt` beside it",
        read=read_npy,
        containers=(NPY,),
        place=30,
    )
)

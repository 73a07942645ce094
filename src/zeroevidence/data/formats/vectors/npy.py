"""A NumPy array of vectors, memory-mapped, with a list of `utterance [speaker]` lines beside it."""

from __future__ import annotations

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.size_limits import check_array
from zeroevidence.data.formats.input_file import NPY, InputFile
from zeroevidence.data.formats.vectors.id_lists import with_names
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat


def read_npy(file: InputFile) -> Embeddings:
    """Return the vectors, with the identifiers of ``NAME.ids`` or ``NAME.txt``."""
    with reading_file(file.name, "NumPy npy"):
        with file.stream() as stream:
            check_array(stream, len(file.held) if file.held is not None else file.path.stat().st_size, file.name)
            stream.seek(0)
            vectors = np.load(stream, allow_pickle=False) if file.held is not None else None
        if vectors is None:
            vectors = np.load(file.path, mmap_mode="r", allow_pickle=False)
    for ending in (".ids", ".txt"):
        beside = file.path.with_suffix(ending)
        if file.held is None and beside.is_file():
            return with_names(vectors, beside)
    return Embeddings(vectors)


VECTOR_FORMATS.add(
    VectorFormat(
        name="npy",
        description="NumPy array, memory-mapped, with lines of `utterance [speaker]` in `NAME.ids` or `NAME.txt` "
        "beside it",
        read=read_npy,
        containers=(NPY,),
        place=30,
    )
)

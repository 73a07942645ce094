"""NumPy archives: vectors, identifiers and speakers under their usual names, and further attributes."""

from __future__ import annotations

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.size_limits import check_archive
from zeroevidence.data.formats.input_file import NPZ, InputFile
from zeroevidence.data.formats.vectors.column_names import IDS, SPEAKERS, VECTORS, pop_named
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError


def read_npz(file: InputFile) -> Embeddings:
    """Return the embeddings of an archive; its other arrays of text or numbers are attributes."""
    with reading_file(file.name, "NumPy npz"), file.stream() as stream:
        check_archive(stream, file.name)
        with np.load(stream, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    vectors = pop_named(arrays, VECTORS)
    if vectors is None:
        raise InputError(f"no array named vectors (found: {', '.join(arrays) or 'none'}); expected one", path=file.name)
    ids, speakers = pop_named(arrays, IDS), pop_named(arrays, SPEAKERS)
    attributes = {
        name: array for name, array in arrays.items() if array.shape == (len(vectors),) and array.dtype.kind in "USiuf"
    }
    return Embeddings(vectors, ids, speakers, attributes)


VECTOR_FORMATS.add(
    VectorFormat(
        name="npz",
        description="NumPy archive with `vectors`, `utterance` or `ids`, `speaker`; other arrays of text or numbers "
        "are attributes",
        read=read_npz,
        containers=(NPZ,),
        place=20,
    )
)

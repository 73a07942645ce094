"""Features in a CSV table, as openSMILE and spreadsheets write them: a line for each utterance."""

from __future__ import annotations

import polars as pl

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.vectors.column_names import IDS, SPEAKERS, pop_named, text_column
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError

_NAMES = (*IDS, "name", "file", "filename")
_SEPARATORS = (",", ";", "\t")


def read_csv(file: InputFile) -> Embeddings:
    """Return the vectors of a table with a header: columns of numbers, in their order; others are attributes."""
    first = file.read().partition(b"\n")[0].decode("utf-8", errors="replace")
    separator = max(_SEPARATORS, key=first.count)
    try:
        with file.stream() as stream:
            frame = pl.read_csv(stream, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read as a table: {str(error).splitlines()[0]}", path=file.name) from None
    columns = {name: name for name in frame.columns}
    ids, speakers = pop_named(columns, _NAMES), pop_named(columns, SPEAKERS)
    numbers = [name for name in columns if frame[name].dtype.is_numeric()]
    if not numbers or frame.is_empty():
        first = ", ".join(frame.columns[:6])
        raise InputError(f"no columns of numbers (found: {first}); expected a header and features", path=file.name)
    for name in (*numbers, *filter(None, (ids, speakers))):
        empty = frame[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"column {name} is empty; expected a value", path=file.name, line=int(empty[0]) + 2)
    attributes = {name: frame[name].fill_null("").to_numpy() for name in columns if frame[name].dtype == pl.String}
    vectors = frame.select(numbers).cast(pl.Float64).to_numpy()
    return Embeddings(vectors, text_column(frame, ids), text_column(frame, speakers), attributes)


for _suffix in (".csv", ".tsv"):
    VECTOR_FORMATS.add(
        VectorFormat(
            name=_suffix.removeprefix("."),
            description="a table of features with a header: `utterance` (`name`), `speaker`; columns of numbers are "
            "the vector, columns of text attributes",
            read=read_csv,
            suffix=_suffix,
            place=45,
        )
    )

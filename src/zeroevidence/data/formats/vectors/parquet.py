"""Embeddings in Parquet: a column of lists, and columns of text or numbers."""

from __future__ import annotations

import polars as pl

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.input_file import PARQUET, InputFile, load_parquet
from zeroevidence.data.formats.vectors.column_names import IDS, SPEAKERS, VECTORS, pop_named, text_column
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError


def read_parquet(file: InputFile) -> Embeddings:
    """Return the embeddings of a table; its other columns of text or numbers are attributes."""
    frame = load_parquet(file)
    columns = {name: name for name in frame.columns}
    at = pop_named(columns, VECTORS)
    if at is None:
        raise InputError(f"no column embedding (found: {', '.join(frame.columns)}); expected one", path=file.name)
    vectors = _vectors(frame[at], file.name)
    ids, speakers = pop_named(columns, IDS), pop_named(columns, SPEAKERS)
    for name in filter(None, (ids, speakers)):
        empty = frame[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"row {empty[0]}: no {name}; expected one", path=file.name)
    attributes = {
        name: frame[name].cast(pl.String).fill_null("").to_numpy()
        for name in columns
        if frame[name].dtype == pl.String or frame[name].dtype.is_numeric()
    }
    return Embeddings(vectors, text_column(frame, ids), text_column(frame, speakers), attributes)


def _vectors(lists: pl.Series, name: str) -> FloatArray:
    """Return a column of lists of the same length as one array."""
    at = lists.name
    if lists.dtype.base_type() not in (pl.List, pl.Array):
        raise InputError(f"column {at} is of type {lists.dtype}; expected lists of numbers", path=name)
    if lists.dtype.base_type() == pl.Array:
        lists = lists.arr.to_list()
    if len(lists) == 0:
        raise InputError("no rows; expected one vector in each", path=name)
    lengths = lists.list.len()
    odd = (lengths != lengths[0]).fill_null(True).arg_true()
    if len(odd):
        row = int(odd[0])
        size = "null" if lengths[row] is None else f"{lengths[row]} entries"
        raise InputError(f"row {row}: {size}, the first row has {lengths[0]}; expected the same", path=name)
    flat = lists.explode()
    if not flat.dtype.is_numeric():
        raise InputError(f"column {at} is of type {lists.dtype}; expected lists of numbers", path=name)
    missing = flat.is_null().arg_true()
    if len(missing):
        raise InputError(f"row {int(missing[0]) // lengths[0]}: a null entry; expected numbers", path=name)
    return flat.to_numpy().reshape(len(lists), -1)


VECTOR_FORMATS.add(
    VectorFormat(
        name="parquet",
        description="Parquet with `embedding` (lists), `utterance_id`, `speaker_id`; other columns of text or numbers "
        "are attributes",
        read=read_parquet,
        containers=(PARQUET,),
        place=40,
    )
)

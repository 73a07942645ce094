"""Embeddings in Parquet: a column of lists, and columns of words or numbers."""

from __future__ import annotations

from typing import Any

import polars as pl

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.formats.input_file import PARQUET, InputFile, check_parquet
from zeroevidence.data.formats.vectors.column_names import IDS, SPEAKERS, VECTORS, pop_named
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat
from zeroevidence.errors import InputError


def read_parquet(file: InputFile) -> Embeddings:
    """The embeddings of a table; its other columns of words or numbers are attributes."""
    with reading_file(file.name, "Parquet"):
        check_parquet(file)
        frame = pl.read_parquet(file.open())
    columns = {name: name for name in frame.columns}
    at = pop_named(columns, VECTORS)
    if at is None:
        raise InputError(f"no column embedding (found: {', '.join(frame.columns)}); expected one", path=file.name)
    vectors = _vectors(frame[at], file.name)
    ids, speakers = pop_named(columns, IDS), pop_named(columns, SPEAKERS)
    for name in (ids, speakers):
        empty = [] if name is None else frame[name].is_null().arg_true()
        if len(empty):
            raise InputError(f"row {empty[0]}: no {name}; expected one", path=file.name)
    words = {
        name: frame[name].cast(pl.String).fill_null("").to_numpy()
        for name in columns
        if frame[name].dtype == pl.String or frame[name].dtype.is_numeric()
    }
    text: dict[Any, Any] = {
        name: None if name is None else frame[name].cast(pl.String).to_numpy() for name in (ids, speakers)
    }
    return Embeddings(vectors, text[ids], text[speakers], words)


def _vectors(lists: pl.Series, name: str) -> FloatArray:
    """A column of lists of the same length as one array."""
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
        what = "null" if lengths[row] is None else f"{lengths[row]} entries"
        raise InputError(f"row {row}: {what}, the first row has {lengths[0]}; expected the same", path=name)
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
        words="Parquet with `embedding` (lists), `utterance_id`, `speaker_id`; other columns of words or numbers are "
        "attributes",
        read=read_parquet,
        containers=(PARQUET,),
        place=40,
    )
)

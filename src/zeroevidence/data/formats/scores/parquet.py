"""Tables in Parquet: columns by name as in any table with a header, types as they are stored."""

from __future__ import annotations

import numpy as np
import polars as pl

from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.formats.input_file import InputFile, check_parquet
from zeroevidence.data.formats.scores.named import TABLE, named_columns
from zeroevidence.data.formats.scores.reading.layout import Role
from zeroevidence.data.formats.scores.reading.table import Problems, Table
from zeroevidence.data.formats.text import LABELS, LABELS_EXPECTED
from zeroevidence.errors import InputError


def read_parquet(file: InputFile, _role: Role) -> Table:
    """The table in a Parquet file; "line" in its problems is the row, counted from 1.

    Raises
    ------
    InputError
        When the file is broken or a column has a type that cannot hold what it should.
    """
    with reading_file(file.name, "Parquet"):
        check_parquet(file)
        raw = pl.read_parquet(file.open(), hive_partitioning=False)
    meaning = named_columns(raw.columns, file.name, None)
    frame = raw.select(pl.col(column).alias(name) for column, name in zip(raw.columns, meaning, strict=True) if name)
    if frame.is_empty():
        raise InputError("empty; expected one trial per row", path=file.name)
    problems = Problems(file.name)
    frame = frame.with_columns(_converted(frame[column], file.name, problems) for column in frame.columns)
    rows = np.arange(1, len(frame) + 1)
    return Table(file.name, TABLE, frame, rows, True, tuple(problems.all()))


def _converted(column: pl.Series, name: str, problems: Problems) -> pl.Series:
    if column.dtype.is_nested() or column.dtype == pl.Binary or column.dtype == pl.Object:
        raise InputError(f"column {column.name} is of type {column.dtype}; expected plain values", path=name)
    if column.name == "score":
        if not column.dtype.is_numeric():
            raise InputError(f"column score is of type {column.dtype}; expected numbers", path=name)
        scores = column.cast(pl.Float64)
        for row in scores.is_nan().fill_null(True).arg_true():
            problems.add(row + 1, f"score {column[row]} is not finite; expected a finite number")
        return scores
    words = column.cast(pl.String)
    if column.name == "label":
        if column.dtype == pl.Boolean:
            words = pl.Series(column.name, ["target" if target else "nontarget" for target in column], dtype=pl.String)
            words = words.set(column.is_null(), None)
        labels = words.replace_strict(LABELS, default=None, return_dtype=pl.Boolean)
        for row in labels.is_null().arg_true():
            problems.add(row + 1, f"unknown label {words[row]!r}; {LABELS_EXPECTED}")
        return labels
    if column.name.endswith("speaker"):
        return words.fill_null("")
    for row in (words.is_null() | (words == "")).arg_true():
        problems.add(row + 1, f"empty {column.name}; expected an identifier")
    return words.fill_null("")

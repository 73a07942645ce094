"""Strict reader of lines of text: polars parses them, and whatever is unusual is left to the line reader."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.text import LABELS, is_utf8, without_mark

CONVERTED = ("score", "label")
_CACHED = 1 << 18  # bytes that stay in the cache
_TARGETS = [word for word, target in LABELS.items() if target]


def column_types(layout: Layout) -> list[pl.DataType]:
    """Return the polars type of each column; identifiers are numbered (Categorical), so that they take little memory.

    Each column has numbers of its own.
    """
    converted = dict(zip(CONVERTED, (pl.Float64(), pl.Enum(list(LABELS))), strict=True))  # polars refuses other labels
    return [
        converted.get(meaning) or (pl.Categorical(pl.Categories.random()) if meaning else pl.String())
        for meaning in layout.columns
    ]


def parse_lines(data: bytes, layout: Layout, types: Sequence[pl.DataType]) -> pl.DataFrame | None:
    """Return a row for each of these whole lines below the header; None where the line reader might differ."""
    separator = layout.separator.encode()
    if (separator != b" " and b'"' in data) or without_mark(data) is not data or not is_utf8(data):
        return None
    rows, marks = count_lines(data), _count_marks(data, separator)
    if marks != rows * len(types):
        data = _tidy(data, separator)
        if _count_marks(data, separator) != rows * len(types):
            return None
    schema = {f"column_{i + 1}": kind for i, kind in enumerate(types)}
    try:
        raw = pl.read_csv(
            data, has_header=False, separator=layout.separator, quote_char=None, schema=schema, glob=False
        )
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None
    named = zip(raw.columns, layout.columns, strict=True)
    frame = raw.select(pl.col(column).alias(meaning) for column, meaning in named if meaning)
    frame = frame.with_columns(pl.col("^.*_speaker$").fill_null(""))  # only speakers may be left empty
    if raw.height != rows or any(frame.null_count().row(0)):
        return None
    if "score" in frame.columns and not frame["score"].is_finite().all():
        return None
    return frame.with_columns(pl.col("^label$").is_in(_TARGETS))


def count_lines(data: bytes) -> int:
    """Return how many lines there are; the last may have no end."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n"))) + (not data.endswith(b"\n"))


def _count_marks(data: bytes, separator: bytes) -> int:
    """Return how many separators, blanks, ends of lines and control characters there are; the last line has an end.

    A clean line has as many as it has cells.
    """
    letters, count = np.frombuffer(data, np.uint8), int(not data.endswith(b"\n"))
    for start in range(0, len(letters), _CACHED):
        block = letters[start : start + _CACHED]
        mark = block <= ord(" ")
        if separator not in b" \t":
            mark |= block == separator[0]
        count += int(np.count_nonzero(mark))
    return count


def _tidy(data: bytes, separator: bytes) -> bytes:
    """Return the same lines without carriage returns and, where blanks separate cells, without those beyond one."""
    data = data.replace(b"\r\n", b"\n")
    if separator != b" ":
        return data
    data = data.replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")

"""Clean reader of text files: polars reads the whole file while a thread counts the characters between its cells.

A row of so many filled cells takes as many separators and ends of lines. If there are no others, nor blanks or control
characters, every line is a row, and its number is known.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader, BytesIO

import numpy as np
import polars as pl

from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.scores.reading.polars_reader import CACHED, column_types, parse_csv, select_columns
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.text import without_mark

_ASCII = 128


def read_clean(file: InputFile, layout: Layout, *, coded: bool = False) -> Table | None:
    """Return the table of a clean text file, with its lines, or None when it needs another reader.

    Parameters
    ----------
    file
        The file.
    layout
        Its columns.
    coded
        Whether identifiers become numbers, as in `read_by_polars`.
    """
    skipped, separator, types = layout.header or 0, layout.separator.encode(), column_types(layout, coded=coded)
    if len(file.head(CACHED)) < CACHED:  # a thread would take longer to start
        marks = _count_marks(file, separator, skipped)
        with file.reading() as stream:
            raw = None if marks is None else parse_csv(stream, layout, types, skipped=skipped)
    else:
        with file.reading() as stream, ThreadPoolExecutor(1) as thread:
            counting = thread.submit(_count_marks, file, separator, skipped)
            raw = parse_csv(stream, layout, types, skipped=skipped)
            marks = counting.result()
    frame = None if raw is None or marks is None else _every_line(raw, marks, layout)
    if frame is None:
        return None
    return Table(file.name, layout.format, frame, range(skipped + 1, skipped + 1 + frame.height), True)


def begins_clean(head: bytes, layout: Layout) -> bool:
    """Return whether the first lines of a file are clean; the last of them may be cut."""
    *_, rows = head[: head.rfind(b"\n") + 1].split(b"\n", layout.header or 0)
    return clean_rows(rows, layout, column_types(layout, coded=False)) is not None


def clean_rows(data: bytes, layout: Layout, types: Sequence[pl.DataType]) -> pl.DataFrame | None:
    """Return the rows of a part of a file below its header, one for each line; None where lines are unusual."""
    marks = _count(BytesIO(data), layout.separator.encode())
    raw = None if marks is None else parse_csv(data, layout, types)
    return None if raw is None or marks is None else _every_line(raw, marks, layout)


def _every_line(raw: pl.DataFrame, marks: int, layout: Layout) -> pl.DataFrame | None:
    """Return the rows that were parsed, if each is a whole line and there is nothing else."""
    if marks != raw.height * raw.width or any(raw.null_count().row(0)):
        return None
    return select_columns(raw, layout)


def _count_marks(file: InputFile, separator: bytes, skipped: int) -> int | None:
    """Return `_count` of a file below the skipped lines."""
    with file.reading() as stream:
        for _ in range(skipped):
            stream.readline()
        return _count(stream, separator)


def _count(stream: BufferedReader | BytesIO, separator: bytes) -> int | None:
    """Count separators, blanks, ends of lines and control characters; the end of the file ends the last line, too.

    Returns None where there is a byte order mark, which polars would drop, a quote that has a meaning, or no UTF-8.
    """
    room, decoder, count, last = bytearray(CACHED), None, 0, ord("\n")
    letters = np.frombuffer(room, np.uint8)
    while size := stream.readinto(room):
        block = letters[:size]
        if count == 0 and without_mark(block[:3].tobytes()) == b"":
            return None
        mark = block <= ord(" ")
        if separator not in b" \t":
            mark |= block == separator[0]
        if separator != b" " and (block == ord('"')).any():
            return None
        count, last = count + int(np.count_nonzero(mark)), int(block[-1])
        if decoder is None and block.max() < _ASCII:
            continue
        decoder = decoder or codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(block.tobytes())
        except UnicodeDecodeError:
            return None
    if decoder is not None and decoder.getstate()[0]:
        return None
    return count + (last != ord("\n"))

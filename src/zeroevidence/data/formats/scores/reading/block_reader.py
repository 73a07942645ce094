"""Block reader of text files: every row and every problem with its line, nearly at the speed of polars.

Blocks of clean lines are read by polars. An unusual block is divided into parts, and only unusual parts are read line
by line. The result is that of the line reader for the whole file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.clean_reader import clean_rows
from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.scores.reading.line_reader import line_rows, table_of_parts
from zeroevidence.data.formats.scores.reading.polars_reader import column_types, identifier_types
from zeroevidence.data.formats.scores.reading.table import Table

_BLOCK = 1 << 23  # bytes that are read at once while lines are clean
_PART = 1 << 19  # bytes that are read line by line around an unusual line


def read_blocks(
    data: bytes,
    name: str,
    layout: Layout,
    *,
    infinite: bool = False,
    coded: bool = False,
    sizes: Sequence[int] = (_BLOCK, _PART),
) -> Table:
    """Return the table that `read_lines` would return.

    Parameters
    ----------
    data
        The file.
    name
        The file as the user wrote it.
    layout
        Its columns.
    infinite
        Whether infinite scores are allowed.
    coded
        Whether identifiers become numbers (a Categorical of polars).
    sizes
        Bytes of a block, and of the parts that an unusual block is divided into.
    """
    problems, types = FileProblems(name), column_types(layout, coded=coded)
    identifiers = identifier_types(layout, types)

    def rows(data: bytes, first: int, sizes: Sequence[int]) -> Iterator[tuple[pl.DataFrame, IntArray]]:
        for line, body in _parts(data, sizes[0], first):
            clean = None if line == 1 else clean_rows(body, layout, types)  # the first has the header, if any
            if clean is not None:
                yield clean, np.arange(line, line + clean.height)
            elif len(sizes) > 1:
                yield from rows(body, line, sizes[1:])
            else:
                frame, lines = line_rows(body, layout, problems, infinite=infinite, first=line)
                yield frame.with_columns(pl.col(name).cast(kind) for name, kind in identifiers.items()), lines

    return table_of_parts(layout, list(rows(data, 1, sizes)), problems)


def _parts(data: bytes, size: int, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield parts of whole lines, with the number of the first line of each."""
    start = 0
    while True:
        end = data.find(b"\n", start + size) + 1 or len(data)
        body = data[start:end]
        yield first, body
        if end == len(data):
            return
        start, first = end, first + body.count(b"\n")

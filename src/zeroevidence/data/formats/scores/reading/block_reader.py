"""Every row and every problem of a text file with its line, at the speed of the quick reader where lines are clean.

The file is read in blocks, and in parts where a block is unusual: what holds nothing unusual by the quick reader, the
rest line by line. What comes out
is what the careful reader says of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.scores.reading.clean_reader import regular_rows
from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.scores.reading.line_reader import careful_rows, located_table
from zeroevidence.data.formats.scores.reading.polars_reader import column_kinds, kinds_by_name
from zeroevidence.data.formats.scores.reading.table import Problems, Table

_BLOCK = 1 << 23  # bytes that are read at once while nothing is wrong
_PART = 1 << 19  # bytes: a bad line costs a careful look at as many


def read_located(
    data: bytes,
    name: str,
    layout: Layout,
    *,
    infinite: bool = False,
    coded: bool = False,
    sizes: Sequence[int] = (_BLOCK, _PART),
) -> Table:
    """As `read_carefully`, by blocks and parts of about so many bytes; identifiers are numbers where `coded`."""
    problems, kinds = Problems(name), column_kinds(layout, coded=coded)
    names = kinds_by_name(layout, kinds)

    def rows(data: bytes, first: int, sizes: Sequence[int]) -> Iterator[tuple[pl.DataFrame, IntArray]]:
        for line, body in _parts(data, sizes[0], first):
            quick = None if line == 1 else regular_rows(body, layout, kinds)  # the first has the header, if any
            if quick is not None:
                yield quick, np.arange(line, line + quick.height)
            elif len(sizes) > 1:
                yield from rows(body, line, sizes[1:])
            else:
                frame, lines = careful_rows(body, layout, problems, infinite=infinite, first=line)
                yield frame.with_columns(pl.col(one).cast(kind) for one, kind in names.items()), lines

    return located_table(layout, list(rows(data, 1, sizes)), problems)


def _parts(data: bytes, size: int, first: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines together, with the number of the first."""
    start = 0
    while True:
        end = data.find(b"\n", start + size) + 1 or len(data)
        body = data[start:end]
        yield first, body
        if end == len(data):
            return
        start, first = end, first + body.count(b"\n")

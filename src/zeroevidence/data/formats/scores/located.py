"""Every row and every problem of a text file with its line, at the speed of the quick reader where lines are clean.

The file is read in parts: those that hold nothing unusual by the quick reader, the others line by line. What comes out
is what the careful reader says of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.scores.careful import careful_rows, located_table
from zeroevidence.data.formats.scores.layout import Layout
from zeroevidence.data.formats.scores.quick import regular_rows
from zeroevidence.data.formats.scores.table import Problems, Table

_PART = 1 << 20  # bytes: a bad line costs a careful look at as many


def read_located(data: bytes, name: str, layout: Layout, *, infinite: bool = False, part: int = _PART) -> Table:
    """As `read_carefully`, by parts of about so many bytes."""
    problems, rows = Problems(name), list[tuple[pl.DataFrame, IntArray]]()
    for first, body in _parts(data, part):
        quick = None if first == 1 else regular_rows(body, layout)  # the first has the header, if there is one
        if quick is None:
            rows.append(careful_rows(body, layout, problems, infinite=infinite, first=first))
        else:
            rows.append((quick, np.arange(first, first + quick.height)))
    return located_table(layout, rows, problems)


def _parts(data: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines together, with the number of the first."""
    start, first = 0, 1
    while True:
        end = data.find(b"\n", start + size) + 1 or len(data)
        body = data[start:end]
        yield first, body
        if end == len(data):
            return
        start, first = end, first + body.count(b"\n")

"""Line reader of text files: slow, and the reference for what is wrong in which line.

It accepts everything that the format allows and names the line of everything else. The other readers return what it
would return.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.scores.reading.table import Table

_CONVERTED = ("score", "label")


def read_lines(data: bytes, name: str, layout: Layout, *, infinite: bool = False) -> Table:
    """Return the table of a text file, with the line of every row and of every problem.

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
    """
    problems = FileProblems(name)
    return table_of_parts(layout, [line_rows(data, layout, problems, infinite=infinite)], problems)


def line_rows(
    data: bytes, layout: Layout, problems: FileProblems, *, infinite: bool, first: int = 1
) -> tuple[pl.DataFrame, IntArray]:
    """Return the rows of a part of a file that begins with line `first`, and their lines."""
    columns = [(i, column) for i, column in enumerate(layout.columns) if column]
    values: dict[str, list[str | float | bool | None]] = {column: [] for _, column in columns}
    lines: list[int] = []
    plain = layout.separator == " " and text.is_plain(data)
    width = len(layout.columns)
    for number, raw in text.numbered_lines(data, first):
        if text.is_blank(raw) or (layout.header is not None and number <= layout.header):
            continue
        cells = raw.decode("ascii").split() if plain else _cells(raw, layout)
        if isinstance(cells, str):
            problems.add(number, cells)
            continue
        if len(cells) != width:
            problems.add(number, f"{len(cells)} column(s); expected {width}: {layout.expected}")
            continue
        if "" in cells:
            empty = [column for i, column in columns if not cells[i] and not column.endswith("speaker")]
            if empty:
                problems.add(number, f"empty {empty[0]}; expected {layout.expected}")
                continue
        lines.append(number)
        for i, column in columns:
            cell = cells[i]
            values[column].append(_value(cell, column, number, problems, infinite) if column in _CONVERTED else cell)
    types = dict(zip(_CONVERTED, (pl.Float64(), pl.Boolean()), strict=True))
    frame = pl.DataFrame(
        {column: pl.Series(cells, dtype=types.get(column, pl.String())) for column, cells in values.items()}
    )
    return frame, np.array(lines, dtype=np.int64)


def table_of_parts(layout: Layout, parts: Sequence[tuple[pl.DataFrame, IntArray]], problems: FileProblems) -> Table:
    """Return the parts of a file, in their order, as one table."""
    frame, lines = pl.concat([rows for rows, _ in parts]), np.concatenate([lines for _, lines in parts])
    if not len(lines) and not problems:
        problems.add(None, "empty below its header; expected one trial per line")
    return Table(problems.name, layout.format, frame, lines, True, tuple(problems.all()))


def _cells(raw: bytes, layout: Layout) -> list[str] | str:
    line, wrong = text.decode(raw)
    if wrong:
        return wrong
    return text.split(line, layout.separator)


def _value(cell: str, column: str, number: int, problems: FileProblems, infinite: bool) -> float | bool | None:
    if column == "score":
        score = text.parse_score(cell, infinite=infinite)
        if isinstance(score, str):
            problems.add(number, score)
            return None
        return score
    label = text.LABELS.get(cell)
    if label is None:
        problems.add(number, f"unknown label {cell!r}; {text.LABELS_EXPECTED}")
    return label

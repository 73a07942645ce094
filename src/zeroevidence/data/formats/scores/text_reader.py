"""Readers of text: polars parses clean blocks of lines, and unusual ones are read line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from typing import TypeAlias

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.layout import Layout, Table
from zeroevidence.parallel import compute_beside

CONVERTED = ("score", "label")
_CACHED = 1 << 18  # bytes that stay in the cache
_TARGETS = [word for word, target in text.LABELS.items() if target]


def column_types(layout: Layout) -> list[pl.DataType]:
    """Return the polars type of each column; identifiers are numbered (Categorical), so that they take little memory.

    Each column has numbers of its own.
    """
    labels = pl.Enum(list(text.LABELS))  # polars refuses others
    converted = dict(zip(CONVERTED, (pl.Float64(), labels), strict=True))
    return [
        converted.get(meaning) or (pl.Categorical(pl.Categories.random()) if meaning else pl.String())
        for meaning in layout.columns
    ]


def parse_lines(data: bytes, layout: Layout, types: Sequence[pl.DataType]) -> pl.DataFrame | None:
    """Return a row for each of these whole lines below the header; None where the line reader might differ."""
    separator = layout.separator.encode()
    if layout.commas or (separator != b" " and b'"' in data):
        return None
    if text.without_mark(data) is not data or not text.is_utf8(data):
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
    if "score" in frame.columns and frame["score"].is_infinite().any():  # which 1e999 is not
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


_Part: TypeAlias = "tuple[pl.DataFrame, IntArray | range]"  # rows, and their lines; polars is not loaded for it

_ABREAST = 2  # blocks that are read at the same time
BLOCKS = (1 << 23, 1 << 19, 1 << 15)  # bytes of a block, of a part of an unusual one, and of a part of that


def read_text(file: InputFile, layout: Layout, blocks: Sequence[int] = BLOCKS) -> Table:
    """Return the table of a text file, with the line of every row and of every problem.

    Parameters
    ----------
    file
        The file.
    layout
        Its columns.
    blocks
        Bytes of a block, and of the parts of an unusual block or part.
    """
    problems, types = text.FileProblems(file.name), column_types(layout)

    def parse(data: bytes) -> pl.DataFrame | None:
        return parse_lines(data, layout, types)

    def rows(data: bytes, frame: pl.DataFrame | None, first: int, sizes: Sequence[int]) -> Iterator[_Part]:
        """Yield the rows of the lines from `first` on: those that were parsed, or those of each part of the lines."""
        if frame is not None:
            yield frame, range(first, first + frame.height)
        elif sizes:
            for part in InputFile.holding(file.name, data).blocks(sizes[0]):
                yield from rows(part, parse(part), first, sizes[1:])
                first += count_lines(part)
        else:
            yield _line_rows(data, layout, types, problems, first)

    parts: list[_Part] = []
    first, contents = (layout.header or 0) + 1, _below_header(file.blocks(blocks[0]), layout)
    while several := list(islice(contents, _ABREAST)):
        for data, frame in zip(several, compute_beside(*(partial(parse, data) for data in several)), strict=True):
            parts += rows(data, frame, first, blocks[1:])
            first += count_lines(data) if frame is None else frame.height
    lines = _joined([lines for _, lines in parts])
    if not len(lines) and not problems:
        problems.add(None, "empty below its header; expected one trial per line")
    frame = pl.concat([frame for frame, _ in parts]) if parts else _line_rows(b"", layout, types, problems, 1)[0]
    return Table(file.name, layout.format, frame, lines, tuple(problems.all()), layout.titles, layout.unit)


def _below_header(blocks: Iterator[bytes], layout: Layout) -> Iterator[bytes]:
    """Yield what blocks of lines hold below the header, without a byte order mark."""
    lines = layout.header or 0  # still to be left out
    for number, block in enumerate(blocks):
        *above, data = (block if number else text.without_mark(block)).split(b"\n", lines)
        lines -= len(above)
        if data and not lines:
            yield data


def _joined(parts: Sequence[IntArray | range]) -> IntArray | range:
    """Return the numbers of lines of consecutive parts as one; they take no memory where no line is left out."""
    if all(isinstance(part, range) for part in parts) and all(one[-1] + 1 == two[0] for one, two in pairwise(parts)):
        return range(parts[0][0], parts[-1][-1] + 1) if parts else range(0)
    # NumPy would take each number of a range by itself
    return np.concatenate([np.arange(part[0], part[-1] + 1) if isinstance(part, range) else part for part in parts])


def _line_rows(
    data: bytes, layout: Layout, types: Sequence[pl.DataType], problems: text.FileProblems, first: int
) -> tuple[pl.DataFrame, IntArray]:
    """Return the rows of a part of a file that begins with line `first`, and their lines."""
    columns = [(i, column) for i, column in enumerate(layout.columns) if column]
    values: dict[str, list[str | float | bool | None]] = {column: [] for _, column in columns}
    lines: list[int] = []
    plain = layout.separator == " " and text.is_plain(data)
    width = len(layout.columns)
    for number, line in enumerate(data.split(b"\n"), first):
        raw = line.removesuffix(b"\r")
        if text.is_blank(raw):
            continue
        decoded, wrong = (raw.decode("ascii"), None) if plain else text.decode(raw)
        cells = decoded.split() if plain else wrong or text.split(decoded, layout.separator)
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
            values[column].append(_value(cell, column, number, problems, layout) if column in CONVERTED else cell)
    kinds = {column: pl.Boolean() if column == "label" else types[i] for i, column in columns}
    frame = pl.DataFrame({column: pl.Series(cells, dtype=kinds[column]) for column, cells in values.items()})
    return frame, np.array(lines, dtype=np.int64)


def _value(cell: str, column: str, number: int, problems: text.FileProblems, layout: Layout) -> float | bool | None:
    """Return a score, perhaps infinite or NaN, or whether a label is that of a target; None for neither."""
    if column == "score":
        score = text.parse_score(cell, finite=False, commas=layout.commas)
        if isinstance(score, str):
            problems.add(number, score)
            return None
        return score
    label = text.LABELS.get(cell)
    if label is None:
        problems.add(number, f"unknown label {cell!r}; {text.LABELS_EXPECTED}")
    return label

"""Polars reader of text files that may have untidy blanks or line ends.

It returns None at the first sign of anything that the line reader might judge differently; otherwise it returns what
the line reader would have returned, without line numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, TypeVar

import numpy as np
import polars as pl

from zeroevidence.data.formats.scores.reading.layout import Layout
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.text import LABELS, without_mark

T = TypeVar("T")

PORTION = 1 << 23  # bytes of a file that are read at once
CACHED = 1 << 18  # bytes that stay in the cache
_TRUE = [word for word, target in LABELS.items() if target]
_END = object()
_CONVERTED = ("score", "label")


def read_by_polars(blocks: Iterable[bytes], name: str, layout: Layout, *, coded: bool = False) -> Table | None:
    """Return the table of a text file, or None when it needs the line reader.

    Parameters
    ----------
    blocks
        The file in blocks of whole lines.
    name
        The file as the user wrote it.
    layout
        Its columns.
    coded
        Whether identifiers become numbers (a Categorical of polars): as text, they would take several times the memory
        of everything else.
    """
    types = column_types(layout, coded=coded)
    frames: list[pl.DataFrame] = []
    for block in _ahead(_tidy(block, layout, first=number == 0) for number, block in enumerate(blocks)):
        raw = None if block is None else parse_csv(block, layout, types)
        frame = None if raw is None else select_columns(raw, layout)
        if frame is None:
            return None
        frames.append(frame)
    if not frames:
        return None
    return Table(name, layout.format, frames[0] if len(frames) == 1 else pl.concat(frames), None, False)


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items, each computed in a thread while the one before is worked on."""
    with ThreadPoolExecutor(1) as thread:
        upcoming = thread.submit(next, items, _END)
        while (item := upcoming.result()) is not _END:
            upcoming = thread.submit(next, items, _END)
            yield item  # type: ignore[misc]


def column_types(layout: Layout, *, coded: bool) -> list[pl.DataType]:
    """Return the polars type of each column; the codes of each Categorical are its own."""
    converted = dict(zip(_CONVERTED, (pl.Float64(), pl.Enum(list(LABELS))), strict=True))  # polars refuses other labels
    return [
        converted.get(meaning or "") or (pl.Categorical(pl.Categories.random()) if coded and meaning else pl.String())
        for meaning in layout.columns
    ]


def identifier_types(layout: Layout, types: Sequence[pl.DataType]) -> dict[str, pl.DataType]:
    """Return the types of the columns of identifiers."""
    pairs = zip(layout.columns, types, strict=True)
    return {meaning: kind for meaning, kind in pairs if meaning and meaning not in _CONVERTED}


def parse_csv(
    source: bytes | BinaryIO, layout: Layout, types: Sequence[pl.DataType], *, skipped: int = 0
) -> pl.DataFrame | None:
    """Return all columns below the skipped lines as polars reads them, or None where it refuses."""
    schema = {f"column_{i + 1}": kind for i, kind in enumerate(types)}
    try:
        return pl.read_csv(
            source,
            has_header=False,
            separator=layout.separator,
            quote_char=None,
            schema=schema,
            skip_lines=skipped,
            glob=False,
        )
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None


def select_columns(raw: pl.DataFrame, layout: Layout) -> pl.DataFrame | None:
    """Return the columns that have a meaning, or None when there is anything unusual in them."""
    frame = raw.select(
        pl.col(column).alias(meaning) for column, meaning in zip(raw.columns, layout.columns, strict=True) if meaning
    )
    # An absent or empty column reads as null; only a speaker may be left empty.
    frame = frame.with_columns(pl.col("^.*_speaker$").fill_null(""))
    if frame.is_empty() or any(frame.null_count().row(0)):
        return None
    if "score" in frame.columns and not frame["score"].is_finite().all():
        return None
    if "label" in frame.columns:
        frame = frame.with_columns(pl.col("label").is_in(_TRUE))
    return frame


def _tidy(body: bytes, layout: Layout, *, first: bool) -> bytes | None:
    """Return the same rows with one separator between columns and one line feed between rows, None where unusual."""
    separator = layout.separator.encode()
    if first:
        body = without_mark(body)
        if without_mark(body) is not body:
            return None  # polars would drop this second mark; here it belongs to the first cell
    if (separator != b" " and b'"' in body) or not _is_utf8(body):
        return None
    if not _regular(body, separator, len(layout.columns)):
        tidied = _tidy_blanks(body) if separator == b" " else _tidy_cells(body, separator)
        if tidied is None:
            return None
        body = tidied
        rows = body.count(b"\n") + 1
        if not body or body.count(separator) != rows * (len(layout.columns) - 1):
            return None
    return body if layout.header is None or not first else body.partition(b"\n")[2]


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _regular(body: bytes, separator: bytes, columns: int) -> bool:
    """Return whether single separators and line feeds could alternate as in a clean file.

    Rows that are too long and too short by turns are left to polars, which refuses them or reads a null.
    """
    if not body.endswith(b"\n") or columns < 2:
        return False
    letters, counts = np.frombuffer(body, dtype=np.uint8), Counter[str]()
    for start in range(0, len(letters), CACHED):  # blocks that stay in the cache, each with a look at the next letter
        block = letters[start : start + CACHED + 1]
        blank = block <= ord(" ")
        split = block == separator[0]
        mark = blank if separator in b" \t" else blank | split
        if (mark[1:] & mark[:-1]).any() or (start == 0 and mark[0]):
            return False
        counts["marks"] += int(np.count_nonzero(mark[:CACHED]))
        counts["splits"] += int(np.count_nonzero(split[:CACHED]))
        counts["rows"] += int(np.count_nonzero(block[:CACHED] == ord("\n")))
    rows = counts["rows"]
    return counts["splits"] == rows * (columns - 1) and counts["marks"] == rows + counts["splits"]


def _tidy_blanks(body: bytes) -> bytes | None:
    """Take out tabs, repeated blanks, blanks around lines, CRLF and empty lines."""
    body = _unix(body)
    if not _printable(body):
        return None
    body = body.replace(b"\t", b" ")
    while b"  " in body:
        body = body.replace(b"  ", b" ")
    return _without_blank_lines(body.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" \n"))


def _tidy_cells(body: bytes, separator: bytes) -> bytes | None:
    """Take out CRLF and empty lines; blanks next to a separator are left to the line reader."""
    body = _unix(body)
    edges = rb"[ \t](?:%b|\n|\Z)|(?:%b|\n|\A)[ \t]" if separator != b"\t" else rb" (?:%b|\n|\Z)|(?:%b|\n|\A) "
    if not _printable(body) or re.search(edges % (separator, separator), body):
        return None
    return _without_blank_lines(body)


def _unix(body: bytes) -> bytes:
    return body.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in body else body


def _printable(body: bytes) -> bool:
    control = np.count_nonzero(np.frombuffer(body, dtype=np.uint8) < 32)
    return bool(control == body.count(b"\t") + body.count(b"\n"))


def _without_blank_lines(body: bytes) -> bytes:
    while b"\n\n" in body:
        body = body.replace(b"\n\n", b"\n")
    return body.strip(b"\n")

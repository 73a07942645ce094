"""The quick reader of text files: the whole file through polars, only when nothing is unusual.

It returns None at the first sign of anything that the careful reader might judge differently; what it
returns is what the careful reader would have returned, except the line numbers.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.scores.layout import Layout
from zeroevidence.data.formats.scores.table import Table
from zeroevidence.data.formats.text import LABELS, without_mark

PORTION = 1 << 26  # bytes of a file that are read at once
_CACHED = 1 << 18  # bytes that stay in the cache
_TRUE = [word for word, target in LABELS.items() if target]
_DTYPES = {"score": pl.Float64(), "label": pl.Enum(list(LABELS))}  # polars refuses other words


def read_quickly(data: bytes, name: str, layout: Layout, *, coded: bool = False) -> Table | None:
    """The table that a text file holds, or None when it needs the careful reader.

    A large file is read in blocks of lines, whose identifiers become numbers (an Enum of polars) where `coded`: written
    out, they would take several times the memory of everything that is computed with.
    """
    body = without_mark(data)
    if without_mark(body) is not body:  # polars would drop this second mark; here it belongs to the first cell
        return None
    blocks = _blocks(body)
    frames: list[pl.DataFrame] = []
    codes: dict[str, _Codes] = {}
    for block in blocks:
        tidy = _tidied(bytes(block), layout, first=not frames)
        frame = None if tidy is None else _frame(tidy, layout)
        if frame is None:
            return None
        if coded and len(blocks) > 1:
            for column in (column for column, kind in frame.schema.items() if kind == pl.String()):
                numbers = codes.setdefault(column, _Codes()).of(frame[column])
                frame = frame.with_columns(pl.Series(column, numbers))
        frames.append(frame)
    frame = frames[0] if len(frames) == 1 else pl.concat(frames)
    del frames
    for column, known in codes.items():
        frame = frame.with_columns(known.names().gather(frame[column]).alias(column))
    return Table(name, layout.format, frame, None, False)


class _Codes:
    """Names as numbers, in order of first appearance."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def of(self, names: pl.Series) -> NDArray[np.uint32]:
        """The number of each."""
        own = names.unique(maintain_order=True)
        found = [self.places.setdefault(one, len(self.places)) for one in own]
        codes: IntArray = names.cast(pl.Enum(own)).to_physical().to_numpy()
        return np.array(found, np.uint32)[codes]

    def names(self) -> pl.Series:
        """The name of each number."""
        names = list(self.places)
        return pl.Series(names, dtype=pl.Enum(names))


def _blocks(body: bytes) -> list[memoryview]:
    """The lines of a file in blocks of about `PORTION` bytes."""
    view, start, found = memoryview(body), 0, []
    while start < len(body):
        end = body.find(b"\n", start + PORTION) + 1 or len(body)
        found.append(view[start:end])
        start = end
    return found or [view]


def regular_rows(data: bytes, layout: Layout) -> pl.DataFrame | None:
    """The rows of a part of a file below its header, one for each line, or None when it needs the careful reader."""
    separator = layout.separator.encode()
    if (separator != b" " and b'"' in data) or not _is_utf8(data) or without_mark(data) is not data:
        return None
    return _frame(data, layout) if _regular(data, separator, len(layout.columns)) else None


def _frame(body: bytes, layout: Layout) -> pl.DataFrame | None:
    """Tidy rows as polars reads them, or None when there is anything unusual."""
    names = [f"column_{i + 1}" for i in range(len(layout.columns))]
    schema = {
        column: _DTYPES.get(meaning or "", pl.String()) for column, meaning in zip(names, layout.columns, strict=True)
    }
    try:
        raw = pl.read_csv(body, has_header=False, separator=layout.separator, quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    frame = raw.select(
        pl.col(column).alias(meaning) for column, meaning in zip(names, layout.columns, strict=True) if meaning
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


def _tidied(body: bytes, layout: Layout, *, first: bool) -> bytes | None:
    """The same rows with one separator between columns, one line feed between rows, nothing around."""
    separator = layout.separator.encode()
    if (separator != b" " and b'"' in body) or not _is_utf8(body):
        return None
    if not _regular(body, separator, len(layout.columns)):
        again = _blanks_tidied(body) if separator == b" " else _cells_tidied(body, separator)
        if again is None:
            return None
        body = again
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
    """Whether single separators and line feeds could alternate as in a clean file.

    Rows that are too long or too short by turns are left to polars, which refuses them or reads a null.
    """
    if not body.endswith(b"\n") or columns < 2:
        return False
    letters, found = np.frombuffer(body, dtype=np.uint8), Counter[str]()
    for start in range(0, len(letters), _CACHED):  # blocks that stay in the cache, each with a look at the next letter
        block = letters[start : start + _CACHED + 1]
        blank = block <= ord(" ")
        split = block == separator[0]
        mark = blank if separator in b" \t" else blank | split
        if (mark[1:] & mark[:-1]).any() or (start == 0 and mark[0]):
            return False
        found["marks"] += int(np.count_nonzero(mark[:_CACHED]))
        found["splits"] += int(np.count_nonzero(split[:_CACHED]))
        found["rows"] += int(np.count_nonzero(block[:_CACHED] == ord("\n")))
    rows = found["rows"]
    return found["splits"] == rows * (columns - 1) and found["marks"] == rows + found["splits"]


def _blanks_tidied(body: bytes) -> bytes | None:
    """Tabs, repeated blanks, blanks around lines, CRLF and empty lines taken out."""
    body = _unix(body)
    return _single_blanks(body) if _printable(body) else None


def _cells_tidied(body: bytes, separator: bytes) -> bytes | None:
    """CRLF and empty lines taken out; blanks next to a separator are left to the careful reader."""
    body = _unix(body)
    edges = rb"[ \t](?:%b|\n|\Z)|(?:%b|\n|\A)[ \t]" if separator == b"," else rb" (?:%b|\n|\Z)|(?:%b|\n|\A) "
    if not _printable(body) or re.search(edges % (separator, separator), body):
        return None
    return _without_blank_lines(body)


def _unix(body: bytes) -> bytes:
    return body.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in body else body


def _printable(body: bytes) -> bool:
    control = np.count_nonzero(np.frombuffer(body, dtype=np.uint8) < 32)
    return bool(control == body.count(b"\t") + body.count(b"\n"))


def _single_blanks(body: bytes) -> bytes:
    body = body.replace(b"\t", b" ")
    while b"  " in body:
        body = body.replace(b"  ", b" ")
    body = body.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" \n")
    return _without_blank_lines(body)


def _without_blank_lines(body: bytes) -> bytes:
    while b"\n\n" in body:
        body = body.replace(b"\n\n", b"\n")
    return body.strip(b"\n")

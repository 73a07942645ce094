"""Names in CSV files: what a spreadsheet would run as a formula is written so that it does not, and read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import polars as pl

_RUNS = ("=", "+", "-", "@", "\t", "\r")
_PATTERN = "^[=+@\t\r-]"
_GUARDED = "^'[=+@\t\r-]"
T = TypeVar("T")


def escape_cell(value: T) -> T | str:
    """Text that begins with a character of formulas, after an apostrophe; numbers and other text as they are.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("ann"), escape_cell(-1.5)
    ("'=1+1", 'ann', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_RUNS) else value


def escape_table(frame: pl.DataFrame) -> pl.DataFrame:
    """The same for all columns of text."""
    return _where(frame, _PATTERN, lambda cell: pl.lit("'") + cell)


def unescape_table(frame: pl.DataFrame) -> pl.DataFrame:
    """What `escape_table` made, undone."""
    return _where(frame, _GUARDED, lambda cell: cell.str.slice(1))


def _where(frame: pl.DataFrame, pattern: str, change: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Columns of text, changed where they match."""
    cells = {name: pl.col(name) for name, kind in frame.schema.items() if kind == pl.String}
    return frame.with_columns(
        pl.when(one.str.contains(pattern)).then(change(one)).otherwise(one).alias(name) for name, one in cells.items()
    )

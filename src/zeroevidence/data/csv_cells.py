"""CSV cells that a spreadsheet would run as formulas: escaped when written, and read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import polars as pl

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how formulas begin
_FORMULA_PATTERN = "^[=+@\t\r-]"
_ESCAPED_PATTERN = "^'[=+@\t\r-]"
T = TypeVar("T")


def escape_cell(value: T) -> T | str:
    """Return text that begins like a formula with an apostrophe before it; other values as they are.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("ann"), escape_cell(-1.5)
    ("'=1+1", 'ann', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def escape_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with all cells of text escaped as by `escape_cell`."""
    return _replace_cells(frame, _FORMULA_PATTERN, lambda cell: pl.lit("'") + cell)


def unescape_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table that `escape_table` was given."""
    return _replace_cells(frame, _ESCAPED_PATTERN, lambda cell: cell.str.slice(1))


def _replace_cells(frame: pl.DataFrame, pattern: str, change: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Change the cells of text that match a pattern."""
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(pattern)).then(change(text)).otherwise(text).name.keep())

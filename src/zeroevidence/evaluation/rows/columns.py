"""Columns of tables of results, declared in the metadata of dataclass fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

# number: in the unit of the measure; share: a probability or level; text: as it is
ColumnFormat: TypeAlias = Literal["number", "share", "text"]
_KEY = "column"
NOT_STORED: Mapping[str, Any] = {"stored": False}  # metadata of a field that files do not hold


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the tables of results.

    Parameters
    ----------
    name
        The field's name, which is also the column's in CSV files and data frames.
    title
        The heading that people read.
    format
        How a value is written.
    in_report
        Whether the table of an HTML report has the column.
    description
        One sentence about it, shown where the heading is explained.
    """

    name: str
    title: str
    format: ColumnFormat = "number"
    in_report: bool = False
    description: str = ""


def column(
    title: str, format: ColumnFormat = "number", *, in_report: bool = False, description: str = ""
) -> Mapping[str, Any]:
    """Metadata of a dataclass field that is a column."""
    return {_KEY: (title, format, in_report, description)}


def columns(kind: type) -> tuple[Column, ...]:
    """The columns that the fields of a dataclass declare, in their order."""
    declared = ((item.name, item.metadata[_KEY]) for item in fields(kind) if _KEY in item.metadata)
    return tuple(Column(name, *rest) for name, rest in declared)

"""A table of text, and how Markdown and CSV write tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zeroevidence.data.printable import printable
from zeroevidence.report.layout.formatting import one_line


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and cells as they are shown.

    Parameters
    ----------
    title
        Stands above the table; empty for none.
    headings
        One for each column.
    body
        Cells by row. A line end in a cell says where it may be broken.
    n_text
        The first so many columns are names, the others numbers.
    numbers
        Those of the rows, where something refers to them.
    parts
        Titles within the table, by the line of the body that they stand above.
    sentences
        One on each row, for text alone.
    """

    title: str
    headings: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    n_text: int
    numbers: tuple[int, ...] = ()
    parts: Mapping[int, str] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()


def grids_to_markdown(
    grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str], *, lead: Sequence[str] = ()
) -> str:
    """Return tables in Markdown between the paragraphs of `lead` and the notes, signatures as code."""
    parts = [_markdown_escape(paragraph) for paragraph in lead]
    for grid in grids:
        rule = ("---",) * grid.n_text + ("---:",) * (len(grid.headings) - grid.n_text)
        table = [tuple(map(_markdown_escape, line)) for line in (grid.headings, *grid.body)]
        table.insert(1, rule)
        if grid.numbers:
            first = ("#", "---:", *map(str, grid.numbers))
            table = [(number, *line) for number, line in zip(first, table, strict=True)]
        parts += [f"**{_markdown_escape(grid.title)}**"] if grid.title else []
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in table))
    parts += [_markdown_escape(note) for note in notes]
    if signatures:
        parts.append("\n".join(f"`{printable(signature).replace('`', '_')}`  " for signature in signatures))
    return "\n\n".join(parts) + "\n"


_MARKDOWN = {"<": "&lt;", **{c: "\\" + c for c in "\\|_`*"}}


def _markdown_escape(text: str) -> str:
    """One line of text without emphasis, code, tags, links or images; brackets alone do no harm."""
    return "".join(_MARKDOWN.get(c, c) for c in one_line(text)).replace("](", "]\\(")


def records_to_csv(records: Sequence[Mapping[str, object]]) -> str:
    """Return records as CSV at full precision, a column for each name that any of them has."""
    from zeroevidence.data.files.csv_cells import escape_cell  # brings polars

    buffer = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escape_cell(value) for name, value in record.items()} for record in records)
    return buffer.getvalue()

"""A table, and how Markdown, LaTeX and CSV write it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from zeroevidence.data.printable import printable
from zeroevidence.report.layout import one_line


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
    from zeroevidence.data.csv_cells import escape_cell  # brings polars

    buffer = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escape_cell(value) for name, value in record.items()} for record in records)
    return buffer.getvalue()


TEXT_WIDTH = 345.0  # points: the text of an article in ten points, the narrowest of the usual pages
_GAP = 12.0  # points between two columns
_SMALL = 0.8  # width of the second line's letters
_NARROW, _WIDE = "ijlftrI.,:;'|!()[] -", "mwMW"


def grids_to_latex(grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Booktabs tables; notes, numbers of rows and signatures as comments."""
    lines = [f"% {one_line(text)}" for text in (*notes, *signatures)]
    for grid in grids:
        lines += [line for part in fitting(grid) for line in _tabular(part)]
    return "\n".join(lines) + "\n"


def text_width(text: str, *, small: bool = False) -> float:
    """The width of a text in points, estimated without LaTeX."""
    width = sum(3.2 if c in _NARROW else 8.5 if c in _WIDE else 7.3 if c.isupper() else 5.1 for c in text)
    return width * (_SMALL if small else 1.0)


def fitting(grid: Grid) -> list[Grid]:
    """The table, or several with the same labels that fit the page; only labels themselves may be too wide for it."""
    flat = replace(grid, body=tuple(tuple(cell.replace("\n", " ") for cell in line) for line in grid.body))
    if sum(_widths(flat)) - _GAP <= TEXT_WIDTH:
        return [flat]
    grid = replace(grid, headings=tuple(text.replace(" [", "\n[") for text in grid.headings))
    widths = _widths(grid)
    used = sum(widths[: grid.n_text]) - _GAP
    places = range(grid.n_text, len(widths))
    for count in range(1, len(places) + 1):
        share = -(-len(places) // count)
        parts = [places[i : i + share] for i in range(0, len(places), share)]
        if all(used + sum(widths[i] for i in part) <= TEXT_WIDTH for part in parts):
            break
    else:
        parts = [places[i : i + 1] for i in range(len(places))]
    return [_columns(grid, part) for part in parts]


def _columns(grid: Grid, places: Sequence[int]) -> Grid:
    """The table with its labels and only these of the other columns."""
    columns = (*range(grid.n_text), *places)
    body = tuple(tuple(line[i] for i in columns) for line in grid.body)
    return replace(grid, headings=tuple(grid.headings[i] for i in columns), body=body)


def _widths(grid: Grid) -> list[float]:
    """The width of each column, with the gap beside it."""
    return [_GAP + max(map(_cell, cells)) for cells in zip(grid.headings, *grid.body, strict=True)]


def _cell(text: str) -> float:
    first, *rest = text.split("\n")
    return max(text_width(first), *(text_width(line, small=True) for line in rest), 0.0)


def _tabular(grid: Grid) -> list[str]:
    body = []
    for place, cells in enumerate(grid.body):
        first, *rest = _lines(cells)
        if place in grid.parts:
            body += [r"\midrule"] * (place > 0) + [_across(grid, grid.parts[place])]
        body += [first + (f" % row {grid.numbers[place]}" if grid.numbers else ""), *rest]
    columns = "l" * grid.n_text + "r" * (len(grid.headings) - grid.n_text)
    fits = text_width(grid.title) <= TEXT_WIDTH
    title = [_across(grid, grid.title) if fits else f"% {one_line(grid.title)}"] if grid.title else []
    return [
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        *title,
        r"\toprule",
        *_lines(grid.headings),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _across(grid: Grid, text: str) -> str:
    """A line of text over all columns."""
    return rf"\multicolumn{{{len(grid.headings)}}}{{l}}{{{_escape(text)}}} \\"


def _lines(cells: Sequence[str]) -> list[str]:
    """The lines of one row, those behind the first in a smaller size."""
    parts = [_escape(cell).split("\n") for cell in cells]
    height = max(map(len, parts))
    first = [part[0] for part in parts]
    rest = [[rf"{{\scriptsize {part[i]}}}" if i < len(part) else "" for part in parts] for i in range(1, height)]
    return [" & ".join(line) + r" \\" for line in (first, *rest)]


_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}


def _escape(text: str) -> str:
    """Cells keep their line ends, which say where they may be broken."""
    return "\n".join("".join(_SIGNS.get(c, c) for c in one_line(line)) for line in text.split("\n"))

"""Plain tables, and how Markdown writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zeroevidence.evaluation.rows.printable import printable


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and cells as they are shown; the first `n_text` columns are text, the others numbers.

    A line end in a cell says where it may be broken. `numbers` are those of the rows, where something refers to them.
    `parts` are titles within the table, by the line of the body that they stand above.
    """

    title: str
    headings: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    n_text: int
    numbers: tuple[int, ...] = ()
    parts: Mapping[int, str] = field(default_factory=dict)


def grids_to_markdown(grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Tables in Markdown, signatures as code."""
    parts = []
    for grid in grids:
        rule = ("---",) * grid.n_text + ("---:",) * (len(grid.headings) - grid.n_text)
        table = [tuple(map(_markdown_escape, line)) for line in (grid.headings, *grid.body)]
        table.insert(1, rule)
        if grid.numbers:
            first = ("#", "---:", *map(str, grid.numbers))
            table = [(number, *line) for number, line in zip(first, table, strict=True)]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in table))
        if grid.title:
            parts.insert(-1, f"**{_markdown_escape(grid.title)}**")
    parts += [_markdown_escape(note) for note in notes]
    if signatures:
        parts.append("\n".join(f"`{printable(signature).replace('`', '_')}`  " for signature in signatures))
    return "\n\n".join(parts) + "\n"


_MARKDOWN = {"<": "&lt;", **{c: "\\" + c for c in "\\|_`*"}}


def _markdown_escape(text: str) -> str:
    """One line of text without emphasis, code, tags, links or images; brackets alone do no harm."""
    return "".join(_MARKDOWN.get(c, c) for c in one_line(text)).replace("](", "]\\(")


def one_line(text: str) -> str:
    """Text without line ends and signs that are not seen."""
    return " ".join(printable(text).split())

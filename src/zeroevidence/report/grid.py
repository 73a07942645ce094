"""Plain tables, and how Markdown writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and cells as they are shown; the first `n_text` columns are text, the others numbers.

    A line end in a cell says where it may be broken. `numbers` are those of the rows, where something refers to them.
    """

    title: str
    headings: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    n_text: int
    numbers: tuple[int, ...] = ()


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
    parts.append("\n".join(f"`{signature}`  " for signature in signatures))
    return "\n\n".join(parts) + "\n"


def _markdown_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("_", "\\_")

"""Plain tables, and how Markdown and LaTeX write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.plot.words import printable


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
    parts.append("\n".join(f"`{printable(signature).replace('`', '_')}`  " for signature in signatures))
    return "\n\n".join(parts) + "\n"


_MARKDOWN = {"<": "&lt;", **{c: "\\" + c for c in "\\|_`*"}}


def _markdown_escape(text: str) -> str:
    """One line of text without emphasis, code, tags, links or images; brackets alone do no harm."""
    return "".join(_MARKDOWN.get(c, c) for c in _one_line(text)).replace("](", "]\\(")


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def grids_to_latex(grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Booktabs tables; notes, numbers of rows and signatures as comments."""
    lines = [f"% {_one_line(text)}" for text in (*notes, *signatures)]
    for grid in grids:
        cells = [" & ".join(_latex_escape(text) for text in line) + r" \\" for line in (grid.headings, *grid.body)]
        if grid.numbers:
            cells[1:] = [f"{line} % row {number}" for line, number in zip(cells[1:], grid.numbers, strict=True)]
        columns = "l" * grid.n_text + "r" * (len(grid.headings) - grid.n_text)
        lines += [f"% {_one_line(grid.title)}"] if grid.title else []
        lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", cells[0], r"\midrule", *cells[1:]]
        lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}


def _latex_escape(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in _one_line(text))

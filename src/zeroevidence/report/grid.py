"""Plain tables and how each format writes them."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Grid:
    """Headings and cells as they are shown; the first `n_text` columns are text, the others numbers."""

    title: str
    headings: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    n_text: int


def terminal_console() -> Console:
    """A console that writes into memory: with colours where the output is a terminal, plain characters elsewhere."""
    terminal = sys.stdout.isatty()
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=shutil.get_terminal_size().columns if terminal else 200,
        no_color="NO_COLOR" in os.environ or not terminal,
        highlight=False,
    )


def written(console: Console) -> str:
    """What a console from `terminal_console` holds, without blanks at the ends of lines."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def grids_to_text(grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Tables for a terminal."""
    console = terminal_console()
    for grid in grids:
        console.print(Text(grid.title, style="bold"))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for index, name in enumerate(grid.headings):
            table.add_column(Text(name), justify="left" if index < grid.n_text else "right", overflow="fold")
        for line in grid.body:
            table.add_row(*(Text(text) for text in line))
        console.print(table)
    for note in notes:
        console.print(Text(note), soft_wrap=True)
    for signature in signatures:
        console.print(Text(signature, style="dim"), soft_wrap=True)
    return written(console)


def grids_to_markdown(grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Tables in Markdown, signatures as code."""
    parts = []
    for grid in grids:
        rule = ["---"] * grid.n_text + ["---:"] * (len(grid.headings) - grid.n_text)
        lines = [
            "| " + " | ".join(_markdown_escape(text) for text in line) + " |" for line in (grid.headings, *grid.body)
        ]
        lines.insert(1, "| " + " | ".join(rule) + " |")
        parts.append("\n".join(lines))
        if grid.title:
            parts.insert(-1, f"**{_markdown_escape(grid.title)}**")
    parts += [_markdown_escape(note) for note in notes]
    parts.append("\n".join(f"`{signature}`  " for signature in signatures))
    return "\n\n".join(parts) + "\n"


def _markdown_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ").replace("_", "\\_")


def grids_to_latex(grids: Sequence[Grid], notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Booktabs tables, notes and signatures as comments."""
    lines = [f"% {' '.join(text.split())}" for text in (*notes, *signatures)]
    for grid in grids:
        cells = [" & ".join(_latex_escape(text) for text in line) + r" \\" for line in (grid.headings, *grid.body)]
        columns = "l" * grid.n_text + "r" * (len(grid.headings) - grid.n_text)
        lines += [f"% {' '.join(grid.title.split())}"] if grid.title else []
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
    return "".join(_LATEX.get(c, c) for c in text).replace("\n", " ")

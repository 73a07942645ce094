"""Plain tables on a terminal."""

from __future__ import annotations

from rich.console import Console

from zeroevidence.report.layout.formatting import one_line
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.text.columns import Column, arranged, drawn, numbered
from zeroevidence.report.text.console import say, say_lines

_AIM = 3  # a difference, its interval and its p-value stand side by side


def say_grid(console: Console, grid: Grid) -> None:
    """Print a table; columns that do not fit follow in a second one with the same rows."""
    columns = [
        Column(grid.headings[i], tuple(line[i] for line in grid.body), right=i >= grid.n_text)
        for i in range(len(grid.headings))
    ]
    labels = [Column(one.heading, tuple(map(one_line, one.cells))) for one in columns[: grid.n_text]]
    numbers = columns[grid.n_text :]
    title = grid.title
    while numbers:
        table = arranged(numbered(grid.numbers), labels, numbers, console.width, aim=_AIM)
        say(console, title, style="bold")
        console.print()
        say_lines(console, drawn(table))
        console.print()
        numbers = numbers[table.fitting :]
        title = f"{grid.title}, continued"

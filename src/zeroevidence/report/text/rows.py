"""Several results as a table: a row for each with as many measures as there is room for, or a column for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from zeroevidence.evaluation import Evaluation
from zeroevidence.report.layout.formatting import (
    Labelled,
    bounds,
    cell,
    chosen_measures,
    heading,
    labelled,
    row_numbers,
    size,
    title,
)
from zeroevidence.report.layout.implied_labels import implied
from zeroevidence.report.text.columns import Arranged, Column, arranged, drawn, numbered
from zeroevidence.report.text.console import UNBROKEN, say, say_labels, say_lines


def say_rows(console: Console, rows: Sequence[Evaluation], measures: Sequence[str] | None) -> None:
    """Print what the rows have in common, the table, and what it leaves out."""
    told = labelled(rows)
    names = chosen_measures(rows, measures)
    same_size = len({size(row) for row in rows}) == 1
    say_labels(console, told.shared)
    _say_sizes(console, rows, names, same_size=same_size)
    table = _table(rows, told, names, console.width)
    short = implied(told.columns)
    if short is not None and (table.joined or table.fitting < len(names)):
        without = replace(told, columns=short.columns)
        fewer = _table(rows, without, names, console.width)
        if fewer.fitting > table.fitting or table.joined:
            told, table = without, fewer
            say(console, short.words)
    left = names[table.fitting :]
    if left:
        turned = _turned(rows, told, names, console.width)
        table, left = (table, left) if turned is None else (turned, [])
    console.print()
    say_lines(console, drawn(table))
    console.print()
    if left:
        unseen = ", ".join(title(name) for name in left)
        say(console, f"Not shown for lack of room: {unseen}; see --measure{UNBROKEN}NAME or a wider terminal.")
    if told.threats:
        say(console, "Attackers:")
    for threat in told.threats:
        say(console, threat, indent=2)


def _table(rows: Sequence[Evaluation], told: Labelled, names: Sequence[str], width: int) -> Arranged:
    """A line for each row, and as many measures as there is room for."""
    numbers = [
        Column(heading(name, UNBROKEN), tuple(cell(row.metrics.get(name), "\n") for row in rows), True)
        for name in names
    ]
    return arranged(numbered(row_numbers(rows)), _labels(rows, told), numbers, width)


def _labels(rows: Sequence[Evaluation], told: Labelled) -> list[Column]:
    """What tells rows apart, with their sizes where these differ."""
    sizes = tuple(map(size, rows))
    own = [Column("n", sizes, right=True)] if len(set(sizes)) > 1 else []
    return [*(Column(label, cells) for label, cells in told.columns.items()), *own]


def _turned(rows: Sequence[Evaluation], told: Labelled, names: Sequence[str], width: int) -> Arranged | None:
    """A line for each measure and a column for each row; None where that does not fit."""
    labels = _labels(rows, told)
    numbers = row_numbers(rows)
    heads = [
        "\n".join([*([f"#{numbers[place]}"] if numbers else []), *(one.cells[place] for one in labels)])
        for place in range(len(rows))
    ]
    columns = [
        Column(head, tuple(cell(row.metrics.get(name), "\n") for name in names), True, tall=True)
        for head, row in zip(heads, rows, strict=True)
    ]
    found = arranged([], [Column("measure", tuple(map(heading, names)))], columns, width)
    return found if found.fitting == len(rows) and found.width <= width else None


def _say_sizes(console: Console, rows: Sequence[Evaluation], names: Sequence[str], *, same_size: bool) -> None:
    """Print the counts that all rows share, and what brackets mean."""
    parts = []
    if same_size:
        shared = {name: n for name, n in rows[0].counts.items() if all(row.counts.get(name) == n for row in rows)}
        parts = [", ".join(f"{n} {name}" for name, n in shared.items())]
    if any(bounds(row.metrics[name]) for row in rows for name in names if name in row.metrics):
        parts.append(f"95{UNBROKEN}% intervals in brackets")
    if any(parts):
        say(console, "; ".join(part for part in parts if part))

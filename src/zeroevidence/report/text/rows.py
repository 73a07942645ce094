"""Several results as a table: a row for each, and as many measures as the terminal has room for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from zeroevidence.evaluation import Evaluation
from zeroevidence.report.cells import (
    bounds,
    cell,
    chosen_measures,
    heading,
    labelled,
    row_numbers,
    size,
    title,
)
from zeroevidence.report.text.columns import Column, arranged, drawn, numbered
from zeroevidence.report.text.console import UNBROKEN, say, say_labels, say_lines


def say_rows(console: Console, rows: Sequence[Evaluation], measures: Sequence[str] | None) -> None:
    """Print what the rows have in common, the table, and what it leaves out or shortens."""
    told = labelled(rows)
    names = chosen_measures(rows, measures)
    same_size = len({size(row) for row in rows}) == 1
    say_labels(console, told.shared)
    _say_sizes(console, rows, names, same_size=same_size)
    lead = numbered(row_numbers(rows))
    labels = [Column(label, cells) for label, cells in told.columns.items()]
    labels += [] if same_size else [Column("n", tuple(map(size, rows)), right=True)]
    numbers = [
        Column(heading(name, UNBROKEN), tuple(cell(row.metrics.get(name), "\n") for row in rows), True)
        for name in names
    ]
    table = arranged(lead, labels, numbers, console.width)
    console.print()
    say_lines(console, drawn(table))
    console.print()
    if names[table.fitting :]:
        left = ", ".join(title(name) for name in names[table.fitting :])
        say(console, f"Not shown for lack of room: {left}; see -f{UNBROKEN}json, -f{UNBROKEN}csv or a wider terminal.")
    for short, text in table.cut.items():
        say(console, f"{short}: {text}", indent=2)
    if told.threats:
        say(console, "Attackers:")
    for threat in told.threats:
        say(console, threat, indent=2)


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

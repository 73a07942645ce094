"""Evaluations for a terminal: one row in full with a sentence for each number, several as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.report.cells import (
    bounds,
    cell,
    flag_lines,
    heading,
    size,
    under_null,
    used_headline,
    used_labels,
    value,
)
from zeroevidence.report.grid import terminal_console, written

_BESIDE = 5  # rows that fit beside each other


def to_text(rows: Sequence[Evaluation]) -> str:
    """The rows as they are shown on a terminal; plain characters when the output is not one."""
    console = terminal_console()
    if len(rows) == 1:
        _full(console, rows[0])
    else:
        _table(console, rows)
    for flag in flag_lines(rows):
        console.print(Text(f"! {flag}", style="yellow"), soft_wrap=True)
    for row in rows:
        console.print(Text(row.signature, style="dim"), soft_wrap=True)
    return written(console)


def _full(console: Console, row: Evaluation) -> None:
    title = "  ".join(f"{name}: {value}" for name, value in row.labels.items())
    console.print(Text(title, style="bold"))
    counts = ", ".join(f"{number} {name}" for name, number in row.counts.items())
    console.print(Text(counts))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = {
        "measure": [CATALOGUE[name].title for name in row.metrics],
        "value": [value(metric).replace(", ", "\n") for metric in row.metrics.values()],
        "95 % interval": [bounds(metric) for metric in row.metrics.values()],
        "if nothing leaked": [under_null(metric) for metric in row.metrics.values()],
        "unit": ["%" if metric.unit == "rate" else metric.unit for metric in row.metrics.values()],
        "what it means": [CATALOGUE[name].meaning for name in row.metrics],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    for name in shown:
        table.add_column(name, justify="left" if name in ("measure", "unit", "what it means") else "right")
    for line in zip(*shown.values(), strict=True):
        table.add_row(*(Text(text) for text in line))
    console.print(table)


def _table(console: Console, rows: Sequence[Evaluation]) -> None:
    """Few rows stand beside each other, measures below; many rows below each other."""
    labels = used_labels(rows)
    shared = [name for name in labels if len({row.labels.get(name) for row in rows}) == 1]
    if shared:
        console.print(Text("  ".join(f"{name}: {rows[0].labels[name]}" for name in shared), style="bold"))
    telling = [name for name in labels if name not in shared]
    if len(rows) <= _BESIDE:
        _beside(console, rows, telling)
    else:
        _below(console, rows, telling)
    for attacker in dict.fromkeys(row.labels.get("attacker", "") for row in rows):
        if " (" in attacker and "attacker" in telling:
            console.print(Text(attacker), soft_wrap=True)


def _short(row: Evaluation, label: str) -> Text:
    # The tuple in brackets behind an attacker's name is the same for each name: it is told once, below the table.
    return Text(row.labels.get(label, "").partition(" (")[0])


def _beside(console: Console, rows: Sequence[Evaluation], labels: Sequence[str]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(labels[0] if labels else "", overflow="fold")
    for row in rows:
        table.add_column(_short(row, labels[0]) if labels else "", justify="right", overflow="fold")
    for label in labels[1:]:
        table.add_row(label, *(_short(row, label) for row in rows))
    table.add_row("n", *(size(row) for row in rows), end_section=True)
    for name in used_headline(rows):
        table.add_row(Text(heading(name)), *(Text(cell(row.metrics.get(name))) for row in rows))
    console.print(table)


def _below(console: Console, rows: Sequence[Evaluation], labels: Sequence[str]) -> None:
    names = used_headline(rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for label in labels:
        table.add_column(label, overflow="fold")
    table.add_column("n", justify="right")
    for name in names:
        table.add_column(Text(heading(name)), justify="right")
    for row in rows:
        table.add_row(
            *(_short(row, label) for label in labels),
            size(row),
            *(Text(cell(row.metrics.get(name)).replace(" [", "\n[")) for name in names),
        )
    console.print(table)

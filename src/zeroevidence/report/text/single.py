"""One result in full: every measure with a sentence on what it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from zeroevidence.evaluation import Evaluation, MeasureResult
from zeroevidence.report.layout.formatting import (
    bounds,
    chosen_measures,
    heading,
    meaning,
    null_note,
    one_line,
    p_value,
    under_null,
    value,
)
from zeroevidence.report.text.columns import GAP, Arranged, Column, arranged, drawn
from zeroevidence.report.text.console import UNBROKEN, say, say_labels, say_lines, wrapped

_ROOM = 60  # width from which sentences stand beside the numbers instead of below them
_INDENT = 4


def say_row(console: Console, row: Evaluation, measures: Sequence[str] | None) -> None:
    """Print labels, counts and a table of the measures."""
    say_labels(console, {name: one_line(text) for name, text in row.labels.items()})
    say(console, ", ".join(f"{number} {name}" for name, number in row.counts.items()))
    names = list(row.metrics) if measures is None else chosen_measures([row], measures)
    sentences = [_sentence(row, name) for name in names]
    measured = Column("measure", tuple(heading(name, UNBROKEN) for name in names))
    numbers = _numbers(row, names)
    table = arranged([], [measured], numbers, console.width)
    room = console.width - table.width - GAP
    console.print()
    if room >= _ROOM and table.fitting == len(numbers):
        beside = Column("what it means", tuple("\n".join(lines) for lines in sentences))
        say_lines(console, drawn(Arranged((*table.columns, beside), (*table.widths, room), table.fitting)))
    else:
        say_lines(console, drawn(table, _below(sentences, numbers[table.fitting :], console.width)))
    console.print()


def _below(sentences: Sequence[Sequence[str]], rest: Sequence[Column], width: int) -> list[list[str]]:
    """The indented lines below each measure: numbers that found no room in the table, and sentences."""
    lines = []
    for place, own in enumerate(sentences):
        left = [f"{one.heading}: {one.flat().cells[place]}" for one in rest if one.cells[place]]
        lines.append([" " * _INDENT + line for text in (*left, *own) for line in wrapped(text, width - _INDENT)])
    return lines


def _sentence(row: Evaluation, name: str) -> list[str]:
    """What a measure means, after its values where it has several: they would make the column too wide."""
    found = row.metrics.get(name)
    several = "" if found is None or not isinstance(found.value, Mapping) else value(found)
    told = f"{meaning(row, name)} {null_note(row, name)}".strip()
    return [text for text in (several, told) if text]


def _numbers(row: Evaluation, names: Sequence[str]) -> list[Column]:
    """Value, interval and null of each measure; without those that no measure has."""
    found = [row.metrics.get(name) for name in names]
    ways = {"value": _alone, "95 % interval": bounds, "p": p_value}
    columns = {name: tuple("" if one is None else way(one) for one in found) for name, way in ways.items()}
    columns["if nothing leaked"] = tuple(under_null(row, name) for name in names)
    columns["p"] = columns.pop("p")  # behind the null that it is about
    return [Column(name, cells, right=True) for name, cells in columns.items() if any(cells) or name == "value"]


def _alone(metric: MeasureResult) -> str:
    return "" if isinstance(metric.value, Mapping) else value(metric)

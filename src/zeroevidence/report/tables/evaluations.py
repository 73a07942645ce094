"""Evaluations as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

from zeroevidence.data.files.csv_cells import escape_cell
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.frames import records
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout.formatting import (
    cell,
    chosen_measures,
    flagged,
    heading,
    label_words,
    labelled,
    numbered,
    row_numbers,
    size,
)
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import fitting, grids_to_latex
from zeroevidence.report.layout.sections import Section, sections

_USUAL = {"md": 6, "latex": 4}  # measures unless some are named: what a page has room for
_LONG = 8  # rows from which a table for LaTeX has a part for each attacker

_PAGE = 20  # rows of two lines that a page has room for


def to_markdown(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """A table of measures, with flags and signatures below."""
    signatures = [row.signature for row in rows]
    *others, last = sections(rows, measures)
    return "\n".join([*(_markdown(own, []) for own in others), _markdown(last, signatures)])


def _markdown(section: Section, signatures: Sequence[str]) -> str:
    rows, measures = section.rows, section.measures
    names, left = _chosen(rows, measures, "md")
    told = labelled(rows)
    grid = _grid(rows, range(len(rows)), names, told.columns, told.shared, sizes=True)
    return grids_to_markdown([grid], [*_notes(rows), *left], signatures)


def to_latex(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """Booktabs tables of measures, in parts by attacker where rows are many; flags and signatures as comments.

    How many scores a row rests on is a column where there is room for it, and a comment elsewhere.
    """
    signatures = [row.signature for row in rows]
    *others, last = sections(rows, measures)
    return "".join([*(_latex(own, []) for own in others), _latex(last, signatures)])


def _latex(section: Section, signatures: Sequence[str]) -> str:
    rows, measures = section.rows, section.measures
    names, left = _chosen(rows, measures, "latex")
    several = len({size(row, " + ") for row in rows}) > 1
    ways = [
        _arranged(rows, names, places, sizes=sizes)
        for places in _by_attacker(rows)
        for sizes in ([True, False] if several else [len(rows) == 1])
    ]
    best = min(ways, key=lambda grid: len(fitting(grid)))
    notes = [*_notes(rows), *left, *([] if "n" in best.headings else _sizes(rows))]
    return grids_to_latex([best] if len(rows) <= _PAGE else _apart(best), notes, signatures)


def _apart(grid: Grid) -> list[Grid]:
    """The parts of a table as tables of their own; one that has none stays as it is."""
    if not grid.parts:
        return [grid]
    ends = [*list(grid.parts)[1:], len(grid.body)]
    return [
        replace(
            grid,
            title=", ".join(filter(None, (grid.title, title))),
            body=grid.body[start:end],
            numbers=grid.numbers[start:end],
            parts={},
        )
        for (start, title), end in zip(grid.parts.items(), ends, strict=True)
    ]


def _arranged(
    rows: Sequence[Evaluation], names: Sequence[str], groups: Sequence[Sequence[int]], *, sizes: bool
) -> Grid:
    """One table of all rows, those of each group below each other under the labels that they share."""
    told = labelled(rows)
    above = [
        name
        for name, cells in told.columns.items()
        if len(groups) > 1 and all(len({cells[i] for i in own}) == 1 for own in groups)
    ]
    columns = {name: cells for name, cells in told.columns.items() if name not in above}
    order = [place for own in groups for place in own]
    grid = _grid(rows, order, names, columns, told.shared, sizes=sizes)
    titles = {
        sum(map(len, groups[:number])): _title({name: told.columns[name][own[0]] for name in above})
        for number, own in enumerate(groups)
        if above
    }
    return replace(grid, parts=titles)


def _by_attacker(rows: Sequence[Evaluation]) -> list[list[list[int]]]:
    """Ways to put rows into parts, the best first: none, or one for each attacker."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(label_words(row, "attacker"), []).append(place)
    whole, parts = [list(range(len(rows)))], list(places.values())
    if not 1 < len(parts) < len(rows):
        return [whole]
    return [parts] if len(rows) > _LONG else [whole, parts]


def _sizes(rows: Sequence[Evaluation]) -> list[str]:
    """How many scores rows rest on, where no column says it."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows, 1):
        places.setdefault(size(row, " + "), []).append(place)
    if len(places) == 1:
        return [f"n in every row: {one}" for one in places if len(rows) > 1 and one]
    return [f"n in {numbered(own)}: {one}" for one, own in places.items()]


def _chosen(rows: Sequence[Evaluation], measures: Sequence[str] | None, format: str) -> tuple[list[str], list[str]]:
    """The measures of a table, and a note on those that it leaves out."""
    names = chosen_measures(rows, measures)
    useful = [name for name in names if MEASURES[name].family == "utility"]
    usual = [name for name in names if name not in useful][: _USUAL[format]]
    shown = names if measures is not None else [*usual, *useful]
    left = ", ".join(name for name in names if name not in shown)
    return shown, [f"Not shown: {left}; --measure NAME shows them."] if left else []


def _grid(
    rows: Sequence[Evaluation],
    places: Sequence[int],
    names: Sequence[str],
    labels: Mapping[str, tuple[str, ...]],
    title: Mapping[str, str],
    *,
    sizes: bool,
) -> Grid:
    """One line for each of some of the rows: labels, size where wanted, measures."""
    numbers = row_numbers(rows)
    body = tuple(
        (
            *(texts[place] for texts in labels.values()),
            *([size(rows[place], " + ")] if sizes else []),
            *(cell(rows[place].metrics.get(name), "\n") for name in names),
        )
        for place in places
    )
    headings = (*labels, *(["n"] if sizes else []), *map(heading, names))
    return Grid(_title(title), headings, body, len(labels), tuple(numbers[i] for i in places) if numbers else ())


def _title(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{label}: {text}" for label, text in labels.items())


def _notes(rows: Sequence[Evaluation]) -> list[str]:
    """What the attackers' names stand for, and warnings."""
    return [*labelled(rows).threats, *map(str, flagged(rows))]


def to_csv(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """One line per row and measure, at full precision; a measure with several values gets a line for each."""
    wanted = None if measures is None else set(chosen_measures(rows, measures))
    lines = [line for line in records(rows) if wanted is None or line["measure"] in wanted]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: escape_cell(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()

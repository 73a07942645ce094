"""Evaluations as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from zeroevidence.data.cells import safe_cell
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.frames import records
from zeroevidence.report.cells import cell, chosen_measures, flagged, heading, label_words, labelled, row_numbers, size
from zeroevidence.report.grid import Grid, grids_to_markdown
from zeroevidence.report.latex import grids_to_latex

_USUAL = {"md": 6, "latex": 4}  # measures unless some are named: what a page has room for
_LONG = 8  # rows from which a table for LaTeX is split by attacker


def to_markdown(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """A table of measures, with flags and signatures below."""
    names, left = _chosen(rows, measures, "md")
    told = labelled(rows)
    grid = _grid(rows, range(len(rows)), names, told.columns, told.shared, sizes=True)
    return grids_to_markdown([grid], [*_notes(rows), *left], [row.signature for row in rows])


def to_latex(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """Booktabs tables of measures, many rows in a table for each attacker; flags and signatures as comments."""
    names, left = _chosen(rows, measures, "latex")
    told, groups = labelled(rows), _by_attacker(rows)
    sizes = {size(row, " + ") for row in rows}
    notes = [*_notes(rows), *left, *(f"n in every row: {one}" for one in sizes if len(rows) > 1 == len(sizes))]
    if len(groups) > 1:
        notes.insert(0, _title(told.shared))
        above = [
            name for name, cells in told.columns.items() if all(len({cells[i] for i in own}) == 1 for own in groups)
        ]
        titles = [{name: told.columns[name][own[0]] for name in above} for own in groups]
        columns = {name: cells for name, cells in told.columns.items() if name not in above}
    else:
        titles, columns = [told.shared], told.columns
    grids = [
        _grid(rows, own, names, columns, title, sizes=len(sizes) > 1 or len(rows) == 1)
        for own, title in zip(groups, titles, strict=True)
    ]
    return grids_to_latex(grids, notes, [row.signature for row in rows])


def _chosen(rows: Sequence[Evaluation], measures: Sequence[str] | None, format: str) -> tuple[list[str], list[str]]:
    """The measures of a table, and a note on those that it leaves out."""
    names = chosen_measures(rows, measures)
    shown = names if measures is not None else names[: _USUAL[format]]
    left = ", ".join(names[len(shown) :])
    return shown, [f"Not shown: {left}; --measure NAME shows them."] if left else []


def _by_attacker(rows: Sequence[Evaluation]) -> list[list[int]]:
    """The places of the rows of each table."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(label_words(row, "attacker"), []).append(place)
    split = len(rows) > _LONG and 1 < len(places) < len(rows)
    return list(places.values()) if split else [list(range(len(rows)))]


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


def _constant(cells: Sequence[str], places: Sequence[int]) -> bool:
    return len({cells[place] for place in places}) == 1


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
    writer.writerows({name: safe_cell(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()

"""Evaluations as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from zeroevidence.data.cells import safe_cell
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.frames import records
from zeroevidence.report.cells import cell, chosen_measures, flagged, heading, labelled, row_numbers, size
from zeroevidence.report.grid import Grid, grids_to_latex, grids_to_markdown


def to_markdown(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """A table of measures, with flags and signatures below."""
    return grids_to_markdown([_grid(rows, measures)], _notes(rows), [row.signature for row in rows])


def to_latex(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> str:
    """A booktabs table of measures, with flags and signatures as comments."""
    return grids_to_latex([_grid(rows, measures)], _notes(rows), [row.signature for row in rows])


def _grid(rows: Sequence[Evaluation], measures: Sequence[str] | None) -> Grid:
    """One line per row; labels that all rows share are the title."""
    told, names = labelled(rows), chosen_measures(rows, measures)
    body = tuple(
        (
            *(texts[place] for texts in told.columns.values()),
            size(row, " + "),
            *(cell(row.metrics.get(name)) for name in names),
        )
        for place, row in enumerate(rows)
    )
    title = ", ".join(f"{label}: {text}" for label, text in told.shared.items())
    headings = (*told.columns, "n", *map(heading, names))
    return Grid(title, headings, body, len(told.columns), row_numbers(rows))


def _notes(rows: Sequence[Evaluation]) -> list[str]:
    """What the attackers' names stand for, and warnings."""
    return [*labelled(rows).threats, *map(str, flagged(rows))]


def to_csv(rows: Sequence[Evaluation]) -> str:
    """One line per row and measure, at full precision; a measure with several values gets a line for each."""
    lines = list(records(rows))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: safe_cell(value) for name, value in line.items()} for line in lines)
    return buffer.getvalue()

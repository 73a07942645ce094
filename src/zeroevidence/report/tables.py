"""Evaluations as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from zeroevidence.evaluation import Evaluation
from zeroevidence.report.cells import cell, flag_lines, heading, size, used_headline, used_labels
from zeroevidence.report.grid import Grid, grids_to_latex, grids_to_markdown


def _grid(rows: Sequence[Evaluation]) -> Grid:
    """The headline measures, one line per row."""
    labels, names = used_labels(rows), used_headline(rows)
    body = tuple(
        (
            *(row.labels.get(label, "") for label in labels),
            size(row, " + "),
            *(cell(row.metrics.get(name)) for name in names),
        )
        for row in rows
    )
    return Grid("", (*labels, "n", *(heading(name) for name in names)), body, len(labels))


def to_markdown(rows: Sequence[Evaluation]) -> str:
    """A table of the headline measures, with flags and signatures below."""
    return grids_to_markdown([_grid(rows)], flag_lines(rows), [row.signature for row in rows])


def to_latex(rows: Sequence[Evaluation]) -> str:
    """A booktabs table of the headline measures, with flags and signatures as comments."""
    return grids_to_latex([_grid(rows)], flag_lines(rows), [row.signature for row in rows])


def to_csv(rows: Sequence[Evaluation]) -> str:
    """One line per row and measure, at full precision; a measure with several values gets a line for each."""
    labels = used_labels(rows)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*labels, "measure", "key", "value", "low", "high", "p_value", "unit", "method", "signature"])
    for row in rows:
        for name, metric in row.metrics.items():
            several = metric.value if isinstance(metric.value, Mapping) else {"": metric.value}
            for key, value in several.items():
                writer.writerow(
                    [
                        *(row.labels.get(label, "") for label in labels),
                        *(name, key, value, metric.low, metric.high, metric.p_value),
                        *(metric.unit, metric.method, row.signature),
                    ]
                )
    return buffer.getvalue()

"""Evaluations on a terminal: a single one in full with a sentence for each measure, several as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from zeroevidence.evaluation import Evaluation, MeasureResult, joint_signature
from zeroevidence.report.layout.flags import raised_flags
from zeroevidence.report.layout.formatting import (
    bounds,
    chosen_measures,
    common_level,
    estimate_text,
    heading,
    interval_title,
    meaning,
    null_cell,
    p_value,
    size,
    value,
)
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.layout.labels import row_labels, without_implied
from zeroevidence.report.layout.sections import sections
from zeroevidence.report.tables.evaluations import evaluation_grid, table_measures
from zeroevidence.report.tables.several_recordings import NOTE, recordings_grid, untried_numbers
from zeroevidence.report.tables.thresholds import threshold_sentence
from zeroevidence.report.tables.utility_rows import is_utility_table, utility_grid, utility_notes
from zeroevidence.report.text.table import print_grid
from zeroevidence.report.text.terminal import (
    UNBROKEN,
    console_text,
    print_flags,
    print_labels,
    print_paragraph,
    print_signatures,
    terminal_console,
)


def to_text(
    rows: Sequence[Evaluation],
    *,
    signatures: bool = False,
    measures: Sequence[str] | None = None,
    estimate: bool = False,
    faults: bool = True,
) -> str:
    """Return the rows as they are shown on a terminal; plain characters when the output is not one.

    The other parameters are those of `render`.

    Parameters
    ----------
    faults
        Whether faults stand above tables; not where they were said before.
    """
    console = terminal_console()
    for place, section in enumerate(sections(rows, measures)):
        if place:
            console.print()
        flags = raised_flags(section.rows)
        print_flags(console, [raised for raised in flags if faults and raised.flag.severity == "fault"])
        if len(section.rows) == 1:
            _print_single(console, section.rows, section.measures, estimate=estimate)
        elif is_utility_table(section.rows, section.measures):
            print_grid(console, utility_grid(section.rows, section.measures))
        else:
            _print_several(console, section.rows, section.measures, estimate=estimate)
        if measures is None:
            _print_recordings(console, section.rows)
        for row in section.rows:
            if row.threshold is not None:
                print_paragraph(console, _named(row, threshold_sentence(row.threshold), several=len(section.rows) > 1))
        for note in utility_notes(section.rows) if measures is None else ():
            print_paragraph(console, note)
        print_flags(console, [raised for raised in flags if raised.flag.severity != "fault"])
    each = [row.signature for row in rows]
    print_signatures(console, each, each=signatures, joint=joint_signature(each))
    return console_text(console)


def _named(row: Evaluation, sentence: str, *, several: bool) -> str:
    """A sentence on a row, which of several is named."""
    return f"{row.labels.get('system', 'these scores')}: {sentence}" if several else sentence


def _print_single(
    console: Console, rows: Sequence[Evaluation], measures: Sequence[str] | None, *, estimate: bool
) -> None:
    (row,) = rows
    print_labels(console, row.labels)
    print_paragraph(console, ", ".join(f"{count} {name}" for name, count in row.counts.items()))
    console.print()
    names = list(row.metrics) if measures is None else chosen_measures(rows, measures)
    print_grid(console, _single_grid(row, names, estimate=estimate))


def _single_grid(row: Evaluation, names: Sequence[str], *, estimate: bool) -> Grid:
    """Value, interval and null of each measure, without columns that no measure has, and a sentence on it."""
    results = [row.metrics.get(name) for name in names]
    columns = {
        "value": ["" if result is None else _single_value(result) for result in results],
        "estimate": [estimate_text(result) if estimate else "" for result in results],
        interval_title(row.setup.level): ["" if result is None else bounds(result) for result in results],
        "if nothing leaked": [null_cell(row, name) for name in names],
        "p": ["" if result is None else p_value(result) for result in results],
    }
    columns = {title: texts for title, texts in columns.items() if any(texts) or title == "value"}
    body = tuple(zip(map(heading, names), *columns.values(), strict=True))
    return Grid("", ("measure", *columns), body, 1, sentences=tuple(_sentence(row, name) for name in names))


def _single_value(result: MeasureResult) -> str:
    return "" if isinstance(result.value, Mapping) else value(result)


def _sentence(row: Evaluation, name: str) -> str:
    """The meaning of a measure, after its values where it has several: they would make the column too wide."""
    result = row.metrics.get(name)
    several = result is not None and isinstance(result.value, Mapping)
    return f"{value(result)}. {meaning(row, name)}" if result is not None and several else meaning(row, name)


def _print_several(
    console: Console, rows: Sequence[Evaluation], measures: Sequence[str] | None, *, estimate: bool
) -> None:
    """Print what the rows have in common, the table, and what it leaves out."""
    labels = without_implied(row_labels(rows))
    names, left_out = table_measures(rows, measures, "text")
    same_size = len(set(map(size, rows))) == 1
    print_labels(console, labels.shared)
    lead = [_shared_counts(rows)] if same_size else []
    if any(bounds(row.metrics[name]) for row in rows for name in names if name in row.metrics):
        lead.append(f"{interval_title(common_level(rows))}s in brackets".replace(" %", f"{UNBROKEN}%"))
    for paragraph in ("; ".join(filter(None, lead)), labels.implied):
        if paragraph:
            print_paragraph(console, paragraph)
    console.print()
    print_grid(console, evaluation_grid(rows, names, labels.columns, sizes=not same_size, estimate=estimate))
    for note in left_out:
        print_paragraph(console, note)
    if labels.threats:
        print_paragraph(console, "Attackers:")
    for threat in labels.threats:
        print_paragraph(console, threat, indent=2)


def _shared_counts(rows: Sequence[Evaluation]) -> str:
    counts = rows[0].counts.items()
    return ", ".join(f"{n} {name}" for name, n in counts if all(row.counts.get(name) == n for row in rows))


def _print_recordings(console: Console, rows: Sequence[Evaluation]) -> None:
    """Print what attackers learn from several recordings of one person."""
    grid = recordings_grid(rows)
    if grid is not None:
        if len(rows) > 1:
            console.print()
        print_grid(console, grid)
        print_paragraph(console, NOTE)
    untried = untried_numbers(rows)
    if untried:
        print_paragraph(console, untried)

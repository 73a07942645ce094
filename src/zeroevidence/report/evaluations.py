"""Tables of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from zeroevidence.evaluation import Evaluation, MeasureResult, joint_signature
from zeroevidence.evaluation.rows.curves import ErrorRate, Threshold
from zeroevidence.evaluation.rows.evaluation import records
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout import (
    Section,
    bounds,
    chosen_measures,
    common_level,
    estimate_text,
    heading,
    interval_title,
    label_text,
    meaning,
    measure_columns,
    null_cell,
    p_value,
    raised_flags,
    row_labels,
    row_numbers,
    row_range,
    sections,
    size,
    value,
    without_implied,
)
from zeroevidence.report.table import Grid, fitting, grids_to_latex, grids_to_markdown, records_to_csv
from zeroevidence.report.text import (
    UNBROKEN,
    console_text,
    print_flags,
    print_grid,
    print_labels,
    print_paragraph,
    print_signatures,
    terminal_console,
)
from zeroevidence.report.utility import (
    NOTE,
    is_utility_table,
    recordings_grid,
    untried_numbers,
    utility_grid,
    utility_notes,
)
from zeroevidence.uncertainty.level import percent

LONG = 8  # rows from which a text shows fewer measures, and a table for LaTeX has a part for each attacker
_USUAL = {"text": 6, "md": 6, "latex": 4}  # measures unless some are named: what a page has room for
_PAGE = 20  # rows of two lines that a page has room for


def to_markdown(rows: Sequence[Evaluation], measures: Sequence[str] | None = None, *, estimate: bool = False) -> str:
    """Return a table of measures, with flags and signatures below; `estimate` as in `render`."""
    return "\n".join(_each_section(partial(_markdown, estimate=estimate), rows, measures))


def _each_section(
    write: Callable[[Section, Sequence[str]], str], rows: Sequence[Evaluation], measures: Sequence[str] | None
) -> list[str]:
    """The text of each section, signatures in the last."""
    *first, last = sections(rows, measures)
    return [*(write(section, []) for section in first), write(last, [row.signature for row in rows])]


def _markdown(section: Section, signatures: Sequence[str], *, estimate: bool) -> str:
    rows = section.rows
    if is_utility_table(rows, section.measures):
        return grids_to_markdown([utility_grid(rows, section.measures)], _utility_notes(section), signatures)
    names, left_out = table_measures(rows, section.measures, "md")
    labels = row_labels(rows)
    grid = evaluation_grid(rows, names, labels.columns, title=_title(labels.shared), estimate=estimate)
    return grids_to_markdown([grid], [*_notes(rows), *left_out], signatures)


def to_latex(rows: Sequence[Evaluation], measures: Sequence[str] | None = None, *, estimate: bool = False) -> str:
    """Return booktabs tables of measures, in parts by attacker where rows are many; flags and signatures as comments.

    How many scores a row rests on is a column where there is room for it, and a comment elsewhere. `estimate` is as in
    `render`.
    """
    return "".join(_each_section(partial(_latex, estimate=estimate), rows, measures))


def _latex(section: Section, signatures: Sequence[str], *, estimate: bool) -> str:
    rows = section.rows
    if is_utility_table(rows, section.measures):
        return grids_to_latex([utility_grid(rows, section.measures)], _utility_notes(section), signatures)
    names, left_out = table_measures(rows, section.measures, "latex")
    several = len(set(map(size, rows))) > 1
    grids = [
        _grouped(rows, names, groups, sizes=sizes, estimate=estimate)
        for groups in _groupings(rows)
        for sizes in ([True, False] if several else [len(rows) == 1])
    ]
    best = min(grids, key=lambda grid: len(fitting(grid)))
    notes = [*_notes(rows), *left_out, *([] if "n" in best.headings else _sizes(rows))]
    return grids_to_latex([best] if len(rows) <= _PAGE else _separated(best), notes, signatures)


def _utility_notes(section: Section) -> list[str]:
    notes = utility_notes(section.rows) if section.measures is None else []
    return [*notes, *_notes(section.rows)]


def _separated(grid: Grid) -> list[Grid]:
    """The parts of a table as separate tables; one without parts stays as it is."""
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


def _grouped(
    rows: Sequence[Evaluation],
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    *,
    sizes: bool,
    estimate: bool,
) -> Grid:
    """One table of all rows, those of each group below each other under the labels that they share."""
    labels = row_labels(rows)
    common = [
        name
        for name, texts in labels.columns.items()
        if len(groups) > 1 and all(len({texts[i] for i in group}) == 1 for group in groups)
    ]
    columns = {name: texts for name, texts in labels.columns.items() if name not in common}
    order = [place for group in groups for place in group]
    title = _title(labels.shared)
    grid = evaluation_grid(rows, names, columns, title=title, order=order, sizes=sizes, estimate=estimate)
    titles = {
        sum(map(len, groups[:number])): _title({name: labels.columns[name][group[0]] for name in common})
        for number, group in enumerate(groups)
        if common
    }
    return replace(grid, parts=titles)


def _groupings(rows: Sequence[Evaluation]) -> list[list[list[int]]]:
    """Ways to put rows into parts, the best first: none, or one for each attacker."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(label_text(row, "attacker"), []).append(place)
    whole, parts = [list(range(len(rows)))], list(places.values())
    if not 1 < len(parts) < len(rows):
        return [whole]
    return [parts] if len(rows) > LONG else [whole, parts]


def _sizes(rows: Sequence[Evaluation]) -> list[str]:
    """Notes on the numbers of scores, where no column has them."""
    numbers: dict[str, list[int]] = {}
    for position, row in enumerate(rows, 1):
        numbers.setdefault(size(row), []).append(position)
    if len(numbers) == 1:
        return [f"n in every row: {text}" for text in numbers if len(rows) > 1 and text]
    return [f"n in {row_range(positions)}: {text}" for text, positions in numbers.items()]


def table_measures(
    rows: Sequence[Evaluation], measures: Sequence[str] | None, format: str
) -> tuple[list[str], list[str]]:
    """The measures of a table, and a note on those that it leaves out."""
    names = chosen_measures(rows, measures)
    if measures is not None or (format == "text" and len(rows) <= LONG):
        return names, []
    utility = [name for name in names if MEASURES[name].family == "utility"]
    shown = [*[name for name in names if name not in utility][: _USUAL[format]], *utility]
    left_out = ", ".join(name for name in names if name not in shown)
    return shown, [f"Not shown: {left_out}; --measure NAME shows them."] if left_out else []


def evaluation_grid(
    rows: Sequence[Evaluation],
    names: Sequence[str],
    labels: Mapping[str, tuple[str, ...]],
    *,
    title: str = "",
    order: Sequence[int] | None = None,
    sizes: bool = True,
    estimate: bool = False,
) -> Grid:
    """A table with a line for each row: labels, size and measures.

    Parameters
    ----------
    rows
        Results.
    names
        Measures.
    labels
        The texts of each label by row.
    title
        Title of the table.
    order
        Places of the rows as they follow each other; as given unless said.
    sizes
        Whether a column says how many scores a row rests on.
    estimate
        Whether a column follows each measure that has estimates.
    """
    columns = measure_columns(rows, names, estimate=estimate)
    numbers, order = row_numbers(rows), range(len(rows)) if order is None else order
    body = tuple(
        (
            *(texts[place] for texts in labels.values()),
            *([size(rows[place])] if sizes else []),
            *(column.cell(rows[place]) for column in columns),
        )
        for place in order
    )
    headings = (*labels, *(["n"] if sizes else []), *(column.heading for column in columns))
    return Grid(title, headings, body, len(labels), tuple(numbers[i] for i in order) if numbers else ())


def _title(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{label}: {text}" for label, text in labels.items())


def _notes(rows: Sequence[Evaluation]) -> list[str]:
    """The threat models that attackers' names stand for, and warnings."""
    return [*row_labels(rows).threats, *map(str, raised_flags(rows))]


def to_csv(rows: Sequence[Evaluation], measures: Sequence[str] | None = None, *, estimate: bool = False) -> str:
    """Return one line per row and measure, at full precision; a measure with several values gets a line for each.

    With `estimate` there is a column for the values corrected for few people.
    """
    names = None if measures is None else set(chosen_measures(rows, measures))
    left_out = () if estimate else ("estimate",)
    return records_to_csv(
        [
            {name: cell for name, cell in record.items() if name not in left_out}
            for record in records(rows)
            if names is None or record["measure"] in names
        ]
    )


def threshold_sentence(threshold: Threshold) -> str:
    """Return from which score on to accept, at which prior and costs, and how often that is wrong."""
    costs = f"prior {threshold.prior:g}, cost of a miss {threshold.c_miss:g}, of a false alarm {threshold.c_fa:g}"
    rates = f"misses {_rate(threshold.miss)}, false alarms {_rate(threshold.false_alarm)}"
    known = threshold.miss.low is not None
    level = f" with {percent(threshold.level)} intervals" if known else ", whose intervals need ten known speakers"
    fitted = "calibrated on other people" if threshold.calibrated_elsewhere else "calibrated on these scores themselves"
    return (
        f"Threshold ({costs}): accept scores from {threshold.score:.4g} on, where the LLR is {threshold.llr:.3g}; "
        f"{rates}{level}; DCF {threshold.dcf:.3g}; {fitted}."
    )


def _rate(rate: ErrorRate) -> str:
    value = f"{100 * rate.value:.3g} %"
    return value if rate.low is None or rate.high is None else f"{value} [{100 * rate.low:.3g}, {100 * rate.high:.3g}]"


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

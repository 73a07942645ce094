"""Tables of evaluations: a single one in full with a sentence for each measure, several by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation, Finding, findings, joint_signature
from zeroevidence.evaluation.rows.curves import Criterion, ErrorRate, FittedOn, Threshold
from zeroevidence.evaluation.rows.evaluation import counts_text, records
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import LN10
from zeroevidence.report import layout
from zeroevidence.report.people import RECORDINGS_NOTE, recordings_table, untried_numbers
from zeroevidence.report.table import (
    ADJUSTED,
    ADJUSTED_NOTE,
    Block,
    Cell,
    Content,
    Table,
    Tables,
    estimate_cell,
    label_columns,
    measure_column,
    measure_columns,
    names_column,
    null_cell,
    numbers_column,
    p_cell,
    result_cell,
)
from zeroevidence.report.utility import is_utility, is_utility_table, utility_notes, utility_table
from zeroevidence.report.writers import fitting_sheets, to_csv, write_tables
from zeroevidence.uncertainty.level import percent

LONG = 8  # rows from which a text shows fewer measures, and a table for LaTeX has a part for each attacker
_USUAL = {"text": 6, "md": 6, "latex": 4}  # measures unless some are named: what a page has room for
_MOST_MEASURES = 10  # of a single row, on a screen
_PAGE = 20  # rows of two lines that a page has room for
_EFFORT = (
    names_column("attacker"),
    names_column("encoder", "Network that turns speech into embeddings"),
    names_column("back-end", "How embeddings are compared"),
    numbers_column("people", "Training people"),
    numbers_column("settings", "Settings tried, of which the best on development people was taken"),
    numbers_column("epochs", "Passes of the encoder's training over anonymised recordings"),
    numbers_column("recordings", "Recordings in each pass"),
    numbers_column("runs", "How often the anonymiser was run on the speech to train on and to enrol"),
    numbers_column(
        "development", "Disclosure by development people; the attacker that counts is chosen by this", unit="bit"
    ),
)


def evaluations_to_csv(rows: Sequence[Evaluation], measures: Sequence[str] | None, *, estimate: bool) -> str:
    """Return one line per row and measure, at full precision; a measure with several values gets a line for each.

    With `estimate` there is a column for the values corrected for few people.
    """
    names = None if measures is None else set(layout.chosen_measures(rows, measures))
    left_out = () if estimate else ("estimate",)
    chosen = (record for record in records(rows) if names is None or record["measure"] in names)
    return to_csv(Table.of_records([{n: value for n, value in each.items() if n not in left_out} for each in chosen]))


def evaluations_to_markup(
    rows: Sequence[Evaluation], format: str, measures: Sequence[str] | None, *, estimate: bool
) -> str:
    """Return a table of measures in Markdown or LaTeX, with warnings and signatures."""
    blocks = [_section_blocks(section, format, estimate=estimate) for section in layout.sections(rows, measures)]
    contents = [*map(Tables, blocks[:-1]), Tables(blocks[-1], [row.signature for row in rows])]
    return ("\n" if format == "md" else "").join(write_tables(content, format) for content in contents)


def _section_blocks(section: layout.Section, format: str, *, estimate: bool) -> list[Block]:
    rows, labels = section.rows, layout.row_labels(section.rows)
    warnings: list[Block] = [*labels.threats, *layout.raised_flags(rows)]
    if is_utility_table(rows, section.measures):
        notes = utility_notes(rows) if section.measures is None else []
        return [utility_table(rows, section.measures), *notes, *warnings]
    names, left_out = _table_measures(rows, section.measures, format)
    if format == "latex":
        return [*_latex_tables(rows, names, [*warnings, *left_out], estimate=estimate)]
    table = _evaluation_table(rows, names, labels.columns, estimate=estimate)
    return [replace(table, title=_joined(labels.shared)), *warnings, *left_out]


def _latex_tables(
    rows: Sequence[Evaluation], names: Sequence[str], notes: Sequence[Block], *, estimate: bool
) -> list[Block]:
    """Tables in parts by attacker where rows are many.

    How many scores a row rests on is a column where there is room for it, and a comment elsewhere.
    """
    several = len(set(map(layout.size, rows))) > 1
    tables = [
        _grouped(rows, names, groups, sizes=sizes, estimate=estimate)
        for groups in _groupings(rows)
        for sizes in ([True, False] if several else [len(rows) == 1])
    ]
    best = min(tables, key=lambda table: len(fitting_sheets(table)))
    sizes = [] if any(column.name == "n" for column in best.columns) else _sizes(rows)
    if len(rows) <= _PAGE or not best.parts:
        return [*notes, *sizes, best]
    ends = [*list(best.parts)[1:], len(best.rows)]
    parts = [
        replace(best.choose(range(start, end)), title=", ".join(filter(None, (best.title, title))), parts={})
        for (start, title), end in zip(best.parts.items(), ends, strict=True)
    ]
    return [*notes, *sizes, *parts]


def _grouped(
    rows: Sequence[Evaluation], names: Sequence[str], groups: Sequence[Sequence[int]], *, sizes: bool, estimate: bool
) -> Table:
    """One table of all rows, those of each group below each other under the labels that they share."""
    labels = layout.row_labels(rows)
    common = [
        name
        for name, texts in labels.columns.items()
        if len(groups) > 1 and all(len({texts[i] for i in group}) == 1 for group in groups)
    ]
    columns = {name: texts for name, texts in labels.columns.items() if name not in common}
    table = _evaluation_table(rows, names, columns, sizes=sizes, estimate=estimate)
    titles = {
        sum(map(len, groups[:number])): _joined({name: labels.columns[name][group[0]] for name in common})
        for number, group in enumerate(groups)
        if common
    }
    order = [place for group in groups for place in group]
    return replace(table.choose(order), title=_joined(labels.shared), parts=titles)


def _groupings(rows: Sequence[Evaluation]) -> list[list[list[int]]]:
    """Ways to put rows into parts, the best first: none, or one for each attacker."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(layout.label_text(row, "attacker"), []).append(place)
    whole, parts = [list(range(len(rows)))], list(places.values())
    if not 1 < len(parts) < len(rows):
        return [whole]
    return [parts] if len(rows) > LONG else [whole, parts]


def _sizes(rows: Sequence[Evaluation]) -> list[str]:
    """Notes on the numbers of scores, where no column has them."""
    numbers: dict[str, list[int]] = {}
    for position, row in enumerate(rows, 1):
        numbers.setdefault(layout.size(row), []).append(position)
    if len(numbers) == 1:
        return [f"n in every row: {text}" for text in numbers if len(rows) > 1 and text]
    return [f"n in {layout.row_range(positions)}: {text}" for text, positions in numbers.items()]


def _table_measures(
    rows: Sequence[Evaluation], measures: Sequence[str] | None, format: str
) -> tuple[list[str], list[str]]:
    """The measures of a table, and a note on those that it leaves out."""
    names = layout.chosen_measures(rows, measures)
    if measures is not None or (format == "text" and len(rows) <= LONG):
        return names, []
    utility = [name for name in names if MEASURES[name].family == "utility"]
    shown = [*[name for name in names if name not in utility][: _USUAL[format]], *utility]
    left_out = ", ".join(name for name in names if name not in shown)
    return shown, [f"Not shown: {left_out}; --measure NAME shows them."] if left_out else []


def _evaluation_table(
    rows: Sequence[Evaluation],
    names: Sequence[str],
    labels: Mapping[str, Sequence[str]],
    *,
    sizes: bool = True,
    estimate: bool = False,
) -> Table:
    """A table with a line for each row: its labels, how many scores it rests on with `sizes`, and measures."""
    scores = [sum(row.counts.get(name, 0) for name in ("target", "nontarget")) for row in rows]
    counts = [Cell(layout.size(row), order=count) for row, count in zip(rows, scores, strict=True)]
    return Table.of(
        *label_columns(labels),
        *([(numbers_column("n", "Scores of each class"), counts)] if sizes else []),
        *measure_columns(rows, names, estimate=estimate),
        numbers=layout.row_numbers(rows),
    )


def _joined(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{label}: {text}" for label, text in labels.items())


def evaluations_to_text(
    rows: Sequence[Evaluation],
    *,
    signatures: bool = False,
    measures: Sequence[str] | None = None,
    estimate: bool = False,
    verbose: bool = False,
    explain: bool = False,
) -> str:
    """Return the rows as they are shown on a terminal; plain characters when the output is not one.

    The parameters are those of `render`.
    """
    blocks: list[Block] = []
    for place, section in enumerate(layout.sections(rows, measures)):
        several = len(section.rows) > 1
        flags = layout.raised_flags(section.rows)
        blocks += [""] if place else []
        blocks += [raised for raised in flags if raised.flag.severity == "fault"]
        if several and is_utility_table(section.rows, section.measures):
            blocks.append(utility_table(section.rows, section.measures))
        else:
            blocks += (
                _several_blocks(section, estimate) if several else _single_blocks(section, estimate, verbose, explain)
            )
        if measures is None and verbose:
            recordings = recordings_table(findings(section.rows)[0])
            blocks += [] if recordings is None else [*([""] if several else []), recordings, RECORDINGS_NOTE]
            blocks += filter(None, [untried_numbers(section.rows)])
        for row in section.rows:
            name = f"{row.labels.get('system', 'these scores')}: " if several else ""
            blocks += [] if row.threshold is None else [f"{name}{threshold_sentence(row.threshold)}"]
        blocks += utility_notes(section.rows) if measures is None else []
        others = [raised for raised in flags if raised.flag.severity != "fault"]
        codes = ", ".join(dict.fromkeys(raised.name for raised in others))
        blocks += others if verbose or not others else [f"Flags: {codes}; --verbose says what they mean."]
    each = [row.signature for row in rows]
    return write_tables(Tables(blocks, each, joint_signature(each)), "text", signatures=signatures)


def _single_blocks(section: layout.Section, estimate: bool, verbose: bool, explain: bool) -> list[Block]:
    """Value, interval and null of each measure, without columns that no measure has; a sentence where asked to.

    Several values of one measure stand in its sentence: they would make the column too wide.
    """
    (row,) = section.rows
    names = layout.chosen_measures([row], section.measures)
    if section.measures is None:
        names = list(row.metrics) if verbose or not names else names[:_MOST_MEASURES]
    counts = counts_text(row.counts)
    no_leak = f"no leak ({percent(row.setup.level)})"
    titles = ("value", "estimate", layout.interval_title(row.setup.level), no_leak, ADJUSTED)
    measures: list[Cell] = []
    contents: list[tuple[Cell, ...]] = []
    for name in names:
        result, sentence = row.metrics.get(name), layout.meaning(row, name)
        cell = result_cell(result)
        if isinstance(cell.value, Mapping):
            cell, sentence = Cell(), f"{cell.text}. {sentence}"
        measures.append(Cell(layout.heading(name), note=sentence if explain or not cell.text else ""))
        contents.append(
            (
                Cell(cell.value, cell.unit),
                estimate_cell(result) if estimate else Cell(),
                Cell(cell.below),
                null_cell(row, name, brief=True),
                p_cell(None if result is None else result.p_adjusted),
            )
        )
    columns = zip(titles, zip(*contents, strict=True), strict=True)
    shown = [
        (numbers_column(title), cells)
        for title, cells in columns
        if title == "value" or any(cell.text for cell in cells)
    ]
    note = [ADJUSTED_NOTE] if explain and any(column.title == ADJUSTED for column, _ in shown) else []
    return [row.labels, counts, "", Table.of((names_column("measure"), measures), *shown), *note]


def _several_blocks(section: layout.Section, estimate: bool) -> list[Block]:
    """What the rows have in common, the table, and what it leaves out."""
    rows, labels = section.rows, layout.without_implied(layout.row_labels(section.rows))
    names, left_out = _table_measures(rows, section.measures, "text")
    same_size = len(set(map(layout.size, rows))) == 1
    counts = rows[0].counts if same_size else {}
    lead = [counts_text({name: n for name, n in counts.items() if all(row.counts.get(name) == n for row in rows)})]
    if any(result_cell(row.metrics.get(name)).below for row in rows for name in names):
        intervals = layout.interval_title(layout.common_level(rows)).replace(" %", f"{layout.UNBROKEN}%")
        lead.append(f"{intervals}s in brackets")
    paragraphs = filter(None, ("; ".join(filter(None, lead)), labels.implied))
    table = _evaluation_table(rows, names, labels.columns, sizes=not same_size, estimate=estimate)
    threats = ["Attackers:", *(f"  {threat}" for threat in labels.threats)] if labels.threats else []
    return [labels.shared, *paragraphs, "", table, *left_out, *threats]


_FITTED: Mapping[FittedOn, str] = {
    "these scores": "{} on these scores themselves",
    "other people": "{} on other people",
    "nothing": "the scores are likelihood ratios",
}


_CRITERIA: Mapping[Criterion, str] = {
    "eer": "where both error rates are closest; ",
    "min-hter": "where the mean of both error rates is lowest; ",
}


def threshold_sentence(threshold: Threshold) -> str:
    """Return from which score on to accept, at which prior and costs, and how often that is wrong."""
    costs = f"prior {threshold.prior:g}, cost of a miss {threshold.c_miss:g}, of a false alarm {threshold.c_fa:g}"
    costs = _CRITERIA.get(threshold.criterion, "") + costs
    fitted = _FITTED[threshold.fitted_on].format("calibrated" if threshold.criterion == "bayes" else "chosen")
    rates = f"misses {_rate(threshold.miss)}, false alarms {_rate(threshold.false_alarm)}"
    level = ", whose intervals need ten known speakers"
    if threshold.miss.low is not None:
        level = f" with {percent(threshold.level)} intervals"
    score, log10_lr = f"{threshold.score:.6g}", threshold.llr / LN10
    accepted = f"up to {score}" if threshold.up_to else f"from {score} on"
    total = "" if threshold.hter is None else f"; HTER {100 * threshold.hter:.3g} %"
    if threshold.fta is not None and threshold.far is not None and threshold.frr is not None:
        failing = [f"{name} {100 * rate:.3g} %" for name, rate in (("FAR", threshold.far), ("FRR", threshold.frr))]
        total += f"; with failures to acquire (FTA {100 * threshold.fta:.3g} %) as rejections {', '.join(failing)}"
    return (
        f"Threshold ({costs}): accept scores {accepted}, where the log10 LR is {log10_lr:.3g}; "
        f"{rates}{level}; DCF {threshold.dcf:.3g}{total}; {fitted}."
    )


def _rate(rate: ErrorRate) -> str:
    value = f"{100 * rate.value:.3g} %"
    return value if rate.low is None or rate.high is None else f"{value} [{100 * rate.low:.3g}, {100 * rate.high:.3g}]"


def listed_table(finding: Finding, measures: Sequence[str]) -> tuple[Table, str]:
    """Every row with its labels and measures as a page lists them, and what all have in common.

    Rows of utility, which have a table of their own, are left out beside others; the others keep their numbers.
    """
    rows, strong = finding.rows, finding.strongest
    places = [i for i, row in enumerate(rows) if not is_utility(row)] or list(range(len(rows)))
    listed = [rows[i] for i in places]
    labels = layout.without_implied(layout.row_labels(listed))
    measures = [name for name in measures if any(name in row for row in listed)]
    table = _evaluation_table(listed, measures, labels.columns)
    columns = (
        replace(column, description=_meaning(listed, column.name)) if column.name in measures else column
        for column in table.columns
    )
    shared = [_joined(labels.shared)]
    if labels.implied:
        shared = [*(f"{name}: {text}" for name, text in labels.shared.items()), labels.implied]
    table = replace(
        table,
        columns=tuple(columns),
        numbers=tuple(place + 1 for place in places),
        strong=places.index(strong) if strong in places and len(rows) > 1 else None,
        further=frozenset(places.index(i) for i in finding.further if i in places),
    )
    return table, "; ".join(shared) if len(listed) > 1 else ""


def _meaning(rows: Sequence[Evaluation], name: str) -> str:
    """The meaning of a measure, that for attributes where all rows that have it are about one."""
    if name not in MEASURES:
        return ""
    identity = any(row.about.question != "attribute" for row in rows if name in row.metrics)
    return (None if identity else MEASURES[name].meaning_of_attribute) or MEASURES[name].meaning


def effort_table(rows: Sequence[Evaluation], further: frozenset[int] = frozenset()) -> Table | None:
    """The training effort of every attacker, and its evidence on development people and on evaluated people.

    `further` rows are shown on demand.
    """
    places = [i for i, row in enumerate(rows) if row.about.spent is not None]
    if not places:
        return None
    alid = measure_column("alid", description=MEASURES["alid"].meaning)
    table = Table.of_records([_effort_record(rows[i]) for i in places], (*_EFFORT, alid))
    hidden = frozenset(places.index(i) for i in further if i in places)
    return replace(table, numbers=tuple(place + 1 for place in places), further=hidden)


def _effort_record(row: Evaluation) -> dict[str, Content]:
    effort, threat = row.about.spent, row.about.threat
    assert effort is not None
    return {
        "attacker": "" if threat is None else threat.name,
        "encoder": row.labels.get("encoder", ""),
        "back-end": row.labels.get("backend", ""),
        "people": effort.people,
        "settings": effort.settings,
        "epochs": effort.epochs or None,
        "recordings": effort.recordings if effort.epochs else None,
        "runs": effort.draws.runs if threat is not None and threat.enrolment == "anonymised" else None,
        "development": Cell(row.about.development, format=".2f"),
        "alid": result_cell(row.metrics.get("alid")),
    }

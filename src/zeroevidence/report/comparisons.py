"""Comparisons of systems as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

from zeroevidence.data.files import reading_file
from zeroevidence.data.json_values import plain, read_json, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation.comparison import COUNTING, Comparison
from zeroevidence.evaluation.rows.measure_result import Column
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format
from zeroevidence.report.layout import heading, interval, interval_title
from zeroevidence.report.table import Cell, Content, Table, Tables, label_columns, names_column, numbers_column, p_cell
from zeroevidence.report.verdict.others import comparison_sentence, correction
from zeroevidence.report.verdict.phrases import unbroken
from zeroevidence.report.writers import to_csv, write_tables
from zeroevidence.uncertainty.level import alpha, percent

SCHEMA = "zeroevidence/comparison/3"
_GROUPS = "Systems of one group are not told apart by these trials; group 1 discloses least."
_UNPAIRED = (
    "The trials are not paired: these results name no trials, or are files, which hold no values without single "
    "people; so the differences rest on both intervals. Comparing scores with names of trials has more power."
)
_TRAINING_UNKNOWN = (
    "Nothing says what these attackers were trained on: they may differ between systems, and then so does what the "
    "systems give away to them."
)
_COUNTING = (
    f"{COUNTING.capitalize()} may be another one in each audit: that which did best on development people; the other "
    "lines compare the best attackers of one kind."
)


def render_comparisons(comparisons: Sequence[Comparison], format: str, signatures: bool = False) -> str:
    """Return all measures in one of the output formats; text holds the signatures of several only where asked to."""
    check_format(format)
    if format == "json":
        document = {"schema": SCHEMA, "comparisons": [plain(asdict(comparison)) for comparison in comparisons]}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "csv":
        return to_csv(Table.of_records(_records(comparisons)))
    # two systems, the same in every comparison
    two = len({(pair.first, pair.second) for comparison in comparisons for pair in comparison.pairs}) == 1 and all(
        comparison.pairs and len(comparison.ranking) == 2 for comparison in comparisons
    )
    stated = [comparison for comparison in comparisons if not two or comparison.labels == comparisons[0].labels]
    blocks = [
        *map(comparison_sentence, stated),
        "",
        *([_two_systems_table(comparisons)] if two else chain.from_iterable(map(_tables, comparisons))),
        *comparison_notes(comparisons, groups=not two),
    ]
    content = Tables(blocks, [comparison.signature for comparison in comparisons])
    return write_tables(content, format, signatures=signatures)


def comparison_notes(comparisons: Sequence[Comparison], *, groups: bool = True) -> list[str]:
    """Notes on `groups` where they are shown, on p-values, unpaired trials, and attackers of audits."""
    unpaired = not all(comparison.paired for comparison in comparisons)
    counting = any(comparison.labels.get("attacker") == COUNTING for comparison in comparisons)
    seen = 'A true difference as large as in the column "seen" would be found so often.'
    differences = f"{_GROUPS if groups else ''} {_correction(comparisons)}{seen}".lstrip()
    unknown = any(comparison.training_unknown for comparison in comparisons)
    notes = {_UNPAIRED: unpaired, _TRAINING_UNKNOWN: unknown, _COUNTING: counting}
    return [differences, *(note for note, applies in notes.items() if applies)]


def _correction(comparisons: Sequence[Comparison]) -> str:
    """What p-values and intervals of differences are corrected for, and what they are not."""
    sentence, together = "", any(comparison.together is not None for comparison in comparisons)
    if any(comparison.tests > 1 for comparison in comparisons):
        levels = {comparison.level for comparison in comparisons}
        error = f"below {percent(alpha(levels.pop()))}" if len(levels) == 1 else "small enough"
        family = "over all measures" if together else "within a measure"
        sentence = (
            f"p and intervals of differences are Holm-corrected {family}: an interval excludes 0 exactly where p is "
            f"{error}. "
        )
    if len(comparisons) > 1 and not together:
        sentence += "Each measure is tested by itself; compare --family all corrects over all of them together. "
    return sentence


def comparison_title(comparison: Comparison) -> str:
    """The measure, and what systems were compared on where that differs."""
    labels = ", ".join(f"{name}: {text}" for name, text in comparison.labels.items())
    return f"{heading(comparison.measure)} ({labels})" if labels else heading(comparison.measure)


def _two_systems_table(comparisons: Sequence[Comparison]) -> Table:
    """All comparisons of two systems in one table."""
    labels = dict.fromkeys(name for comparison in comparisons for name in comparison.labels)
    pairs = [(comparison.pairs[0], MEASURES[comparison.measure].unit) for comparison in comparisons]
    first, second = pairs[0][0].first, pairs[0][0].second
    values = [
        ({each.system: each.value for each in comparison.ranking}, unit)
        for comparison, (_, unit) in zip(comparisons, pairs, strict=True)
    ]
    differences = [(pair.difference, unit) for pair, unit in pairs]
    columns = _columns(comparisons[0])
    between = replace(columns["A - B"], title=f"{first} - {second}, {columns['ends'].title}")
    return Table.of(
        *label_columns({name: [comparison.labels.get(name, "") for comparison in comparisons] for name in labels}),
        (names_column("measure"), [heading(comparison.measure) for comparison in comparisons]),
        *(
            (numbers_column(system), [Cell(value[system], unit) for value, unit in values])
            for system in (first, second)
        ),
        (between, [Cell(each.value, unit, each.low, each.high) for each, unit in differences]),
        (columns["p"], [p_cell(pair.p_holm) for pair, _ in pairs]),
        (columns["seen"], [Cell(each.detectable, unit) for each, unit in differences]),
    )


def _tables(comparison: Comparison) -> tuple[Table, Table]:
    """The ranking, and the differences of all pairs."""
    title, columns = comparison_title(comparison), _columns(comparison)
    names = tuple(map(names_column, ("group", "system", "A", "B")))
    ranking = Table.of_records(_ranking_records(comparison), (*names[:2], columns["value"], columns["interval"]))
    pair_columns = (*names[2:], *(columns[name] for name in ("A - B", "ends", "p", "seen")))
    pairs = Table.of_records(_pair_records(comparison), pair_columns)
    return replace(ranking, title=title), replace(pairs, title=f"{title}: differences{correction(comparison)}")


def _columns(comparison: Comparison) -> dict[str, Column]:
    """The columns of numbers, by the names of their contents."""
    corrected = f"Holm{correction(comparison)}" if comparison.tests > 1 else ""
    level, seen = interval_title(comparison.level), f"seen in {percent(comparison.power)}"
    ends = Column("ends", level)
    if comparison.tests > 1:  # each is of the level at which Holm's procedure tests it
        ends = Column("ends", "interval", description=f"{corrected}: excludes 0 where p is small enough")
    columns = (
        numbers_column("value", MEASURES[comparison.measure].meaning),
        Column("interval", level),
        numbers_column("A - B"),
        ends,
        numbers_column("p", corrected),
        Column("seen", seen, description="the true difference that would be found so often"),
    )
    return {column.name: column for column in columns}


def _ranking_records(comparison: Comparison) -> list[dict[str, Content]]:
    unit = MEASURES[comparison.measure].unit
    return [
        {
            "group": system.group,
            "system": system.system,
            "value": Cell(system.value, unit),
            "interval": interval(system.low, system.high, unit),
        }
        for system in comparison.ranking
    ]


def _pair_records(comparison: Comparison) -> list[dict[str, Content]]:
    unit = MEASURES[comparison.measure].unit
    return [
        {
            "A": pair.first,
            "B": pair.second,
            "pair": f"{pair.first} − {pair.second}",
            "A - B": Cell(pair.difference.value, unit),
            "ends": interval(pair.difference.low, pair.difference.high, unit),
            "p": p_cell(pair.p_holm),
            "seen": Cell(pair.difference.detectable, unit),
        }
        for pair in comparison.pairs
    ]


def _records(comparisons: Sequence[Comparison]) -> list[dict[str, Content]]:
    """One record per measure and pair."""
    labels = dict.fromkeys(name for comparison in comparisons for name in comparison.labels)
    return [
        {
            "measure": comparison.measure,
            **{name: comparison.labels.get(name, "") for name in labels},
            "first": pair.first,
            "second": pair.second,
            "difference": pair.difference.value,
            "low": pair.difference.low,
            "high": pair.difference.high,
            "p_value": pair.difference.p_value,
            "p_holm": pair.p_holm,
            "level": pair.difference.level,
            "detectable": pair.difference.detectable,
            "signature": comparison.signature,
        }
        for comparison in comparisons
        for pair in comparison.pairs
    ]


def comparisons_from_json(text: str, *, path: str = "<json>") -> list[Comparison]:
    """Comparisons of a file written by `render_comparisons`."""
    document = read_json(text, path)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise InputError(f"expected a comparison with schema {SCHEMA!r}, got {str(schema)[:40]!r}", path=path)
    with reading_file(path, "a comparison"):
        comparisons = typed(tuple[Comparison, ...], document.get("comparisons"), "comparisons")
        for place, comparison in enumerate(comparisons):
            _check(comparison, f"comparisons[{place}]")
    if not comparisons:
        raise InputError("has no comparisons; expected at least one", path=path)
    return list(comparisons)


def _check(comparison: Comparison, where: str) -> None:
    """Refuse what no comparison can be: nothing ranked, an unknown measure, numbers outside their range."""
    if comparison.measure not in MEASURES:
        raise InputError(f"{where}.measure: no measure {comparison.measure[:40]!r}")
    if not comparison.ranking:
        raise InputError(f"{where}.ranking: is empty; expected at least one system")
    most = len(comparison.ranking)
    for place, system in enumerate(comparison.ranking):
        if not 1 <= system.group <= most:
            raise InputError(f"{where}.ranking[{place}].group: expected 1 to {most}, got {system.group}")
    ranked = {system.system for system in comparison.ranking}
    compared = [(pair.first, pair.second) for pair in comparison.pairs]
    for place, names in enumerate(compared):
        if not set(names) <= ranked or names in compared[:place]:
            raise InputError(f"{where}.pairs[{place}]: expected two systems of the ranking, each two once")
    for place, pair in enumerate(comparison.pairs):
        for name, p in (("p_holm", pair.p_holm), ("difference.p_value", pair.difference.p_value)):
            if not 0.0 <= p <= 1.0:
                raise InputError(f"{where}.pairs[{place}].{name}: expected a number from 0 to 1, got {p}")
        detectable = pair.difference.detectable
        if detectable is not None and not 0.0 <= detectable < float("inf"):
            raise InputError(
                f"{where}.pairs[{place}].difference.detectable: expected a finite number from 0 on, got {detectable}"
            )


def comparison_tables(comparison: Comparison) -> dict[str, Any]:
    """Title, ranking and pairwise differences of one measure, for a page."""
    columns = _columns(comparison)
    ranking = (names_column("system"), numbers_column("group"), columns["value"], columns["interval"])
    corrected = (columns[name] for name in ("ends", "p", "seen"))
    pairs = (Column("pair", "difference", "text"), Column("A - B", "value"), *corrected)
    return {
        "title": comparison_title(comparison),
        "sentence": unbroken(comparison_sentence(comparison)),
        "ranking": Table.of_records(_ranking_records(comparison), ranking),
        "pairs": Table.of_records(_pair_records(comparison), pairs),
    }

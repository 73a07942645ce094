"""Comparisons of systems as tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from zeroevidence.data.files import reading_file
from zeroevidence.data.json_values import plain, read_json, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation.comparison import COUNTING, Comparison, Sources
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format
from zeroevidence.report.layout import heading, interval, interval_title, number
from zeroevidence.report.page_tables import Cell, HtmlTable, count_cell, number_cell
from zeroevidence.report.rendering import render_grids
from zeroevidence.report.table import Grid, records_to_csv
from zeroevidence.report.verdict.others import comparison_sentence
from zeroevidence.report.verdict.phrases import unbroken
from zeroevidence.uncertainty.level import alpha, percent

SCHEMA = "zeroevidence/comparison/2"
_GROUPS = "Systems of one group are not told apart by these trials; group 1 discloses least."
_UNPAIRED = (
    "The trials are not paired: these results name no trials, or are files, which hold no values without single "
    "people; so the differences rest on both intervals. Comparing scores with names of trials has more power."
)
_TRAININGS = (
    "Values are means over trainings. Intervals cover the spread of people and of trainings; the larger of their "
    "standard errors is marked *: more people or more trainings, whichever is marked, would shorten the interval most."
)
_COUNTING = (
    f"{COUNTING.capitalize()} may be another one in each audit: that which did best on development people; the other "
    "lines compare the best attackers of one kind."
)
_ERRORS = ("se people", "se trainings")


def render_comparisons(comparisons: Sequence[Comparison], format: str, signatures: bool = False) -> str:
    """Return all measures in one of the output formats; text holds the signatures of several only where asked to."""
    check_format(format)
    if format == "json":
        document = {"schema": SCHEMA, "comparisons": [plain(asdict(comparison)) for comparison in comparisons]}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "csv":
        return records_to_csv(_records(comparisons))
    two = _two_systems(comparisons)
    grids = [grid for comparison in comparisons for grid in _grids(comparison)]
    said = [comparison for comparison in comparisons if not two or comparison.labels == comparisons[0].labels]
    return render_grids(
        [_two_system_grid(comparisons)] if two else grids,
        format,
        lead=[comparison_sentence(comparison) for comparison in said],
        notes=comparison_notes(comparisons, groups=not two),
        signatures=[comparison.signature for comparison in comparisons],
        each=signatures,
    )


def comparison_notes(comparisons: Sequence[Comparison], *, groups: bool = True) -> list[str]:
    """Notes on `groups` where they are shown, on p-values, trainings, unpaired trials, and attackers of audits."""
    trained = any(map(_several_trainings, comparisons))
    unpaired = not all(comparison.paired for comparison in comparisons)
    counting = any(comparison.labels.get("attacker") == COUNTING for comparison in comparisons)
    notes = [
        (True, _differences_note(comparisons, groups=groups)),
        (trained, _TRAININGS),
        (unpaired, _UNPAIRED),
        (counting, _COUNTING),
    ]
    return [note for applies, note in notes if applies]


def _differences_note(comparisons: Sequence[Comparison], *, groups: bool) -> str:
    """What the columns of differences are, and how they are corrected where there are several pairs."""
    levels = {comparison.level for comparison in comparisons}
    error = f"below {percent(alpha(levels.pop()))}" if len(levels) == 1 else "small enough"
    several = any(len(comparison.pairs) > 1 for comparison in comparisons)
    corrected = (
        f"p and intervals of differences are Holm-corrected: an interval excludes 0 exactly where p is {error}. "
        if several
        else ""
    )
    grouped = f"{_GROUPS} " if groups else ""
    return f'{grouped}{corrected}A true difference as large as in the column "seen" would be found so often.'


def comparison_title(comparison: Comparison) -> str:
    """The measure, and what systems were compared on where that differs."""
    labels = ", ".join(f"{name}: {text}" for name, text in comparison.labels.items())
    return f"{heading(comparison.measure)} ({labels})" if labels else heading(comparison.measure)


def _several_trainings(comparison: Comparison) -> bool:
    return any(system.runs > 1 for system in comparison.ranking)


def _two_systems(comparisons: Sequence[Comparison]) -> bool:
    """Whether there are two systems, the same in every comparison, and one training of each."""
    names = {(pair.first, pair.second) for comparison in comparisons for pair in comparison.pairs}
    several = any(len(comparison.ranking) != 2 or _several_trainings(comparison) for comparison in comparisons)
    return len(names) == 1 and all(comparison.pairs for comparison in comparisons) and not several


def _two_system_grid(comparisons: Sequence[Comparison]) -> Grid:
    """All comparisons of two systems in one table."""
    labels = list(dict.fromkeys(name for comparison in comparisons for name in comparison.labels))
    (first, second), level = _pair_names(comparisons[0]), comparisons[0].level
    body = []
    for comparison in comparisons:
        unit, (pair,) = MEASURES[comparison.measure].unit, comparison.pairs
        values = {system.system: number(system.value, unit) for system in comparison.ranking}
        difference = (
            f"{number(pair.difference.value, unit)}\n{interval(pair.difference.low, pair.difference.high, unit)}"
        )
        seen = "" if pair.difference.detectable is None else number(pair.difference.detectable, unit)
        described = [comparison.labels.get(name, "") for name in labels]
        numbers = (values[first], values[second], difference, f"{pair.p_holm:.2g}", seen)
        body.append((*described, heading(comparison.measure), *numbers))
    seen_in = f"seen in {percent(comparisons[0].power)}"
    between = f"{first} - {second}, {interval_title(level)}"
    headings = (*labels, "measure", first, second, between, "p", seen_in)
    return Grid("", headings, tuple(body), len(labels) + 1)


def _pair_names(comparison: Comparison) -> tuple[str, str]:
    return comparison.pairs[0].first, comparison.pairs[0].second


def _grids(comparison: Comparison) -> list[Grid]:
    unit, title = MEASURES[comparison.measure].unit, comparison_title(comparison)
    trained = _several_trainings(comparison)
    ranking = tuple(
        (
            *(str(system.group), system.system, *([str(system.runs)] if trained else [])),
            *(number(system.value, unit), interval(system.low, system.high, unit)),
            *(_errors(system.sources, unit) if trained else ()),
        )
        for system in comparison.ranking
    )
    pairs = tuple(
        (
            *(pair.first, pair.second, number(pair.difference.value, unit)),
            *(interval(pair.difference.low, pair.difference.high, unit), f"{pair.p_holm:.2g}"),
            "" if pair.difference.detectable is None else number(pair.difference.detectable, unit),
            *(_errors(pair.sources, unit) if trained else ()),
        )
        for pair in comparison.pairs
    )
    runs, errors = (["trainings"], _ERRORS) if trained else ([], ())
    ends, seen = interval_title(comparison.level), f"seen in {percent(comparison.power)}"
    of_pairs = ends if len(pairs) < 2 else "interval"  # each is of the level at which Holm's procedure tests it
    return [
        Grid(title, ("group", "system", *runs, "value", ends, *errors), ranking, 2),
        Grid(f"{title}: differences", ("A", "B", "A - B", of_pairs, "p", seen, *errors), pairs, 2),
    ]


def _errors(sources: Sources | None, unit: str) -> tuple[str, ...]:
    """Both standard errors, the larger one marked."""
    if sources is None:
        return ("", "")
    errors = {"people": sources.people, "trainings": sources.trainings}
    return tuple(number(error, unit) + ("*" if name == sources.mostly else "") for name, error in errors.items())


def _records(comparisons: Sequence[Comparison]) -> list[dict[str, object]]:
    """One record per measure and pair."""
    labels = dict.fromkeys(name for comparison in comparisons for name in comparison.labels)
    trained = any(map(_several_trainings, comparisons))
    records = []
    for comparison in comparisons:
        for pair in comparison.pairs:
            difference = pair.difference
            record: dict[str, object] = {
                "measure": comparison.measure,
                **{name: comparison.labels.get(name, "") for name in labels},
                "first": pair.first,
                "second": pair.second,
                "difference": difference.value,
                "low": difference.low,
                "high": difference.high,
                "p_value": difference.p_value,
                "p_holm": pair.p_holm,
                "level": difference.level,
                "detectable": difference.detectable,
            }
            if trained:
                errors = (None, None) if pair.sources is None else (pair.sources.people, pair.sources.trainings)
                record |= dict(zip(("error_people", "error_trainings"), errors, strict=True))
            records.append({**record, "signature": comparison.signature})
    return records


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
    """Title, ranking and pairwise differences of one measure."""
    unit = MEASURES[comparison.measure].unit

    def cells(value: float, low: float | None, high: float | None) -> tuple[Cell, Cell]:
        return number_cell(value, number(value, unit)), Cell(interval(low, high, unit))

    ranking = tuple(
        (Cell(system.system), count_cell(system.group), *cells(system.value, system.low, system.high))
        for system in comparison.ranking
    )
    pairs = tuple(
        (
            Cell(f"{pair.first} − {pair.second}"),
            *cells(pair.difference.value, pair.difference.low, pair.difference.high),
            number_cell(pair.p_holm, f"{pair.p_holm:.2g}"),
            Cell("") if (size := pair.difference.detectable) is None else number_cell(size, number(size, unit)),
        )
        for pair in comparison.pairs
    )
    value, ends = ("value", MEASURES[comparison.measure].meaning), (interval_title(comparison.level), "")
    corrected = "Holm-corrected for the number of pairs"
    of_pairs = ends if len(pairs) < 2 else ("interval", f"{corrected}: excludes 0 where p is small enough")
    seen = (f"seen in {percent(comparison.power)}", "the true difference that would be found so often")
    return {
        "title": comparison_title(comparison),
        "sentence": unbroken(comparison_sentence(comparison)),
        "ranking": HtmlTable((("system", ""), ("group", ""), value, ends), ranking, 1),
        "pairs": HtmlTable((("difference", ""), ("value", ""), of_pairs, ("p", corrected), seen), pairs, 1),
    }

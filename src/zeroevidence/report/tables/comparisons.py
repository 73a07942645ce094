"""Comparisons of systems as text, JSON, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict

from zeroevidence.data.files.csv_cells import escape_cell
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.json_values import plain, read_json, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation.comparing.comparison import Comparison, PairwiseDifference, Placed, Sources
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format
from zeroevidence.report.layout.formatting import heading, number
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import grids_to_latex

SCHEMA = "zeroevidence/comparison/1"
GROUPS = "Systems of one group are not told apart by these trials; group 1 discloses least."
NOTE = f"{GROUPS} p is Holm-corrected."
UNPAIRED = (
    "The trials are not paired: these files hold no values without single people, so the differences rest on both "
    "intervals. Comparing the scores themselves finds more."
)

TRAININGS = (
    "Values are means over trainings. Intervals have the spread of people and of trainings; of their standard errors "
    "the larger one is marked *: more of what it is of would shorten the interval most."
)
_SOURCES = ("se people", "se trainings")


def render_comparisons(comparisons: Sequence[Comparison], format: str, signatures: bool = False) -> str:
    """All measures in one of the output formats; text holds the signatures of several only where asked to."""
    check_format(format)
    if format == "json":
        document = {"schema": SCHEMA, "comparisons": [plain(asdict(one)) for one in comparisons]}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "csv":
        return _csv(comparisons)
    grids = [grid for one in comparisons for grid in _grids(one)]
    own = [one.signature for one in comparisons]
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text(grids, comparison_notes(comparisons), [], own, all_of_them=signatures)
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format](grids, comparison_notes(comparisons), own)


def comparison_notes(comparisons: Sequence[Comparison]) -> list[str]:
    """What groups and p-values mean, and what the differences rest on where that is not the trials."""
    trained = any(one.runs > 1 for comparison in comparisons for one in comparison.ranking)
    unpaired = not all(one.paired for one in comparisons)
    return [NOTE, *([TRAININGS] if trained else []), *([UNPAIRED] if unpaired else [])]


def comparison_title(comparison: Comparison) -> str:
    """The measure, and what systems were compared on where that differs."""
    labels = ", ".join(f"{name}: {text}" for name, text in comparison.labels.items())
    return f"{heading(comparison.measure)} ({labels})" if labels else heading(comparison.measure)


def _grids(comparison: Comparison) -> list[Grid]:
    unit = MEASURES[comparison.measure].unit
    title = comparison_title(comparison)
    trained = any(one.runs > 1 for one in comparison.ranking)
    ranking = Grid(
        title,
        (
            "group",
            "system",
            *(["trainings"] if trained else []),
            "value",
            "95 % interval",
            *(_SOURCES if trained else []),
        ),
        tuple(_ranked(one, unit, trained=trained) for one in comparison.ranking),
        2,
    )
    pairs = Grid(
        f"{title}: differences",
        ("A", "B", "A - B", "95 % interval", "p", *(_SOURCES if trained else [])),
        tuple(_pair(one, unit, trained=trained) for one in comparison.pairs),
        2,
    )
    return [ranking, pairs]


def _ranked(one: Placed, unit: str, *, trained: bool) -> tuple[str, ...]:
    told = (number(one.value, unit), _bounds(one.low, one.high, unit))
    if not trained:
        return (str(one.group), one.system, *told)
    return (str(one.group), one.system, str(one.runs), *told, *_told_sources(one.sources, unit))


def _pair(pair: PairwiseDifference, unit: str, *, trained: bool) -> tuple[str, ...]:
    one = pair.difference
    told = (number(one.value, unit), _bounds(one.low, one.high, unit), f"{pair.p_holm:.2g}")
    return (pair.first, pair.second, *told, *(_told_sources(pair.sources, unit) if trained else ()))


def _told_sources(sources: Sources | None, unit: str) -> tuple[str, ...]:
    """Both standard errors, the larger one marked."""
    if sources is None:
        return ("", "")
    found = {"people": sources.people, "trainings": sources.trainings}
    return tuple(number(error, unit) + ("*" if name == sources.mostly else "") for name, error in found.items())


def _bounds(low: float | None, high: float | None, unit: str) -> str:
    return "" if low is None or high is None else f"[{number(low, unit)}, {number(high, unit)}]"


def _csv(comparisons: Sequence[Comparison]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    labels = list(dict.fromkeys(name for one in comparisons for name in one.labels))
    trained = any(one.runs > 1 for comparison in comparisons for one in comparison.ranking)
    more = ("error_people", "error_trainings") if trained else ()
    columns = ("first", "second", "difference", "low", "high", "p_value", "p_holm", *more, "signature")
    writer.writerow(["measure", *labels, *columns])
    for comparison in comparisons:
        for pair in comparison.pairs:
            one = pair.difference
            writer.writerow(
                [
                    comparison.measure,
                    *(escape_cell(comparison.labels.get(name, "")) for name in labels),
                    *(escape_cell(pair.first), escape_cell(pair.second), one.value, one.low, one.high),
                    *(one.p_value, pair.p_holm, *(_numbers(pair.sources) if trained else ()), comparison.signature),
                ]
            )
    return buffer.getvalue()


def _numbers(sources: Sources | None) -> list[object]:
    return [] if sources is None else [sources.people, sources.trainings]


def comparisons_from_json(text: str, *, path: str = "<json>") -> list[Comparison]:
    """Comparisons of a file written by `render_comparisons`."""
    document = read_json(text, path)
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise InputError(f"expected a comparison with schema {SCHEMA!r}, got {str(found)[:40]!r}", path=path)
    with reading_file(path, "a comparison"):
        comparisons = typed(tuple[Comparison, ...], document.get("comparisons"), "comparisons")
        for place, one in enumerate(comparisons):
            _check(one, f"comparisons[{place}]")
    if not comparisons:
        raise InputError("has no comparisons; expected at least one", path=path)
    return list(comparisons)


def _check(comparison: Comparison, where: str) -> None:
    """Refuse what no comparison can be: nothing ranked, an unknown measure, numbers outside their range."""
    if comparison.measure not in MEASURES:
        raise InputError(f"{where}.measure: no measure {comparison.measure[:40]!r}")
    if not comparison.ranking:
        raise InputError(f"{where}.ranking: is empty; expected at least one system")
    for place, one in enumerate(comparison.ranking):
        if not 1 <= one.group <= len(comparison.ranking):
            raise InputError(
                f"{where}.ranking[{place}].group: expected 1 to {len(comparison.ranking)}, got {one.group}"
            )
    for place, pair in enumerate(comparison.pairs):
        for name, p in (("p_holm", pair.p_holm), ("difference.p_value", pair.difference.p_value)):
            if not 0.0 <= p <= 1.0:
                raise InputError(f"{where}.pairs[{place}].{name}: expected a number from 0 to 1, got {p}")

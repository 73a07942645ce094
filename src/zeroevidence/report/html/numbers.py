"""The headline numbers of an HTML report, as plain values for its template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log2

from zeroevidence.evaluation import Evaluation, Finding, MeasureResult
from zeroevidence.evaluation.rows.columns import Column
from zeroevidence.evaluation.rows.measure_result import RESULT_COLUMNS
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.report.layout.formatting import (
    bounds,
    chance_value,
    chosen_measures,
    meaning,
    null_cell,
    number,
    p_text,
    unit_sign,
    value,
)
from zeroevidence.report.verdict.phrases import unbroken
from zeroevidence.uncertainty.level import percent

REPORT_COLUMNS = tuple(column for column in RESULT_COLUMNS if column.in_report)
# What people ask first, first; measures that are not here follow in the order of the tables.
_FIRST = ("top1", "link_probability", "alid", "lid_max", "singling_out", "d_ece", "worst_case", "tag", "linkability")


@dataclass(frozen=True, slots=True)
class Strip:
    """Places on a line from nothing learned to everything, in percent of its length."""

    value: float
    low: float | None
    high: float | None
    null: float | None
    plain: float | None


@dataclass(frozen=True, slots=True)
class HeadlineNumber:
    """A measure of the strongest attacker as the report shows it.

    Parameters
    ----------
    name
        Name of the measure.
    title
        Its title.
    value
        Its value.
    unit
        Its unit.
    bounds
        Its interval.
    null
        Its value if nothing leaked.
    p_value
        How often the null reaches the value.
    plain
        The value of unprotected voices.
    noise
        The value of noise.
    meaning
        A sentence on what it means.
    strip
        Its place between nothing learned and everything; None where its range is not such a line.
    columns
        Titles and texts of the fields that `MeasureResult` declares for reports, in their order.
    """

    name: str
    title: str
    value: str
    unit: str
    bounds: str
    null: str
    p_value: str
    plain: str
    noise: str
    meaning: str
    strip: Strip | None
    columns: tuple[tuple[str, str], ...]


def measure_title(name: str) -> str:
    """The title of a measure; one that is not registered by its name."""
    return MEASURES[name].title if name in MEASURES else name.replace("_", " ")


def report_measures(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[str]:
    """Measures to show: those asked for, else the usual ones, most asked for first, or all numbers of other results."""
    if measures is not None:
        return [name for name in chosen_measures(rows, measures) if any(name in row.metrics for row in rows)]
    present = {name for row in rows for name in row.metrics}
    usual = [name for name in dict.fromkeys((*_FIRST, *headline_measures())) if name in present]
    if usual:
        return usual
    scalars = [n for row in rows for n, result in row.metrics.items() if isinstance(result.value, (str, int, float))]
    return list(dict.fromkeys(scalars))


def headline_numbers(rows: Sequence[Evaluation], finding: Finding, measures: Sequence[str]) -> list[HeadlineNumber]:
    """Numbers of the strongest row beside its bounds."""
    row = rows[finding.strongest]
    plain, noise = (None if i is None else rows[i] for i in (finding.control, finding.floor))
    return [_headline_number(name, row, plain, noise) for name in measures if name in row.metrics]


def _headline_number(name: str, row: Evaluation, plain: Evaluation | None, noise: Evaluation | None) -> HeadlineNumber:
    result = row.metrics[name]
    return HeadlineNumber(
        name,
        measure_title(name),
        value(result),
        unit_sign(result.unit),
        bounds(result),
        null_cell(row, name, " "),
        "" if result.p_value is None else unbroken(p_text(result.p_value)),
        _value(plain, name),
        _value(noise, name),
        meaning(row, name),
        strip_of(name, row, plain),
        tuple((column.title, text) for column in REPORT_COLUMNS if (text := _column_text(result, column))),
    )


def _column_text(result: MeasureResult, column: Column) -> str:
    field = getattr(result, column.name)
    if field is None or column.format == "text":
        return field or ""
    return percent(field) if column.format == "share" else number(field, result.unit)


def _value(row: Evaluation | None, name: str) -> str:
    return value(row.metrics[name]) if row is not None and name in row.metrics else ""


def strip_of(name: str, row: Evaluation, plain: Evaluation | None) -> Strip | None:
    """The place of a number between nothing and everything; None where that is not a line."""
    result = row.metrics[name]
    ends, observed = _range(name, result, row), row.number(name)
    if ends is None or observed is None or not isfinite(observed):
        return None
    nothing, everything = ends

    def place(x: float | None) -> float | None:
        if x is None or not isfinite(x):
            return None
        return round(100.0 * min(1.0, max(0.0, (x - nothing) / (everything - nothing))), 2)

    at = place(observed)
    assert at is not None
    interval = sorted(x for x in (place(result.low), place(result.high)) if x is not None)
    low, high = interval if len(interval) == 2 else (None, None)
    null = None if result.null is None else place(result.null.quantile)
    return Strip(at, low, high, null, place(None if plain is None else plain.number(name)))


def _range(name: str, result: MeasureResult, row: Evaluation) -> tuple[float, float] | None:
    """The values of a measure at nothing learned and at everything; None where its range is not such a line."""
    measure = MEASURES.get(name)
    if measure is None or measure.family == "tandem" or measure.discloses == "none":
        return None
    if measure.high_note == "log2 N":
        people = row.counts.get("identities", 0)
        return (0.0, log2(people)) if people > 1 else None
    if name == "eer":  # half is guessing; beyond it the scores point the wrong way
        return 0.5, 0.0
    chance = chance_value(row, name)
    if chance is not None:
        return chance, measure.high
    if not (isfinite(measure.low) and isfinite(measure.high)) or result.unit == "relative cost":
        return None
    return (measure.low, measure.high) if measure.discloses == "up" else (measure.high, measure.low)

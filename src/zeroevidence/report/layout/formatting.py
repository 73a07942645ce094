"""Numbers, measures and intervals as tables write them.

A cell may hold line ends. They mark where it may be broken: tables with room put a blank there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from zeroevidence.data.printable import printable
from zeroevidence.evaluation import Evaluation, MeasureResult
from zeroevidence.evaluation.rows.measure_result import NO_VALUE
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.uncertainty.level import percent

_UNITS = {"rate": "%", **{unit: unit for unit in ("bit", "bit per dimension", "log10 LR", "dB")}}


def one_line(text: str) -> str:
    """Return text from outside in one line, without control characters."""
    return " ".join(printable(text).split())


def unit_sign(unit: str) -> str:
    """The unit as it stands behind a number; empty where it has none."""
    return _UNITS.get(unit, "")


def title(name: str) -> str:
    """The title of a measure; its name where it is not registered."""
    return MEASURES[name].title if name in MEASURES else one_line(name)


def heading(name: str, more: str = "") -> str:
    """The title of a measure, and more, with its unit."""
    unit = unit_sign(MEASURES[name].unit) if name in MEASURES else ""
    return f"{title(name)}{more} [{unit}]" if unit else f"{title(name)}{more}"


def meaning(row: Evaluation, name: str) -> str:
    """The sentence on a measure that suits the question of the row, with the reason for a negative null where it is."""
    if name not in MEASURES:
        return ""
    measure = MEASURES[name]
    text = (measure.meaning_of_attribute if row.about.question == "attribute" else None) or measure.meaning
    result = row.metrics.get(name)
    category = None if result is None else result.value
    if measure.categories is not None and isinstance(category, str) and category in measure.categories:
        text += f" {category}: {measure.categories[category]}."
    if measure.null_note is not None and result is not None and result.null is not None and result.null.mean < 0.0:
        text += f" {measure.null_note}"
    return text


def number(value: object, unit: str) -> str:
    """A value for people: rates in percent, four digits elsewhere, a dash where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    assert isinstance(value, float)
    if isnan(value):
        return NO_VALUE
    if unit == "rate":
        return f"{100 * value:.2f}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.4g}"


def value(result: MeasureResult) -> str:
    """The value alone; several values as `key: value` with commas between."""
    if isinstance(result.value, (str, float, int)):
        return number(result.value, result.unit)
    return ", ".join(f"{key}: {number(part, result.unit)}" for key, part in result.value.items())


def interval(low: float | None, high: float | None, unit: str) -> str:
    """Both ends in brackets; empty where there is no interval."""
    return "" if low is None or high is None else f"[{number(low, unit)}, {number(high, unit)}]"


def interval_title(level: float | None) -> str:
    """``95 % interval``; without the level where results have several."""
    return "interval" if level is None else f"{percent(level)} interval"


def common_level(rows: Sequence[Evaluation]) -> float | None:
    """The confidence level of all rows; None where they have several."""
    levels = {row.setup.level for row in rows}
    return levels.pop() if len(levels) == 1 else None


def bounds(result: MeasureResult) -> str:
    """The interval of a result."""
    return interval(result.low, result.high, result.unit)


def cell(result: MeasureResult | None, separator: str = " ") -> str:
    """A value and its interval."""
    return "" if result is None else f"{value(result)}{separator}{bounds(result)}".rstrip()


def estimate_text(result: MeasureResult | None) -> str:
    """The value corrected for few people; empty where there is none."""
    return "" if result is None or result.estimate is None else number(result.estimate, result.unit)


def cells(row: Evaluation, names: Sequence[str]) -> tuple[str, ...]:
    """The cells of measures; an interval may stand below its value."""
    return tuple(cell(row.metrics.get(name), "\n") for name in names)


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column of a table: the value and interval of a measure, or its estimate."""

    name: str
    is_estimate: bool = False

    @property
    def heading(self) -> str:
        """The title with the unit."""
        return heading(self.name, " estimate" if self.is_estimate else "")

    def cell(self, row: Evaluation) -> str:
        """The text of a row; an interval may stand below its value."""
        result = row.metrics.get(self.name)
        return estimate_text(result) if self.is_estimate else cell(result, "\n")


def measure_columns(rows: Sequence[Evaluation], names: Sequence[str], *, estimate: bool = False) -> list[MeasureColumn]:
    """The columns of measures; with `estimate` those that have one in some row are followed by it."""
    columns = []
    for name in names:
        columns.append(MeasureColumn(name))
        if estimate and any(estimate_text(row.metrics.get(name)) for row in rows):
            columns.append(MeasureColumn(name, is_estimate=True))
    return columns


def chance_value(row: Evaluation, name: str) -> float | None:
    """The value that guessing gives in this search; None where that is not known beforehand."""
    chance = MEASURES[name].chance if name in MEASURES else None
    return None if chance is None or not row.is_search else chance(row.counts["identities"])


def null_cell(row: Evaluation, name: str, separator: str = "\n") -> str:
    """The measure when nothing leaks: mean and quantile of the null, or the value that guessing gives."""
    result = row.metrics.get(name)
    if result is None:
        return ""
    if result.null is not None:
        mean, quantile = (number(level, result.unit) for level in (result.null.mean, result.null.quantile))
        return f"{mean}{separator}({percent(row.setup.level)}: {quantile})"
    chance = chance_value(row, name)
    return "" if chance is None else number(chance, result.unit)


def p_value(result: MeasureResult) -> str:
    """The p-value with two digits; empty where there is none."""
    return "" if result.p_value is None else f"{result.p_value:.2g}"


def p_text(p_value: float) -> str:
    """A p-value as a sentence gives it.

    Examples
    --------
    >>> p_text(0.0234), p_text(2e-6)
    ('p = 0.023', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def size(row: Evaluation) -> str:
    """The numbers of scores of each class."""
    one_system = "target" in row.counts
    names = ("target", "nontarget", "spoof") if one_system else tuple(name for name in row.counts if name != "speakers")
    return " + ".join(str(row.counts[name]) for name in names if name in row.counts)


def chosen_measures(rows: Sequence[Evaluation], measures: Sequence[str] | None) -> list[str]:
    """The named measures, each once; the headline measures that at least one row has where none are named."""
    if measures is not None:
        return list(dict.fromkeys(MEASURES.find(name).name for name in measures))
    return [name for name in headline_measures() if any(name in row.metrics for row in rows)]

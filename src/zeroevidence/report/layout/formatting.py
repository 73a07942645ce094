"""How labels and numbers are written in tables: one place, so that every table writes them alike.

A cell may hold line ends. They mark where it may be broken: tables with room put a blank there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from typing import get_args

from zeroevidence.evaluation import Evaluation, Flag, MeasureResult
from zeroevidence.evaluation.rows.flags import Severity
from zeroevidence.evaluation.rows.frames import used_labels
from zeroevidence.evaluation.rows.measure_result import NO_VALUE
from zeroevidence.evaluation.rows.printable import printable
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.uncertainty.level import percent

_UNITS = ("bit", "bit per dimension", "log10 LR", "dB")
_SIDES = ("enrolment", "trial")


def title(name: str) -> str:
    """What people call a measure; its name where it is not one of ours."""
    return MEASURES[name].title if name in MEASURES else one_line(name)


def heading(name: str, blank: str = " ") -> str:
    """Column heading with its unit, whose words stand with `blank` between."""
    kind = MEASURES[name].unit if name in MEASURES else ""
    unit = "%" if kind == "rate" else kind.replace(" ", blank) if kind in _UNITS else ""
    return f"{title(name)} [{unit}]" if unit else title(name)


def meaning(row: Evaluation, name: str) -> str:
    """The sentence on a measure that suits the question of the row, and its category in words where it is one."""
    if name not in MEASURES:
        return ""
    entry = MEASURES[name]
    told = (entry.meaning_of_attribute if row.about.question == "attribute" else None) or entry.meaning
    category = row.metrics[name].value if name in row.metrics else None
    words = entry.categories.get(category) if entry.categories is not None and isinstance(category, str) else None
    return told if words is None else f"{told} {category}: {words}."


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


def value(metric: MeasureResult, between: str = " ") -> str:
    """The value alone; several values as `key: value` with commas between."""
    if isinstance(metric.value, (str, float, int)):
        return number(metric.value, metric.unit)
    return f",{between}".join(f"{key}: {number(one, metric.unit)}" for key, one in metric.value.items())


def bounds(metric: MeasureResult) -> str:
    """The interval, where there is one."""
    if metric.low is None or metric.high is None:
        return ""
    return f"[{number(metric.low, metric.unit)}, {number(metric.high, metric.unit)}]"


def guessed(row: Evaluation, name: str) -> float | None:
    """What guessing gives in this search; None where that is not known beforehand."""
    chance = MEASURES[name].chance if name in MEASURES else None
    return None if chance is None or not row.is_search else chance(row.counts["identities"])


def under_null(row: Evaluation, name: str, between: str = "\n") -> str:
    """What the measure shows when nothing leaks: mean and quantile, or what guessing gives."""
    metric = row.metrics.get(name)
    if metric is None:
        return ""
    if metric.null is not None:
        mean, quantile = (number(level, metric.unit) for level in (metric.null.mean, metric.null.quantile))
        return f"{mean}{between}({percent(row.setup.level)}: {quantile})"
    chance = guessed(row, name)
    return "" if chance is None else number(chance, metric.unit)


def null_note(row: Evaluation, name: str) -> str:
    """Why a measure is below 0 when nothing leaks, where it is."""
    null = row.metrics[name].null if name in row.metrics else None
    said = MEASURES[name].null_note if name in MEASURES else None
    return said if said is not None and null is not None and null.mean < 0.0 else ""


def p_value(metric: MeasureResult) -> str:
    """How often the measure is as large as observed when nothing leaks."""
    return "" if metric.p_value is None else f"{metric.p_value:.2g}"


def cell(metric: MeasureResult | None, between: str = " ") -> str:
    """A value and its interval."""
    if metric is None:
        return ""
    return f"{value(metric, between)}{between}{bounds(metric)}".rstrip()


def size(row: Evaluation, plus: str = "+") -> str:
    """How many scores of each class a row rests on."""
    one_system = "target" in row.counts
    names = ("target", "nontarget", "spoof") if one_system else tuple(name for name in row.counts if name != "speakers")
    return plus.join(str(row.counts[name]) for name in names if name in row.counts)


def label_words(row: Evaluation, label: str) -> str:
    """A label for a table: an attacker by name alone, what the name means being told once, elsewhere."""
    if label == "attacker" and row.about.threat is not None:
        return row.about.threat.name + (" with adapter" if row.about.threat.adapter else "")
    return row.labels.get(label, "")


def one_line(text: str) -> str:
    """Text of others in one line, without control characters."""
    return " ".join(printable(text).split())


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels of several rows as a table shows them.

    Parameters
    ----------
    shared
        Labels with the one value that all rows have.
    columns
        The other labels with the value of each row.
    threats
        What the attackers' names stand for.
    """

    shared: dict[str, str]
    columns: dict[str, tuple[str, ...]]
    threats: tuple[str, ...]


def labelled(rows: Sequence[Evaluation]) -> Labelled:
    """What rows have in common, and what tells them apart; of a single row every label is told apart.

    The sides that an attacker compares are part of the threat model, which is told once. They get no columns where the
    attackers' names stand for them.
    """
    short = _names_suffice(rows)
    values = {
        label: tuple(
            one_line(label_words(row, label) if short or label != "attacker" else row.labels.get(label, ""))
            for row in rows
        )
        for label in used_labels(rows)
    }
    differing = {label: told for label, told in values.items() if len(rows) == 1 or len(set(told)) > 1}
    shared = {label: told[0] for label, told in values.items() if label not in differing}
    if short and len(rows) > 1 and all(row.about.threat is not None for row in rows):
        differing = {label: told for label, told in differing.items() if label not in _SIDES}
    if "attacker" in shared:
        shared["attacker"] = one_line(rows[0].labels["attacker"])
        return Labelled(shared, differing, ())
    threats = dict.fromkeys(str(row.about.threat) for row in rows if row.about.threat is not None) if short else ()
    return Labelled(shared, differing, tuple(threats))


def _names_suffice(rows: Sequence[Evaluation]) -> bool:
    """Whether each attacker's name stands for one tuple in these rows."""
    tuples = {
        (label_words(row, "attacker"), str(row.about.threat), row.about.threat.trial)
        for row in rows
        if row.about.threat is not None
    }
    return len(tuples) == len({name for name, *_ in tuples})


def chosen_measures(rows: Sequence[Evaluation], measures: Sequence[str] | None) -> list[str]:
    """The named measures, each once; the headline measures that at least one row has where none are named."""
    if measures is not None:
        return list(dict.fromkeys(MEASURES.find(name).name for name in measures))
    return [name for name in headline_measures() if any(name in row.metrics for row in rows)]


@dataclass(frozen=True, slots=True)
class Flagged:
    """A warning and the numbers of the rows that have it, from 1; none where there is only one row."""

    flag: Flag
    rows: tuple[int, ...]
    everywhere: bool

    @property
    def name(self) -> str:
        """The code, and which rows."""
        if not self.rows:
            return self.flag.code
        return f"{self.flag.code} ({'all rows' if self.everywhere else numbered(self.rows)})"

    def __str__(self) -> str:
        return f"{self.flag.severity} {self.name}: {self.flag.sentence}"


def flagged(rows: Sequence[Evaluation]) -> list[Flagged]:
    """Each warning once, the gravest first."""
    found: dict[Flag, list[int]] = {}
    for position, row in enumerate(rows, 1):
        for flag in row.flags:
            found.setdefault(flag, []).append(position)
    severities = get_args(Severity)
    ordered = sorted(found.items(), key=lambda item: severities.index(item[0].severity))
    several = len(rows) > 1
    return [Flagged(flag, tuple(whose) if several else (), len(whose) == len(rows)) for flag, whose in ordered]


def numbered(numbers: Sequence[int]) -> str:
    """``rows 1, 2, 5-8``: three and more that follow each other as a range."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        own = [str(one) for _, one in run]
        parts += [f"{own[0]}-{own[-1]}"] if len(own) > 2 else own
    return f"row{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def row_numbers(rows: Sequence[Evaluation]) -> tuple[int, ...]:
    """The numbers of rows, where warnings name some of them or no label tells them apart; else none."""
    named = any(not one.everywhere for one in flagged(rows))
    needed = len(rows) > 1 and (named or not labelled(rows).columns)
    return tuple(range(1, len(rows) + 1)) if needed else ()

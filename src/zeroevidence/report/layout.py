"""What tables show of results: numbers, labels, warnings, and which rows share a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import isnan
from typing import get_args

from zeroevidence.data.printable import printable
from zeroevidence.evaluation import Evaluation, Flag
from zeroevidence.evaluation.finding.beside import utility_beside
from zeroevidence.evaluation.rows.evaluation import used_labels
from zeroevidence.evaluation.rows.flags import Severity
from zeroevidence.evaluation.rows.measure_result import NO_VALUE
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.uncertainty.level import percent

UNBROKEN = "\u00a0"  # a blank at which lines are not broken
_MOST_WAYS = 3  # in which a warning is worded, each shown by itself
_UNITS = {"rate": "%", **{unit: unit for unit in ("bit", "bit per dimension", "log10 LR", "dB", "nat")}}


def one_line(text: str) -> str:
    """Return text from outside in one line, without control characters."""
    return " ".join(printable(text).split())


def unit_sign(unit: str) -> str:
    """The unit as it stands behind a number; empty where it has none."""
    return _UNITS.get(unit, "")


def title(name: str) -> str:
    """The title of a measure; its name where it is not registered."""
    return MEASURES[name].title if name in MEASURES else one_line(name)


def heading(name: str) -> str:
    """The title of a measure with its unit."""
    unit = unit_sign(MEASURES[name].unit) if name in MEASURES else ""
    return f"{title(name)} [{unit}]" if unit else title(name)


def meaning(row: Evaluation, name: str) -> str:
    """The sentence on a measure that suits the question of the row."""
    if name not in MEASURES:
        return ""
    measure = MEASURES[name]
    text = (measure.meaning_of_attribute if row.about.question == "attribute" else None) or measure.meaning
    result = row.metrics.get(name)
    category = None if result is None else result.value
    if measure.categories is not None and isinstance(category, str) and category in measure.categories:
        text += f" {category}: {measure.categories[category]}."
    return text


def number(value: str | float, unit: str = "", format: str = "") -> str:
    """A value for people: rates in percent, four digits elsewhere unless told otherwise, a dash where there is none."""
    if isinstance(value, (str, int)):
        return str(value)
    if isnan(value):
        return NO_VALUE
    if unit == "rate":
        return f"{100 * value:{format or '.2f'}}"
    return f"{value:{format or ('.4f' if abs(value) < 1000 else '.4g')}}"


def interval(low: float | None, high: float | None, unit: str, format: str = "") -> str:
    """Both ends in brackets; empty where there is no interval."""
    return "" if low is None or high is None else f"[{number(low, unit, format)}, {number(high, unit, format)}]"


def interval_title(level: float | None) -> str:
    """``95 % interval``; without the level where results have several."""
    return "interval" if level is None else f"{percent(level)} interval"


def common_level(rows: Sequence[Evaluation]) -> float | None:
    """The confidence level of all rows; None where they have several."""
    levels = {row.setup.level for row in rows}
    return levels.pop() if len(levels) == 1 else None


def chance_value(row: Evaluation, name: str) -> float | None:
    """The value that guessing gives in this search; None where that is not known beforehand."""
    chance = MEASURES[name].chance if name in MEASURES else None
    return None if chance is None or not row.is_search else chance(row.counts)


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


_SIDES = ("enrolment", "trial")
_LONG = 30  # letters of a label that leaves too little room for numbers
_MOST_VALUES = 6  # of the label that another follows from: more would not fit into a sentence


@dataclass(frozen=True, slots=True)
class RowLabels:
    """The labels of several rows as a table shows them.

    Parameters
    ----------
    shared
        Labels with the one value that all rows have.
    columns
        The other labels with the value of each row.
    threats
        The threat models that the attackers' names stand for.
    implied
        The label that was left out because it follows from another one, as a sentence.
    """

    shared: dict[str, str]
    columns: dict[str, tuple[str, ...]]
    threats: tuple[str, ...] = ()
    implied: str = ""


def row_labels(rows: Sequence[Evaluation]) -> RowLabels:
    """Separate the labels that rows share from those that differ; of a single row every label differs.

    The sides that an attacker compares are part of the threat model, which is said once. They get no columns where the
    attackers' names stand for them.
    """
    short = _names_suffice(rows)
    values = {
        label: tuple(
            one_line(label_text(row, label) if short or label != "attacker" else row.labels.get(label, ""))
            for row in rows
        )
        for label in used_labels(rows)
    }
    differing = {label: texts for label, texts in values.items() if len(rows) == 1 or len(set(texts)) > 1}
    shared = {label: texts[0] for label, texts in values.items() if label not in differing}
    if short and len(rows) > 1 and all(row.about.threat is not None for row in rows):
        differing = {label: texts for label, texts in differing.items() if label not in _SIDES}
    if "attacker" in shared:
        shared["attacker"] = one_line(rows[0].labels["attacker"])
        return RowLabels(shared, differing)
    threats = dict.fromkeys(str(row.about.threat) for row in rows if row.about.threat is not None) if short else ()
    return RowLabels(shared, differing, tuple(threats))


def label_text(row: Evaluation, label: str) -> str:
    """A label for a table: an attacker by name alone, since the threat model is said once elsewhere."""
    if label == "attacker" and row.about.threat is not None:
        return row.about.threat.name + (" with adapter" if row.about.threat.adapter else "")
    return row.labels.get(label, "")


def _names_suffice(rows: Sequence[Evaluation]) -> bool:
    """Whether each attacker's name stands for one threat model in these rows."""
    models = {
        (label_text(row, "attacker"), str(row.about.threat), row.about.threat.trial)
        for row in rows
        if row.about.threat is not None
    }
    return len(models) == len({name for name, *_ in models})


def without_implied(labels: RowLabels) -> RowLabels:
    """The labels without the column of the widest that follows from another, where some label is long.

    Examples
    --------
    >>> attackers = ("none", "lazy", "semi")
    >>> short = without_implied(RowLabels({}, {"system": ("unprotected", *["shift" * 8] * 2), "attacker": attackers}))
    >>> short.implied
    'system, by attacker: unprotected (none), shiftshiftshiftshiftshiftshiftshiftshift (lazy, semi)'
    >>> list(short.columns)
    ['attacker']
    """
    columns = labels.columns
    lengths = {label: max(map(len, texts)) for label, texts in columns.items()}
    if max(lengths.values(), default=0) <= _LONG:
        return labels
    for label in sorted(columns, key=lambda name: -lengths[name]):
        for other, keys in columns.items():
            if other != label and _follows(columns[label], keys):
                keys_of: dict[str, dict[str, None]] = {}
                for text, key in zip(columns[label], keys, strict=True):
                    keys_of.setdefault(text, {})[key] = None
                values = ", ".join(f"{text} ({', '.join(of_text)})" for text, of_text in keys_of.items())
                rest = {name: texts for name, texts in columns.items() if name != label}
                return replace(labels, columns=rest, implied=f"{label}, by {other}: {values}")
    return labels


def _follows(texts: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    fewer = len(set(texts)) < len(set(keys)) <= _MOST_VALUES
    return fewer and len(set(zip(keys, texts, strict=True))) == len(set(keys))


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """A warning and the numbers of the rows that have it, from 1; none where there is only one row."""

    flag: Flag
    rows: tuple[int, ...]
    everywhere: bool
    alike: tuple[int, ...] = ()  # rows that have it with other numbers or names in its sentence

    @property
    def where(self) -> str:
        """Which rows have it; nothing where there is only one row."""
        rows = "" if not self.rows else "all rows" if self.everywhere else row_range(self.rows)
        return f"{rows}; with other numbers {row_range(self.alike)}" if self.alike else rows

    @property
    def name(self) -> str:
        """The code, and which rows."""
        return f"{self.flag.code} ({self.where})" if self.where else self.flag.code

    @property
    def text(self) -> str:
        """The sentence with a capital."""
        return self.flag.sentence[:1].upper() + self.flag.sentence[1:]

    def __str__(self) -> str:
        return f"{self.flag.severity} {self.name}: {self.flag.sentence}"


def raised_flags(rows: Sequence[Evaluation]) -> list[RaisedFlag]:
    """Each warning once, the gravest first; of one that rows have in many ways, the first way and all rows."""
    numbers: dict[Flag, list[int]] = {}
    for position, row in enumerate(rows, 1):
        for flag in row.flags:
            numbers.setdefault(flag, []).append(position)
    severities = get_args(Severity)
    ordered = sorted(numbers.items(), key=lambda item: severities.index(item[0].severity))
    several = len(rows) > 1
    raised = [RaisedFlag(flag, tuple(places) if several else (), len(places) == len(rows)) for flag, places in ordered]
    ways = Counter(each.flag.code for each in raised if each.flag.severity != "fault")
    first: dict[object, RaisedFlag] = {}
    for each in raised:
        key = each.flag.code if ways[each.flag.code] > _MOST_WAYS else each.flag
        before = first.setdefault(key, each)
        if before is not each:
            first[key] = replace(before, alike=tuple(sorted({*before.alike, *each.rows} - {*before.rows})))
    return list(first.values())


def row_range(numbers: Sequence[int]) -> str:
    """``rows 1, 2, 5-8``: three and more that follow each other as a range."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        texts = [str(number) for _, number in run]
        parts += [f"{texts[0]}-{texts[-1]}"] if len(texts) > 2 else texts
    return f"row{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def row_numbers(rows: Sequence[Evaluation]) -> tuple[int, ...]:
    """The numbers of rows, where warnings name some of them or no label tells them apart; else none."""
    named = any(not flag.everywhere for flag in raised_flags(rows))
    needed = len(rows) > 1 and (named or not row_labels(rows).columns)
    return tuple(range(1, len(rows) + 1)) if needed else ()


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one table, and the measures that were named for it."""

    rows: list[Evaluation]
    measures: Sequence[str] | None


def sections(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[Section]:
    """Divide rows into tables: attackers with utility beside privacy, then the utility that fits none of them.

    Where measures are named, only rows that have one of them are shown, and of several tables each shows those that it
    has.
    """
    joined = utility_beside(rows)
    if measures is not None:
        joined = [row for row in joined if any(name in row for name in measures)] or joined
    attacks = [row for row in joined if row.about.speech is None]
    utility = [row for row in joined if row.about.speech is not None]
    parts = [part for part in (attacks, utility) if part]
    if len(parts) < 2 or measures is None:
        return [Section(part, measures) for part in parts]
    return [Section(part, [name for name in measures if any(name in row for row in part)]) for part in parts]

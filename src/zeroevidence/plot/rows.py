"""Rows of a figure: a choice among them, and the names of rows, classes and measures."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from zeroevidence.data.printable import printable
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, evaluate
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.measure.measures import MEASURES

Results = Evaluation | Sequence[Evaluation]


def evaluate_scores(target: ArrayLike, nontarget: ArrayLike) -> Evaluation:
    """Two arrays of scores as a result; figures need no intervals and no null."""
    return evaluate(target, nontarget, options=Options(intervals=0, null=0))


def as_rows(results: Any, nontarget: Any = None) -> list[Evaluation]:
    """Return the argument of a figure as a list of rows."""
    if nontarget is not None:
        items = [item for each in (results, nontarget) for item in (each if isinstance(each, Sequence) else [each])]
        if any(isinstance(item, Evaluation) for item in items):
            raise UsageError("expected several results as one list, as in ece([a, b])")
        return [evaluate_scores(results, nontarget)]
    if isinstance(results, Evaluation):
        return [results]
    rows = list(results) if isinstance(results, Iterable) else [results]
    if not rows:
        raise UsageError("expected at least one result, got none")
    other = next((row for row in rows if not isinstance(row, Evaluation)), None)
    if other is not None:
        raise UsageError(f"expected results of `evaluate`, or target and non-target scores, got {type(other).__name__}")
    return rows


def choose_rows(
    rows: Sequence[Evaluation], *, numbers: Sequence[int] = (), where: Iterable[tuple[str, str]] = ()
) -> list[Evaluation]:
    """Rows by number, counted from 1, and by label.

    Parameters
    ----------
    rows
        Rows to choose from.
    numbers
        Numbers of the rows, in the order of the result; all rows unless given.
    where
        Labels and the value that each must have; attackers can also be chosen by the name of their threat model.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> quick = Options(intervals=0, null=0)
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], labels={"system": "mine"}, options=quick)
    >>> len(choose_rows([result, result], where=[("system", "mine")])), len(choose_rows([result, result], numbers=[2]))
    (2, 1)
    """
    beyond = [number for number in numbers if not 1 <= number <= len(rows)]
    if beyond:
        raise UsageError(f"there is no row {beyond[0]}; the results have {len(rows)}")
    chosen = [rows[number - 1] for number in numbers] if numbers else list(rows)
    for label, value in where:
        values = sorted({row.labels[label] for row in chosen if label in row.labels})
        chosen = [row for row in chosen if label_matches(row, label, value)]
        if not chosen:
            values_text = f"it is {', '.join(map(repr, values))}" if values else "no row has that label"
            raise UsageError(f"no row has {label}={value}; {values_text}")
    return chosen


def label_matches(row: Evaluation, label: str, value: str) -> bool:
    """Whether a label of a row has this value; an attacker may also be named by its threat model."""
    threat = row.about.threat
    return value in (row.labels.get(label), None if label != "attacker" or threat is None else threat.name)


# In the order in which they are tried as names of rows.
_LABELS = ("system", "attacker", "attack", "backend", "dataset", "split", "sex", "enrolment", "trial")

_SCALE = "costs"  # values under other costs are on another scale, so names tell them apart also where others would do
_LONG = 40  # letters of a name from which labels that are not needed are left out


def row_names(rows: Sequence[Evaluation]) -> list[str]:
    """Short names, made of labels, that tell rows apart; rows with the same labels are numbered."""
    if len(rows) == 1:
        return [label_of(rows[0], "system") or "these scores"]
    further = sorted({label for row in rows for label in row.labels} - set(_LABELS))
    chosen: list[str] = []
    for label in (*_LABELS, *further):
        if _count_distinct(rows, [*chosen, label]) > _count_distinct(rows, chosen):
            chosen.append(label)
        if _count_distinct(rows, chosen) == len(rows):
            break
    if _SCALE not in chosen and _count_distinct(rows, [_SCALE]) > 1:
        chosen.append(_SCALE)
    names = _join_labels(rows, chosen)
    further = [label for label in chosen if label != _SCALE]
    for label in sorted(further, key=lambda label: -max(len(label_of(row, label)) for row in rows)):
        rest = [other for other in chosen if other != label]
        if max(map(len, names)) > _LONG and _count_distinct(rows, rest) == _count_distinct(rows, chosen):
            chosen, names = rest, _join_labels(rows, rest)
    return [
        name if name and names.count(name) == 1 else f"{name} ({number})".strip()
        for number, name in enumerate(names, 1)
    ]


def _count_distinct(rows: Sequence[Evaluation], labels: Sequence[str]) -> int:
    return len({tuple(label_of(row, label) for label in labels) for row in rows})


def _join_labels(rows: Sequence[Evaluation], labels: Sequence[str]) -> list[str]:
    parts = ([label_of(row, label) for label in labels] for row in rows)
    return [", ".join(filter(None, part)) or label_of(row, "system") for part, row in zip(parts, rows, strict=True)]


def are_ratios(rows: Sequence[Evaluation]) -> bool:
    """Whether the scores of all rows are likelihood ratios themselves, so that figures have them in powers of ten."""
    return all(row.setup.llr is not None and row.setup.llr.is_given for row in rows)


def class_names(rows: Sequence[Evaluation], *, evidence: bool = False) -> tuple[str, str]:
    """Names of target and non-target scores: classes of an attribute, or pairs, of evidence in forensic words."""
    if not all("attribute" in row.labels for row in rows):
        return ("same-source", "different-source") if evidence or are_ratios(rows) else ("mated", "non-mated")
    named = {(row.labels.get("class") or row.about.target_class, row.about.other_class) for row in rows}
    target, other = named.pop() if len(named) == 1 else (None, None)
    if target is None:
        return "one class", "other class"
    return shortened(target, 40), "other classes" if other is None else shortened(other, 40)


def text_width(text: str) -> int:
    """How much room text takes, in letters; those of some scripts are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def shortened(name: str, most: int = 24) -> str:
    """A name as it can be written beside an axis: one line, not too long, and no control characters."""
    clean = printable(name).replace("\n", " ").replace("\t", " ")
    if text_width(clean) <= most:
        return clean
    while text_width(clean) > most - 1:
        clean = clean[:-1]
    return f"{clean}…"


def label_of(row: Evaluation, label: str) -> str:
    """A label as figures write it: an attacker by name alone."""
    threat = row.about.threat
    return shortened(threat.name if label == "attacker" and threat is not None else row.labels.get(label, ""), 60)


def measure_value(row: Evaluation, name: str) -> float | None:
    """A measure as a number, None where the row has no such number."""
    return row.metrics[name].number if name in row.metrics else None


def measure_text(row: Evaluation, name: str) -> str:
    """A measure with its title and unit, "" where the row has none."""
    value = measure_value(row, name)
    if value is None:
        return ""
    entry = MEASURES[name]
    if entry.unit == "rate":
        return f"{entry.title} {100 * value:.3g} %"
    unit = {"bit": " bit", "dB": " dB"}.get(entry.unit, "")
    return f"{entry.title} {value:.3g}{unit}"


def axis_title(name: str) -> str:
    """The title of a measure with its unit, for an axis."""
    entry = MEASURES[name]
    unit = {"rate": " (%)", "bit": " (bits)", "dB": " (dB)", "log10 LR": " (log10 LR)"}.get(entry.unit, "")
    return f"{entry.title}{unit}"


def join_parts(*parts: str) -> str:
    """Parts that are not empty, with a colon after the first and commas between the others."""
    first, *rest = parts
    details = ", ".join(part for part in rest if part)
    return f"{first}: {details}" if first and details else first or details

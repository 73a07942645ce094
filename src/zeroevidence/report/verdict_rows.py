"""Which row speaks for all: the strongest attacker, its bounds, and whether it does better than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation

ALPHA = 0.05
BOUNDS = ("unprotected", "random")
_SETTING = ("dataset", "split", "sex", "backend")
_SAME_ATTRIBUTE = ("dataset", "attribute", "class")
# What orders rows, the most telling first; all rows that are compared must have it.
_STRENGTH = ("alid", "d_ece", "tdcf_min", "adcf_min", "teer", "cm_eer", "eer")


def name_of(row: Evaluation) -> str:
    """The attacker's name without the tuple in brackets; empty where nobody said."""
    return row.labels.get("attacker", "").partition(" (")[0]


def is_bound(row: Evaluation) -> bool:
    """Whether a row only shows what there is without protection, or where nothing is to find."""
    plain = "attribute" in row.labels or row.labels.get("trial") == "original"
    return name_of(row) in BOUNDS or (plain and row.labels.get("system") == "none")


def attribute_rows(rows: Sequence[Evaluation]) -> list[int]:
    """Numbers of the rows on how well an attribute is told, by classifiers tested on other people than trained on."""
    return [
        i
        for i, row in enumerate(rows)
        if "attribute" in row.labels and row.labels.get("split") != "train" and number(row, "d_ece") is not None
    ]


def people_rows(rows: Sequence[Evaluation]) -> list[int]:
    """Numbers of the rows on how well people are recognised.

    Beside rows on an attribute, speaker verification of the same systems is no threat but what should go on working.
    """
    protected = {row.labels.get("system") for row in rows if "attribute" in row.labels}
    return [
        i for i, row in enumerate(rows) if "attribute" not in row.labels and row.labels.get("system") not in protected
    ]


def number(row: Evaluation | None, name: str) -> float | None:
    """A measure's value where the row has it as one number."""
    metric = None if row is None else row.metrics.get(name)
    if metric is None or not isinstance(metric.value, (int, float)) or math.isnan(metric.value):
        return None
    return float(metric.value)


def beats_chance(row: Evaluation) -> bool | None:
    """Whether the attacker does better than chance; None where neither a null nor a fit interval was computed.

    D_ECE is never below 0, and so are its replicates: its interval says something only where it was corrected.
    """
    metrics = {name: row.metrics[name] for name in ("alid", "d_ece") if name in row.metrics}
    tested = [metric.p_value for metric in metrics.values() if metric.p_value is not None]
    if tested:
        return bool(min(tested) <= ALPHA)
    corrected = any(part.startswith("ci:") and part.endswith(":auto") for part in row.signature.split("|"))
    lows = [metric.low for name, metric in metrics.items() if metric.low is not None and (name == "alid" or corrected)]
    return bool(max(lows) > 0.0) if lows else None


def p_value(row: Evaluation) -> float | None:
    """The smaller p-value of the measures that are tested."""
    tested = [row.metrics[name].p_value for name in ("alid", "d_ece") if name in row.metrics]
    return min((p for p in tested if p is not None), default=None)


def strongest(rows: Sequence[Evaluation]) -> int:
    """Number of the row whose attacker learns most, of those that beat chance where any does.

    Bounds count only where there is nothing else. Rows are ordered by what they all have; where they have nothing in
    common, by what most of them have.
    """
    numbers = [i for i, row in enumerate(rows) if not is_bound(row)] or list(range(len(rows)))
    having = {name: [i for i in numbers if number(rows[i], name) is not None] for name in _STRENGTH}
    name = max(_STRENGTH, key=lambda one: len(having[one]))
    if not having[name]:
        return numbers[0]
    sign = -1.0 if name == "eer" else 1.0  # an attacker who learns more errs less

    def strength(i: int) -> tuple[bool, float, float]:
        row = rows[i]
        tie = number(row, "d_ece")
        return beats_chance(row) is not False, sign * (number(row, name) or 0.0), 0.0 if tie is None else tie

    return max(having[name], key=strength)


def strongest_by_system(rows: Sequence[Evaluation]) -> list[int]:
    """The strongest attacker's row for each system, in the order of the systems."""
    systems: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        if not is_bound(row):
            systems.setdefault(row.labels.get("system", ""), []).append(position)
    return [numbers[strongest([rows[i] for i in numbers])] for numbers in systems.values()]


def bound(rows: Sequence[Evaluation], row: Evaluation, name: str) -> Evaluation | None:
    """The row of a bound in the same setting: dataset, split, sex and back-end; of an attribute the strongest."""
    if "attribute" in row.labels:
        plain = [rows[i] for i in attribute_rows(rows) if is_bound(rows[i]) and same_attribute(rows[i], row)]
        return plain[strongest(plain)] if plain and name == "unprotected" else None
    for other in rows:
        if name_of(other) == name and all(other.labels.get(key) == row.labels.get(key) for key in _SETTING):
            return other
    return None


def same_attribute(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows are about the same attribute, and class of it, of the same data."""
    return all(row.labels.get(key) == other.labels.get(key) for key in _SAME_ATTRIBUTE)


def control(rows: Sequence[Evaluation], row: Evaluation) -> bool | None:
    """Whether the same attack works on unprotected voices; None where nobody tried, or tested it."""
    plain = bound(rows, row, "unprotected")
    return None if plain is None else beats_chance(plain)

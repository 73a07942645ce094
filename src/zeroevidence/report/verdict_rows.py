"""Which row speaks for all: the strongest attacker, its bounds, and whether it does better than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation

ALPHA = 0.05
BOUNDS = ("unprotected", "random")
_SETTING = ("dataset", "split", "sex", "backend")
# What orders rows, the most telling first; all rows that are compared must have it.
_STRENGTH = ("alid", "d_ece", "tdcf_min", "adcf_min", "teer", "cm_eer", "eer")


def name_of(row: Evaluation) -> str:
    """The attacker's name without the tuple in brackets; empty where nobody said."""
    return row.labels.get("attacker", "").partition(" (")[0]


def is_bound(row: Evaluation) -> bool:
    """Whether a row only shows what there is without protection, or where nothing is to find."""
    return name_of(row) in BOUNDS or ("attribute" in row.labels and row.labels.get("system") == "none")


def number(row: Evaluation | None, name: str) -> float | None:
    """A measure's value where the row has it as one number."""
    metric = None if row is None else row.metrics.get(name)
    if metric is None or not isinstance(metric.value, (int, float)) or math.isnan(metric.value):
        return None
    return float(metric.value)


def beats_chance(row: Evaluation) -> bool | None:
    """Whether the attacker does better than chance; None where neither a null nor an interval was computed."""
    metrics = [row.metrics[name] for name in ("alid", "d_ece") if name in row.metrics]
    tested = [metric.p_value for metric in metrics if metric.p_value is not None]
    if tested:
        return bool(min(tested) <= ALPHA)
    lows = [metric.low for metric in metrics if metric.low is not None]
    return bool(max(lows) > 0.0) if lows else None


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
    """The row of a bound in the same setting: dataset, split, sex and back-end."""
    for other in rows:
        if name_of(other) == name and all(other.labels.get(key) == row.labels.get(key) for key in _SETTING):
            return other
    return None


def control(rows: Sequence[Evaluation], row: Evaluation) -> bool | None:
    """Whether the same attack works on unprotected voices; None where nobody tried."""
    plain = bound(rows, row, "unprotected")
    return None if plain is None else beats_chance(plain) is not False

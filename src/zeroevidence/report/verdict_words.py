"""A verdict, and how its numbers are written: few digits, and no interval where there is none to speak of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zeroevidence.evaluation import Evaluation, Metric

Level = Literal["recognised", "leaks", "untested", "not-found", "inconclusive", "described"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from the results.

    Parameters
    ----------
    level
        How strong the finding is; `described` where nothing follows about privacy.
    headline, paragraph
        One line, and the reasons for it.
    others
        One sentence for each further system among the rows.
    row
        Number of the row that the paragraph speaks of.
    """

    level: Level
    headline: str
    paragraph: str
    others: tuple[str, ...]
    row: int


def percent(share: float) -> str:
    """A share in words: three digits are more than anyone reads."""
    return f"{100 * share:.3g} %"


def kept(words: str) -> str:
    """Numbers stay on one line with their percent sign."""
    return words.replace(" %", "\u00a0%")


def capital(words: str) -> str:
    """The first letter large, the others as they are."""
    return words[:1].upper() + words[1:]


def between(row: Evaluation, name: str, factor: float = 1.0, unit: str = "") -> str:
    """The interval in brackets; empty where there is none, or none that is wider than a point."""
    metric = row.metrics[name]
    if metric.low is None or metric.high is None or not isinstance(metric.value, (int, float)):
        return ""
    low, high = (f"{factor * value:.3g}" if unit else f"{factor * value:.2f}" for value in (metric.low, metric.high))
    if low == high:
        return ""
    return f" (95 % interval{', corrected for few people,' if outside(metric) else ''} {low} to {high}{unit})"


def outside(metric: Metric) -> bool:
    """Whether a value lies outside its interval by more than rounding.

    Calibrated on the scores it is judged on, a measure flatters the attacker; its interval is corrected for that.
    """
    if metric.low is None or metric.high is None or not isinstance(metric.value, (int, float)):
        return False
    return not metric.low - 1e-9 <= metric.value <= metric.high + 1e-9


def factor_of(factor: float) -> str:
    """How many times as much: two digits."""
    if factor < 10.0:
        return f"{factor:.2g}"
    digits = 10 ** max(0, len(str(int(factor))) - 2)
    return f"{round(factor / digits) * digits:,}".replace(",", "\u202f")


def chance_words(better: bool | None, p_value: float | None) -> str:
    """Whether chance explains a finding, by its test or, without one, by its interval."""
    if better is None:
        return "Whether chance alone could show as much was not tested."
    if not better:
        return "This is no better than chance."
    if p_value is None:
        return "By its 95 % interval this is more than chance."
    return (
        f"Chance does not explain this: if nothing leaked, so much would show in at most {100 * p_value:.2g} % of such "
        "tests."
    )

"""A verdict, and how its numbers are written: few digits, and no interval where there is none to speak of."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.evaluation import Evaluation, Finding, Measured
from zeroevidence.evaluation.finding import Chance, Level


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
    finding
        What the words are about; None where they are about comparisons alone.
    """

    level: Level
    headline: str
    paragraph: str
    others: tuple[str, ...] = ()
    finding: Finding | None = None


def percent(share: float) -> str:
    """A share in words: three digits are more than anyone reads."""
    return f"{100 * share:.3g} %"


def kept(words: str) -> str:
    """Numbers stay on one line with their percent sign."""
    return words.replace(" %", "\u00a0%")


def capital(words: str) -> str:
    """The text with its first letter in upper case."""
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


def outside(metric: Measured) -> bool:
    """Whether a value lies outside its interval by more than rounding.

    Calibrated on the scores it is judged on, a measure flatters the attacker; its interval is corrected for that.
    """
    if metric.low is None or metric.high is None or not isinstance(metric.value, (int, float)):
        return False
    return not metric.low - 1e-9 <= metric.value <= metric.high + 1e-9


def rounded_factor(factor: float) -> str:
    """How many times as much: two digits."""
    if factor < 10.0:
        return f"{factor:.2g}"
    digits = 10 ** max(0, len(str(int(factor))) - 2)
    return f"{round(factor / digits) * digits:,}".replace(",", "\u202f")


def chance_words(chance: Chance, tested: str = "this") -> str:
    """Whether chance explains what was tested, by its test or, without one, by its interval."""
    if chance.beaten is None and chance.p_value is None:
        return "Whether chance alone could show as much was not tested."
    if chance.beaten is None:
        return "Tested alone this is more than chance; for all these results together the test is too coarse to say."
    if not chance.beaten:
        return "This is no better than chance."
    if chance.p_value is None:
        return "By its 95 % interval this is more than chance."
    return (
        f"Chance does not explain {tested}: if nothing leaked, any of these results would show as much in at most "
        f"{100 * chance.p_value:.2g} % of such tests."
    )


def caution_words(chance: Chance, control: Chance | None) -> str:
    """What does not follow: other attackers may be stronger, and a weak one proves nothing."""
    if chance.beaten is not False:
        return "Other attackers may learn more, so read this as the least that is given away."
    if control is None or control.beaten is None:
        return "Nobody showed that the attack works without protection, and a weak attack is not evidence of privacy."
    if control.beaten:
        return "The same attack does work without protection; still, a stronger attacker may succeed."
    return "The attack does not even work without protection, so nothing follows from its failure."

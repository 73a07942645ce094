"""A verdict, and how its numbers are written: few digits, and on the safe side where there is a limit."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.evaluation import Evaluation, Finding, MeasureResult
from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.finding.finding import Level
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict.learning_curves import rising_words
from zeroevidence.uncertainty.level import LEAST_PEOPLE

_HAIR = 1e-6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from the results.

    Parameters
    ----------
    level
        How strong the finding is; `described` where nothing follows about privacy.
    headline, paragraph
        One line, and the reasons for it.
    summary
        What was tried, by whom, what they learn, how sure that is and what to do next: a sentence each, for a reader
        who knows none of the measures. Empty where the paragraph is as short.
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
    summary: tuple[str, ...] = ()


def percent(share: float) -> str:
    """A share in words: three digits are more than anyone reads."""
    return f"{100 * share:.3g} %"


def kept(words: str) -> str:
    """Numbers stay on one line with their percent sign."""
    return words.replace(" %", "\u00a0%")


def capital(words: str) -> str:
    """The text with its first letter in upper case."""
    return words[:1].upper() + words[1:]


@dataclass(frozen=True, slots=True)
class Limited:
    """A value with its one-sided limit, ready to be put into words.

    Parameters
    ----------
    value, bound
        As they are measured; `bound` is None where there is none.
    vacuous
        Whether the limit rules nothing out.
    people
        How many people would bring the limit half-way from the value to the end of the scale; None where not known.
    """

    value: float
    bound: float | None
    vacuous: bool = False
    people: int | None = None


def limited(row: Evaluation, name: str, most: float) -> Limited:
    """A measure and its limit; `most` is the end of its scale.

    An attacker who was still learning has no limit: it would be that of a weaker one than there is.
    """
    one = row.metrics[name]
    value = float(one)
    if one.bound is None or rising_words(row):
        return Limited(value, None)
    vacuous = one.bound >= most * (1.0 - _HAIR) and value < most * (1.0 - _HAIR)
    people = one.spread.people_for((most - value) / 2.0) if vacuous and one.spread is not None else None
    return Limited(value, one.bound, vacuous, people)


def named_words(row: Evaluation, level: Level, top: Limited) -> str:
    """How many recordings get the right name: at most, as measured, or in number where people are few."""
    if level == "too-few":
        trials = row.counts.get("trials", 0)
        return f"{round(top.value * trials)} of {trials} recordings"
    one = row.metrics["top1"]
    if level == "recognised" and one.low is not None and one.high is not None and percent(one.low) != percent(one.high):
        # Too much is known already, so it is said how much at least.
        between = f"{percent(one.low)} to {percent(one.high)}"
        return f"{percent(top.value)} of the recordings (95 % confidence, for people like these: {between})"
    if top.bound is None or top.vacuous or percent(top.bound) == percent(top.value):
        return f"{percent(top.value)} of the recordings"
    return (
        f"at most {percent(top.bound)} of the recordings of people like these (95 % confidence; {percent(top.value)} "
        "of those measured)"
    )


def removed_words(one: Limited) -> str:
    """The share of an uncertainty that is removed: at most, where there is a limit."""
    value = percent(one.value / D_ECE_MAX)
    if one.bound is None or one.vacuous or percent(one.bound / D_ECE_MAX) == value:
        return value
    return f"at most {percent(one.bound / D_ECE_MAX)} (95 % confidence, for people like these; {value} measured)"


def vacuous_words(one: Limited) -> list[str]:
    """What is said of a limit that rules nothing out."""
    if not one.vacuous:
        return []
    needed = f"; about {one.people} people would bring the limit half-way to what was measured" if one.people else ""
    return [f"So few people rule nothing out: of others like them everything may be given away{needed}."]


def outside(metric: MeasureResult) -> bool:
    """Whether a value lies outside its interval by more than rounding.

    Calibrated on the scores it is judged on, a measure flatters the attacker; its interval is corrected for that.
    """
    if metric.low is None or metric.high is None:
        return False
    return not metric.low - 1e-9 <= float(metric) <= metric.high + 1e-9


def rounded_factor(factor: float) -> str:
    """How many times as much: two digits."""
    if factor < 10.0:
        return f"{factor:.2g}"
    digits = 10 ** max(0, len(str(int(factor))) - 2)
    return f"{round(factor / digits) * digits:,}".replace(",", "\u202f")


def chance_words(chance: Chance, tested: str = "this") -> str:
    """Whether chance explains what was tested, by its test or, without one, by its interval."""
    if chance.beaten is None and chance.too_few:
        return f"People are too few to test whether chance shows as much; that takes at least {LEAST_PEOPLE}."
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
    if chance.beaten is None and chance.too_few:
        return "Neither privacy nor a leak follows from so few people."
    if chance.beaten is not False:
        return "Other attackers may learn more, so read this as the least that is given away."
    if control is None or control.beaten is None:
        return "Nobody showed that the attack works without protection, and a weak attack is not evidence of privacy."
    if control.beaten:
        return "The same attack does work without protection; still, a stronger attacker may succeed."
    return "The attack does not even work without protection, so nothing follows from its failure."

"""A verdict, and the phrases that several verdicts share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS, Choice, Level, same_setting
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.layout import interval_title, p_text
from zeroevidence.uncertainty.level import LEAST_PEOPLE, LEVEL
from zeroevidence.uncertainty.level import percent as level_text


def group_labels(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Labels that tell groups of people apart, where there are several."""
    compared = [rows[i].labels for i in finding.by_system]
    return [name for name in PEOPLE_LABELS if len({labels.get(name) for labels in compared}) > 1]


def system_text(name: str) -> str:
    """The name of a system within a sentence; one without letters, such as that of a folder, gets a noun.

    Examples
    --------
    >>> system_text("mcadams"), system_text("1")
    ('mcadams', 'system 1')
    """
    return name if any(map(str.isalpha, name)) else f"system {name}"


def group_text(row: Evaluation, names: Sequence[str]) -> str:
    """The group of a row, in brackets."""
    group = ", ".join(row.labels[name] for name in names if name in row.labels)
    return f" ({group})" if group else ""


# the curve of a result, its abscissa, and the warning that it has not levelled off
_CURVES = (
    ("alid_over_training_people", "training people", "still-rising"),
    ("alid_over_epochs", "epochs of training", "training-pays"),
    ("alid_over_draws", "runs of the anonymiser", "draws-pay"),
    ("alid_over_enrolment", "enrolled recordings of each person", "enrolment-pays"),
)


@dataclass(frozen=True, slots=True)
class ReportedLearningCurve:
    """The disclosure to an attacker who learned from more and more.

    Parameters
    ----------
    over
        What the amounts count.
    amount
        How much the attacker learned from.
    bits
        Mean disclosure with each amount.
    rising
        Whether the curve has not levelled off.
    """

    over: str
    amount: tuple[float, ...]
    bits: tuple[float, ...]
    rising: bool

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Amounts and bits as they are shown."""
        return [(f"{amount:g}", f"{bits:.2f}") for amount, bits in zip(self.amount, self.bits, strict=True)]

    @property
    def sentence(self) -> str:
        """Whether it has levelled off, and its last step.

        Examples
        --------
        >>> ReportedLearningCurve("training people", (15, 30, 60), (1.0, 1.8, 2.5), True).sentence
        'With 60 training people instead of 30 it learned 0.70 bits more; this has not levelled off.'
        """
        last, before = (f"{self.amount[i]:g}" for i in (-1, -2))
        gain = self.bits[-1] - self.bits[-2]
        change = f"{abs(gain):.2f} bits {'more' if gain >= 0.0 else 'less'}"
        level = "this has not levelled off" if self.rising else "this has levelled off"
        return f"With {last} {self.over} instead of {before} it learned {change}; {level}."


def learning_curves(row: Evaluation) -> list[ReportedLearningCurve]:
    """The learning curves of an attacker, where it was trained in several steps."""
    codes = {flag.code for flag in row.flags}
    return [
        ReportedLearningCurve(over, row.curves[name].x, row.curves[name].y, code in codes)
        for name, over, code in _CURVES
        if name in row.curves and len(row.curves[name].x) > 1
    ]


def rising_sentences(row: Evaluation) -> list[str]:
    """Sentences on the learning curves that have not levelled off."""
    return [curve.sentence for curve in learning_curves(row) if curve.rising]


_P_VALUE = re.compile(r"\bp ([=<]) ")
_ROUNDING = 1e-6
_BESIDE_CHANCE = ", leaving out those that are not told apart from guessing"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion from the results, in sentences.

    Parameters
    ----------
    level
        How strong the finding is; `described` where nothing follows about privacy.
    headline
        The conclusion in one line.
    paragraph
        The reasons for it.
    commands
        What to run next, where the sentences call for it.
    assessment
        The paragraph for a data protection impact assessment; empty where nothing follows about privacy.
    summary
        What was tried, by whom, what they learn, how sure that is and what to do next: a sentence each, for a reader
        who knows none of the measures. Empty where the paragraph is as short.
    others
        One sentence for each further system among the rows.
    finding
        The finding that the sentences are about; None where they are about comparisons alone.
    """

    level: Level
    headline: str
    paragraph: str
    others: tuple[str, ...] = ()
    finding: Finding | None = None
    summary: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    assessment: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """One or several sentences, and how many limits at the confidence level they give."""

    text: str
    limits: int = 0


def paragraph(statements: Sequence[Statement | str], level: float) -> str:
    """The statements as one text; several limits hold each by itself and not all at once."""
    given = [part if isinstance(part, Statement) else Statement(part) for part in statements]
    text = " ".join(part.text for part in given)
    if sum(part.limits for part in given) > 1:
        text += f" Each limit holds with {level_text(level)} confidence by itself, not all of them together."
    return unbroken(text)


def percent(share: float) -> str:
    """A share in percent with three digits."""
    return f"{100 * share:.3g} %"


def unbroken(text: str) -> str:
    """The text with each number and its percent sign, and each p-value, on one line."""
    return _P_VALUE.sub("p\u00a0\\1\u00a0", text.replace(" %", "\u00a0%"))


def capitalise(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class LimitedValue:
    """A value with its one-sided limit.

    Parameters
    ----------
    value
        The value.
    bound
        Its limit; None where there is none.
    vacuous
        Whether the limit rules nothing out.
    people
        How many people would bring the limit half-way to the value; None where not known.
    level
        Confidence level of the limit.
    attempts
        Number of attempts whose limits it is the largest of.
    """

    value: float
    bound: float | None
    vacuous: bool = False
    people: int | None = None
    level: float = LEVEL
    attempts: int = 1

    @property
    def confidence(self) -> str:
        """The level in words, and how many attempts the limit is for."""
        if self.attempts < 2:
            return f"{level_text(self.level)} confidence"
        end = "smallest" if self.bound is not None and self.bound < self.value else "largest"
        return f"{level_text(self.level)} confidence, the {end} limit of {self.attempts} attempts"


def limited_value(rows: Sequence[Evaluation], finding: Finding, name: str, most: float) -> LimitedValue:
    """The value of the chosen attempt, and the limit of all attempts on the same system and people.

    An attacker who was still learning has no limit: it would be that of a weaker one than there is.

    Parameters
    ----------
    rows
        All rows.
    finding
        The finding about them.
    name
        The measure.
    most
        The end of its scale where the attacker learns everything.
    """
    row = rows[finding.strongest]
    result = row.metrics[name]
    value, level = float(result), row.setup.level
    attempts = [rows[i] for i in finding.attempts if name in rows[i].metrics] or [row]
    bounds = [bound for attempt in attempts if (bound := attempt.metrics[name].bound) is not None]
    if result.bound is None or rising_sentences(row):
        return LimitedValue(value, None, level=level)
    worst = min(bounds) if MEASURES[name].discloses == "down" else max(bounds)
    vacuous = abs(worst - most) <= _ROUNDING * max(1.0, most) < abs(value - most)
    people = None if result.spread is None else result.spread.people_for(abs(worst - value) / 2.0, level)
    return LimitedValue(value, worst, vacuous, people, level, len(bounds))


def said_bound(limited: LimitedValue, text: Callable[[float], str]) -> float | None:
    """The limit where sentences give it: it rules something out, and differs from the value as that is written."""
    bound = None if limited.vacuous else limited.bound
    return None if bound is None or text(bound) == text(limited.value) else bound


_FUSES = "fuses several and that none clearly beat on other people"
_CHOSEN: dict[Choice, str] = {
    "development": "that did best on other people",
    "fused": f"that {_FUSES}",
    "development-beyond-chance": f"that did best on other people{_BESIDE_CHANCE}",
    "fused-beyond-chance": f"that {_FUSES}{_BESIDE_CHANCE}",
    "evaluated": "that learns most on average",
}


def chosen_attempt(finding: Finding, against: str = "") -> str:
    """The attempt that counts among several on the same system, by how it was chosen."""
    return f"of {len(finding.attempts)} attempts{against}, the one {_how_chosen(finding)}"


def chosen_attacker(finding: Finding) -> str:
    """The attacker that counts, by how it was chosen among several on the same system."""
    if len(finding.attempts) < 2:
        return "the attacker"
    return f"the attacker of {len(finding.attempts)} {_how_chosen(finding)}"


def _how_chosen(finding: Finding) -> str:
    beside = beside_chance(finding, finding.attempts) if finding.choice == "evaluated" else ""
    return f"{_CHOSEN[finding.choice]}{beside}"


def beside_chance(finding: Finding, numbers: Sequence[int]) -> str:
    """That rows at chance did not count when the strongest of some rows was chosen; empty where none was passed over.

    Such a row may have the larger value.
    """
    passed = finding.chance[finding.strongest].beaten is not False
    return _BESIDE_CHANCE if passed and any(finding.chance[i].beaten is False for i in numbers) else ""


def most_given_away(rows: Sequence[Evaluation], finding: Finding) -> str:
    """Which of several systems or groups of people gives most away; empty where there is one, or it has no name."""
    system = rows[finding.strongest].labels.get("system")
    if len(finding.by_system) < 2 or not system:
        return ""
    name = system_text(system) + group_text(rows[finding.strongest], group_labels(rows, finding))
    sizes = sorted({rows[i].counts["identities"] for i in finding.by_system if rows[i].is_search})
    share = ""
    if len(sizes) > 1:
        searches = f"the searches are through {sizes[0]} to {sizes[-1]} people"
        share = f" (by the share of what there is to learn, as {searches})"
    beside = beside_chance(finding, finding.by_system)
    return f"Of {len(finding.by_system)} results, {name} gives most away{share}{beside}"


def named_share(row: Evaluation, level: Level, top: LimitedValue) -> Statement:
    """The share of recordings with the right name: a limit, the value, or a count where people are few."""
    if level == "too-few":
        trials = row.counts.get("trials", 0)
        return Statement(f"{round(top.value * trials)} of {trials} recordings")
    low, high = row.metrics["top1"].low, row.metrics["top1"].high
    if level == "recognised" and low is not None and high is not None and percent(low) != percent(high):
        # People are recognised, so the lower end matters more than an upper limit.
        between = f"{percent(low)} to {percent(high)}"
        if top.bound is not None and top.attempts > 1 and top.bound > high and percent(top.bound) != percent(high):
            between += f", and up to {percent(top.bound)} in the largest limit of {top.attempts} attempts"
        confidence = f"{level_text(top.level)} confidence"
        return Statement(f"{percent(top.value)} of the recordings ({confidence}, for people like these: {between})", 1)
    bound = said_bound(top, percent)
    if bound is None:
        return Statement(f"{percent(top.value)} of the recordings")
    return Statement(
        f"at most {percent(bound)} of the recordings of people like these ({top.confidence}; {percent(top.value)} of "
        "those measured)",
        1,
    )


def removed_share(d_ece: LimitedValue) -> Statement:
    """The share of an uncertainty that is removed: at most, where there is a limit."""
    value, bound = _share_of_evidence(d_ece.value), said_bound(d_ece, _share_of_evidence)
    if bound is None:
        return Statement(value)
    limit = f"at most {_share_of_evidence(bound)} ({d_ece.confidence}, for people like these; {value} measured)"
    return Statement(limit, 1)


def _share_of_evidence(d_ece: float) -> str:
    return percent(d_ece / D_ECE_MAX)


def vacuous_limit(limited: LimitedValue) -> list[str]:
    """The sentence on a limit that rules nothing out."""
    if not limited.vacuous:
        return []
    people = limited.people
    needed = f"; about {people} people would bring the limit half-way to what was measured" if people else ""
    return [f"So few people rule nothing out: others like them may give everything away{needed}."]


def rounded_power(base: float, exponent: float) -> str:
    """A power with two digits, and a limit in its place where it has more than fifteen before the point.

    Examples
    --------
    >>> rounded_power(2.0, 5.0), rounded_power(2.0, 1e20)
    ('32', 'more than 10^15')
    """
    if exponent * log10(base) >= 15.0:
        return "more than 10^15"
    factor = base**exponent
    if factor < 10.0:
        return f"{factor:.2g}"
    digits = 10 ** max(0, len(str(int(factor))) - 2)
    return f"{round(factor / digits) * digits:,}".replace(",", "\u202f")


def chance_sentence(row: Evaluation, chance: Chance, tested: str = "this") -> str:
    """Whether chance explains the result, by its test or, without one, by its interval."""
    if chance.beaten is None and chance.too_few:
        return f"People are too few to test whether chance shows as much; that takes at least {LEAST_PEOPLE}."
    if chance.beaten is None and chance.p_value is None:
        return "Whether chance alone could show as much was not tested."
    if chance.beaten is None:
        return "Tested alone this is more than chance; for all these results together the test is too coarse to say."
    if not chance.beaten:
        return "On average this is not told apart from guessing."
    if chance.p_value is None:
        return f"By its {interval_title(row.setup.level)} this is more than chance."
    return f"Chance does not explain {tested} ({p_value_text(row, chance.p_value)})."


def p_value_text(row: Evaluation, p_value: float) -> str:
    """A p-value, and what it was counted from."""
    null = row.setup.null
    permuted = null is not None and null.unit != "list"
    return p_text(p_value) + (f", {null.times} permutations" if null is not None and permuted else "")


def caution_sentence(rows: Sequence[Evaluation], finding: Finding) -> str:
    """The sentence of caution: other attackers may be stronger, and a weak one proves nothing."""
    chance = finding.chance[finding.strongest]
    if chance.beaten is None and chance.too_few:
        return "Neither privacy nor a leak follows from so few people."
    if chance.beaten is None:
        return "What was measured may be chance, and attackers that were not tried may learn more."
    if chance.beaten:
        return (
            "Limits are for the attackers that were tried; others may learn more, so what was measured is the least "
            "that is given away."
        )
    works, attack = control_works(rows, finding)
    if works is None:
        return "Nobody showed that the attack works without protection, and a weak attack is not evidence of privacy."
    if works:
        return f"{attack} attack does work without protection; still, a stronger attacker may succeed."
    return "The attack does not even work without protection, so nothing follows from its failure."


def control_works(rows: Sequence[Evaluation], finding: Finding) -> tuple[bool | None, str]:
    """Whether an attack was shown to work without protection, or not to; and whether it is the same or another one.

    That an attack with another encoder or back-end fails says nothing about this one.
    """
    if finding.control is None:
        return None, ""
    beaten = finding.chance[finding.control].beaten
    if same_setting(rows[finding.control], rows[finding.strongest]):
        return beaten, "The same"
    return beaten or None, "Another"

"""A verdict, and the phrases that several verdicts share: numbers have few digits, and limits where there are some."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log10

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Choice
from zeroevidence.evaluation.finding.facts import Level, LimitedValue, TrainingCurve
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.layout import interval_title, p_text
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.level import percent as level_text

_P_VALUE = re.compile(r"\bp ([=<]) ")
_BESIDE_CHANCE = ", leaving out those that are not told apart from guessing"
_FUSES = "fuses several and that none clearly beat on other people"
_CHOSEN: dict[Choice, str] = {
    "development": "that did best on other people",
    "fused": f"that {_FUSES}",
    "development-beyond-chance": f"that did best on other people{_BESIDE_CHANCE}",
    "fused-beyond-chance": f"that {_FUSES}{_BESIDE_CHANCE}",
    "evaluated": "that learns most on average",
}


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


def paragraph(sentences: Sequence[str], level: float) -> str:
    """The sentences as one text; several limits hold each by itself and not all at once."""
    text = " ".join(sentences)
    if text.count(f"{level_text(level)} confidence") > 1:
        text += f" Each limit holds with {level_text(level)} confidence by itself, not all of them together."
    return text


def percent(share: float) -> str:
    """A share in percent with three digits."""
    return f"{100 * share:.3g} %"


def evidence_share(d_ece: float | None) -> str:
    """The share of an uncertainty that evidence removes."""
    return percent((d_ece or 0.0) / D_ECE_MAX)


def unbroken(text: str) -> str:
    """The text with each number and its percent sign, and each p-value, on one line."""
    return _P_VALUE.sub("p\u00a0\\1\u00a0", text.replace(" %", "\u00a0%"))


def capitalise(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


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


def p_value_text(row: Evaluation, p_value: float) -> str:
    """A p-value, and what it was counted from."""
    null = row.setup.null
    return p_text(p_value) + (f", {null.times} permutations" if null is not None and null.unit != "list" else "")


def system_text(name: str) -> str:
    """The name of a system within a sentence; one without letters, such as that of a folder, gets a noun.

    Examples
    --------
    >>> system_text("mcadams"), system_text("1")
    ('mcadams', 'system 1')
    """
    return name if any(map(str.isalpha, name)) else f"system {name}"


def group_text(finding: Finding, row: Evaluation) -> str:
    """The group of people of a row, in brackets, where there are several groups."""
    group = ", ".join(row.labels[name] for name in finding.group_labels if name in row.labels)
    return f" ({group})" if group else ""


def curve_sentence(curve: TrainingCurve) -> str:
    """Whether a learning curve has levelled off, and its last step.

    Examples
    --------
    >>> curve_sentence(TrainingCurve("training people", (15, 30, 60), (1.0, 1.8, 2.5), True))
    'With 60 training people instead of 30 it learned 0.70 bits more; this has not levelled off.'
    """
    last, before = (f"{curve.amount[i]:g}" for i in (-1, -2))
    gain = curve.bits[-1] - curve.bits[-2]
    change = f"{abs(gain):.2f} bits {'more' if gain >= 0.0 else 'less'}"
    level = "this has not levelled off" if curve.rising else "this has levelled off"
    return f"With {last} {curve.over} instead of {before} it learned {change}; {level}."


def confidence(limited: LimitedValue) -> str:
    """The level of a limit, and how many attempts it is for."""
    text = f"{level_text(limited.row.setup.level)} confidence"
    if limited.attempts < 2:
        return text
    end = "smallest" if limited.bound is not None and limited.bound < limited.value else "largest"
    return f"{text}, the {end} limit of {limited.attempts} attempts"


def said_bound(limited: LimitedValue, text: Callable[[float], str]) -> float | None:
    """The limit where sentences give it: it rules something out, and differs from the value as that is written."""
    bound = None if limited.vacuous else limited.bound
    return None if bound is None or text(bound) == text(limited.value) else bound


def vacuous_limit(limited: LimitedValue) -> list[str]:
    """The sentence on a limit that rules nothing out."""
    people = limited.people
    needed = f"; about {people} people would bring the limit half-way to what was measured" if people else ""
    nothing = f"So few people rule nothing out: others like them may give everything away{needed}."
    return [nothing] if limited.vacuous else []


def named_share(finding: Finding) -> str:
    """The share of recordings with the right name: a limit, the value, or a count where people are few."""
    row, top = finding.row, finding.limited["top1"]
    if finding.level == "too-few":
        trials = row.counts.get("trials", 0)
        return f"{round(top.value * trials)} of {trials} recordings"
    low, high = row.metrics["top1"].low, row.metrics["top1"].high
    if finding.level == "recognised" and low is not None and high is not None and percent(low) != percent(high):
        # People are recognised, so the lower end matters more than an upper limit.
        between = f"{percent(low)} to {percent(high)}"
        if top.bound is not None and top.attempts > 1 and top.bound > high and percent(top.bound) != percent(high):
            between += f", and up to {percent(top.bound)} in the largest limit of {top.attempts} attempts"
        level = level_text(row.setup.level)
        return f"{percent(top.value)} of the recordings ({level} confidence, for people like these: {between})"
    bound = said_bound(top, percent)
    if bound is None:
        return f"{percent(top.value)} of the recordings"
    measured = f"({confidence(top)}; {percent(top.value)} of those measured)"
    return f"at most {percent(bound)} of the recordings of people like these {measured}"


def removed_share(finding: Finding) -> str:
    """The share of an uncertainty that is removed: at most, where there is a limit."""
    d_ece = finding.limited["d_ece"]
    value, bound = evidence_share(d_ece.value), said_bound(d_ece, evidence_share)
    if bound is None:
        return value
    return f"at most {evidence_share(bound)} ({confidence(d_ece)}, for people like these; {value} measured)"


def removed_before(finding: Finding) -> str:
    """The share that is removed without protection, where that was measured."""
    share = None if finding.unprotected is None else finding.unprotected.number("d_ece")
    return "" if share is None else f"; without protection it is {evidence_share(share)}"


def how_chosen(finding: Finding) -> str:
    """How the attempt that counts was chosen among several on the same system."""
    beside = _beside_chance(finding, finding.attempts) if finding.choice == "evaluated" else ""
    return f"{_CHOSEN[finding.choice]}{beside}"


def _beside_chance(finding: Finding, numbers: Sequence[int]) -> str:
    """That rows at chance, which may have the larger value, did not count when the strongest was chosen."""
    passed = finding.tested.beaten is not False
    return _BESIDE_CHANCE if passed and any(finding.chance[i].beaten is False for i in numbers) else ""


def most_given_away(finding: Finding) -> str:
    """Which of several systems or groups of people gives most away; empty where there is one, or it has no name."""
    system, rows = finding.row.labels.get("system"), [finding.rows[i] for i in finding.by_system]
    if len(rows) < 2 or not system:
        return ""
    sizes = sorted({row.counts["identities"] for row in rows if row.is_search})
    share = ""
    if len(sizes) > 1:
        searches = f"the searches are through {sizes[0]} to {sizes[-1]} people"
        share = f" (by the share of what there is to learn, as {searches})"
    name = system_text(system) + group_text(finding, finding.row)
    return f"Of {len(rows)} results, {name} gives most away{share}{_beside_chance(finding, finding.by_system)}"


def chance_sentence(finding: Finding, tested: str = "this") -> str:
    """Whether chance explains the result, by its test or, without one, by its interval."""
    row, chance = finding.row, finding.tested
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


def caution_sentence(finding: Finding) -> str:
    """The sentence of caution: other attackers may be stronger, and a weak one proves nothing."""
    chance, works = finding.tested, finding.control_works
    if finding.row.about.is_bound:
        return "This says what the attacker can do, and nothing yet about a protection."
    if chance.beaten is None and chance.too_few:
        return "Neither privacy nor a leak follows from so few people."
    if chance.beaten is None:
        return "What was measured may be chance, and attackers that were not tried may learn more."
    if chance.beaten:
        return (
            "Limits are for the attackers that were tried; others may learn more, so what was measured is the least "
            "that is given away."
        )
    if works is None:
        return "Nobody showed that the attack works without protection, and a weak attack is not evidence of privacy."
    if works:
        attack = "The same" if finding.same_control else "Another"
        return f"{attack} attack does work without protection; still, a stronger attacker may succeed."
    return "The attack does not even work without protection, so nothing follows from its failure."

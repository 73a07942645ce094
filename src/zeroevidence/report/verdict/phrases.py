"""A verdict, and the phrases that several verdicts share: numbers have few digits, and limits where there are some."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Choice
from zeroevidence.evaluation.finding.facts import Level, TrainingCurve
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.layout import interval_title, p_text
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.level import percent as level_text

_P_VALUE = re.compile(r"\bp ([=<]) ")
_BESIDE_CHANCE = " among those that are not just guessing"
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
        Whether the recordings may be published, how sure that is and what to do next: a line each, for a reader who
        knows none of the measures. Empty where nothing follows about privacy.
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
    text = " ".join(filter(None, sentences))
    limits = text.count(f"{level_text(level)} interval") + text.count(f"{level_text(level)} confidence")
    return f"{text} Each interval or limit holds by itself, not all of them together." if limits > 1 else text


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


_TESTED = {"top1": "so many right names", "d_ece": "so little doubt", "alid": "so much knowledge"}


def with_interval(result: MeasureResult, level: float, text: Callable[[float], str] = percent) -> str:
    """A value and its interval, where it has one and that is no point as it is written.

    Examples
    --------
    >>> with_interval(MeasureResult(0.3, "rate", low=0.2, high=0.4), 0.95)
    '30 % (95 % interval 20 % to 40 %)'
    """
    value = text(float(result))
    if result.low is None or result.high is None or text(result.low) == text(result.high):
        return value
    return f"{value} ({interval_title(level)} {text(result.low)} to {text(result.high)})"


def named_share(row: Evaluation, *, few: bool) -> str:
    """The share of recordings with the right name; a count where people are few."""
    trials, top = row.counts.get("trials", 0), row.metrics["top1"]
    if few:
        return f"{round(float(top) * trials)} of {trials} recordings"
    return f"{with_interval(top, row.setup.level)} of the recordings"


def removed(row: Evaluation, doubt: str) -> str:
    """The share of a doubt that is removed; a share without limits is not given."""
    result = row.metrics.get("d_ece")
    if result is None or result.low is None or result.high is None:
        return f"a share of {doubt} that is not given, because it has no limits"
    return f"{with_interval(result, row.setup.level, evidence_share)} of {doubt}"


def removed_before(finding: Finding) -> str:
    """The share that is removed without protection, where that was measured."""
    plain = None if finding.unprotected is None else finding.unprotected.metrics.get("d_ece")
    return "" if plain is None or plain.low is None else f"; without protection it is {evidence_share(float(plain))}"


def learned(finding: Finding) -> str:
    """What the attacker learned, by the measure that the verdict rests on, beside guessing and unprotected speech."""
    row, people = finding.row, finding.row.counts.get("identities", 0)
    if finding.quoted == "d_ece":
        return f"removes {removed(row, 'the doubt whether two recordings are of one person')}{removed_before(finding)}"
    if finding.quoted == "alid":
        share = with_interval(row.metrics["alid"], row.setup.level, lambda bits: percent(bits / log2(people)))
        return f"learns, on average, {share} of what singles out one of {people} people"
    top = None if finding.unprotected is None else finding.unprotected.number("top1")
    before = "" if top is None else f", and without protection it is {percent(top)}"
    named = named_share(row, few=finding.level == "too-few")
    return f"puts the right name to {named}; guessing does so for {percent(finding.guessing)}{before}"


def allowance(finding: Finding) -> list[str]:
    """The limit that allows for kinds of people who were not seen, where no leak was found."""
    row, result = finding.row, finding.row.metrics.get(finding.quoted)
    if result is None or result.bound is None or finding.rising or finding.tested.beaten is not False:
        return []
    most = percent(result.bound) if finding.quoted == "top1" else evidence_share(result.bound)
    if most == percent(1.0):  # which says nothing
        return []
    sure = f"{level_text(row.setup.level)} confidence"
    return [f"Allowing for kinds of people who were not seen, it is at most {most} ({sure})."]


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
    if any(row.about.is_training_unknown for row in rows):
        share += " (what the attackers were trained on is not known, and may differ)"
    elif len({row.about.threat for row in rows}) > 1:
        share += " (the attackers that count differ)"
    return f"Of {len(rows)} results, {name} gives most away{share}{_beside_chance(finding, finding.by_system)}"


def chance_sentence(finding: Finding) -> str:
    """Whether chance explains what `learned` says, by its test or, without one, by its interval."""
    row, chance = finding.row, finding.tested
    if chance.beaten is None and chance.too_few:
        return f"People are too few to test whether chance shows as much; that takes at least {LEAST_PEOPLE}."
    if chance.beaten is None and chance.p_value is None:
        return "Whether chance alone could show as much was not tested."
    if chance.beaten is None:
        return "Tested alone this is more than chance; for all these results together the test is too coarse to say."
    if not chance.beaten:
        return "On average this is not told apart from guessing."
    if finding.quoted not in chance.p_values:
        return f"By its {interval_title(row.setup.level)} this is more than chance."
    tested = p_value_text(row, chance.p_values[finding.quoted])
    return f"Chance does not explain {_TESTED[finding.quoted]} ({tested})."


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
        return "This is about the attackers that were tried; others may learn more."
    if works is None:
        return "Nobody showed that the attack works without protection, and a weak attack is not evidence of privacy."
    if works:
        attack = "The same" if finding.same_control else "Another"
        return f"{attack} attack does work without protection; still, a stronger attacker may succeed."
    return "The attack does not even work without protection, so nothing follows from its failure."

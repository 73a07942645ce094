"""The finding in one plain paragraph, for a reader who decides about the data and not about the metrics.

Three rules keep it honest. The strongest attacker speaks for all. An attacker who fails proves no privacy: without a
control on unprotected voices nothing follows from the failure, and with one no more than that this attacker failed. And
what was not computed (a null, an interval, a search) is not claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.zebra import D_ECE_MAX
from zeroevidence.report.verdict_rows import (
    BOUNDS,
    beats_chance,
    bound,
    control,
    name_of,
    number,
    strongest,
    strongest_by_system,
)

Level = Literal["recognised", "leaks", "not-found", "inconclusive", "described"]
_HEADLINES: dict[Level, str] = {
    "recognised": "voices are recognised",
    "leaks": "voices give something away",
    "not-found": "No leak was found, which does not prove that there is none",
    "inconclusive": "This test cannot say how private the voices are",
}
_WHO = {
    "ignorant": "an attacker who does not know that the voices are protected",
    "lazy-informed": "an attacker who knows the protection and applies it to the known voices too",
    "semi-informed": "an attacker who knows the protection and has learned from voices protected with it",
    "unprotected": "an attacker on unprotected voices",
    "random": "an attacker who hears noise instead of voices",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from the results.

    Parameters
    ----------
    level
        How strong the finding is; `described` where the rows are not about recognising people.
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


def verdict(rows: Sequence[Evaluation]) -> Verdict:
    """The finding of all rows together; there must be at least one."""
    best = strongest(rows)
    row = rows[best]
    if "alid" not in row.metrics and "d_ece" not in row.metrics:
        from zeroevidence.report.verdict_other import described

        headline, paragraph = described(rows, row)
        return Verdict("described", headline, paragraph, (), best)
    level = _level(rows, row)
    found = _searched(rows, row) if number(row, "top1") is not None else _compared(rows, row)
    sentences = [f"{_who(rows, row)} {found}", *_most_exposed(row), *_chance(row), *_caution(rows, row)]
    others = tuple(_short(rows[i]) for i in strongest_by_system(rows) if i != best)
    return Verdict(level, _headline(row, level), _kept(" ".join(sentences)), tuple(map(_kept, others)), best)


def percent(share: float) -> str:
    """A share in words: three digits are more than anyone reads."""
    return f"{100 * share:.3g} %"


def _kept(words: str) -> str:
    """Numbers stay on one line with their percent sign."""
    return words.replace(" %", "\u00a0%")


def _headline(row: Evaluation, level: Level) -> str:
    words = _HEADLINES[level]
    if level not in ("recognised", "leaks"):
        return words
    if name_of(row) in BOUNDS:
        return f"Unprotected {words}; no protection was measured"
    if "anonymised" in (row.labels.get("trial"), row.labels.get("enrolment")):
        return f"Protected {words.replace('voices ', 'voices still ').replace('still are', 'are still')}"
    return f"The {words}"


def _level(rows: Sequence[Evaluation], row: Evaluation) -> Level:
    if beats_chance(row) is False:
        return "not-found" if control(rows, row) else "inconclusive"
    top, eer = number(row, "top1"), number(row, "eer")
    often = eer is not None and eer <= 0.1 if top is None else top >= 0.5
    return "recognised" if often else "leaks"


def _who(rows: Sequence[Evaluation], row: Evaluation) -> str:
    """The attacker as the subject of the first sentence."""
    attacks = {tuple(sorted(other.labels.items())) for other in rows if name_of(other) not in BOUNDS}
    name, system = name_of(row), row.labels.get("system")
    words = _WHO.get(name) or (f"the attacker {name!r}" if name else "the attacker behind these scores")
    given = [name] if name in _WHO and name not in BOUNDS else []
    given += [f"{row.labels['backend']} scores"] if "backend" in row.labels else []
    if system and len(attacks) > 1 and name not in BOUNDS:
        given.append(f"against {system}" if name else system)
    words += f" ({', '.join(given)})" if given else ""
    if len(attacks) > 1 and name not in BOUNDS:
        return (
            f"The strongest of {len(attacks)} attacks, by {words},"
            if name
            else f"The strongest of {len(attacks)}, {words},"
        )
    return words[0].upper() + words[1:]


def _searched(rows: Sequence[Evaluation], row: Evaluation) -> str:
    people = row.counts["identities"]
    top, plain = number(row, "top1") or 0.0, number(bound(rows, row, "unprotected"), "top1")
    against = [f"guessing would do so for {percent(1.0 / people)}"]
    if plain is not None and name_of(row) not in BOUNDS:
        against.append(f"without protection it is {percent(plain)}")
    words = (
        f"puts the right name to {percent(top)} of the recordings{_between(row, 'top1', 100.0, ' %')}, choosing among "
        f"{people} known people; {', and '.join(against)}."
    )
    alid = number(row, "alid")
    if alid is None:
        return words
    bits = (
        f" On average a recording gives away {alid:.2f} bits{_between(row, 'alid')} of the {log2(people):.2f} "
        f"that single out one of {people}"
    )
    if 2.0**alid < 1.05:
        return f"{words}{bits.replace(' -0.00 ', ' 0.00 ')}, which is nothing, or misleads."
    return f"{words}{bits}: it makes the right person about {_factor(2.0**alid)} times as likely as before."


def _compared(rows: Sequence[Evaluation], row: Evaluation) -> str:
    """One comparison at a time: how much of an attacker's doubt it takes away."""
    eer, d_ece, worst = (number(row, name) for name in ("eer", "d_ece", "worst_case"))
    plain = bound(rows, row, "unprotected") if name_of(row) not in BOUNDS else None
    words = []
    if d_ece is not None:
        without = number(plain, "d_ece")
        words.append(
            f"loses {percent(max(d_ece, 0.0) / D_ECE_MAX)}{_between(row, 'd_ece', 100.0 / D_ECE_MAX, ' %')} of the "
            "doubt whether two recordings are of one person, on average over all beliefs to start from"
            + ("" if without is None else f"; without protection it would be {percent(without / D_ECE_MAX)}")
            + "."
        )
    if eer is not None:
        words.append(
            f"{'Deciding' if words else 'deciding'} between one person and two, the attacker errs in {percent(eer)} of "
            "the cases, where guessing errs in 50 %."
        )
    if worst is not None:
        words.append(f"The most telling single comparison changes the odds by a factor of {_factor(10.0**worst)}.")
    words.append("How well one person is found among many was not measured.")
    return " ".join(words)


def _most_exposed(row: Evaluation) -> list[str]:
    people = row.people
    if people is None or not len(people.speaker):
        return []
    always = sum(share >= 1.0 for share in people.linked)
    if always > 1:
        # Of very many people a result names the most exposed only, so their number is no total.
        least = "At least " if len(people.speaker) < row.counts.get("speakers", 0) else ""
        named = f"all {always}" if always == len(people.speaker) and not least else str(always)
        words = f"{least}{named} people are named in every one of their recordings."
        return [words[0].upper() + words[1:]]
    worst = max(range(len(people.speaker)), key=lambda i: (people.linked[i], people.alid[i]))
    if people.linked[worst] <= 0.0:
        return ["Nobody is named outright."]
    count = people.trials[worst]
    return [
        f"The most exposed person, {people.speaker[worst]}, is named in {percent(people.linked[worst])} of "
        f"{count} recording{'s' if count != 1 else ''}."
    ]


def _chance(row: Evaluation) -> list[str]:
    better = beats_chance(row)
    tested = [row.metrics[n].p_value for n in ("alid", "d_ece") if n in row.metrics]
    smallest = min((p for p in tested if p is not None), default=None)
    if better is None:
        return ["Whether chance alone could show as much was not tested."]
    if not better:
        return ["This is no better than chance."]
    if smallest is None:
        return ["By its 95 % interval this is more than chance."]
    return [
        "Chance does not explain this: if nothing leaked, so much would show in at most "
        f"{100 * smallest:.2g} % of such tests."
    ]


def _caution(rows: Sequence[Evaluation], row: Evaluation) -> list[str]:
    works = control(rows, row)
    if name_of(row) in BOUNDS:
        return ["This says what the attacker can do, and nothing yet about a protection."]
    if beats_chance(row) is not False:
        known = "" if works is not None else "No test on unprotected voices is here to compare with. "
        return [f"{known}Other attackers may learn more, so read this as the least that is given away."]
    if works:
        return ["The same attack does recognise unprotected voices; still, a stronger attacker may succeed."]
    if works is None:
        return [
            "Nobody showed that this attack recognises even unprotected voices, and a weak attack is not evidence of "
            "privacy."
        ]
    return ["The attack does not recognise even unprotected voices, so nothing follows from its failure."]


def _short(row: Evaluation) -> str:
    """One sentence on a further system."""
    who = name_of(row)
    by = f" ({who})" if who else ""
    system = row.labels.get("system", "unnamed")
    weak = ", no better than chance" if beats_chance(row) is False else ""
    top = number(row, "top1")
    if top is not None:
        alid = number(row, "alid") or 0.0
        return (
            f"{system}: its strongest attacker{by} names the right person of {row.counts['identities']} for "
            f"{percent(top)} of the recordings and learns {alid:.2f} bits on average{weak}."
        )
    d_ece = number(row, "d_ece")
    if d_ece is None:
        return f"{system}: see the table."
    return f"{system}: its strongest attacker{by} loses {percent(d_ece / D_ECE_MAX)} of the doubt{weak}."


def _between(row: Evaluation, name: str, factor: float = 1.0, unit: str = "") -> str:
    metric = row.metrics[name]
    if metric.low is None or metric.high is None:
        return ""
    low, high = (f"{factor * value:.3g}" if unit else f"{factor * value:.2f}" for value in (metric.low, metric.high))
    return f" (95 % interval {low} to {high}{unit})"


def _factor(factor: float) -> str:
    if factor < 10.0:
        return f"{factor:.2g}"
    digits = 10 ** max(0, len(str(int(factor))) - 2)
    return f"{round(factor / digits) * digits:,}".replace(",", "\u202f")

"""The finding in one plain paragraph, for a reader who decides about the data and not about the metrics.

Three rules keep it honest. The strongest attacker speaks for all. An attacker who fails proves no privacy: without a
control on unprotected voices nothing follows from the failure, and with one no more than that this attacker failed. And
what was not computed (a null, an interval, a search) is not claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, log2

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.zebra import D_ECE_MAX
from zeroevidence.report.verdict_attribute import attribute_verdict
from zeroevidence.report.verdict_other import described
from zeroevidence.report.verdict_rows import (
    BOUNDS,
    attribute_rows,
    beats_chance,
    bound,
    control,
    name_of,
    number,
    p_value,
    people_rows,
    strongest,
    strongest_by_system,
)
from zeroevidence.report.verdict_words import Level, Verdict, between, capital, chance_words, factor_of, kept, percent

_HEADLINES: dict[Level, str] = {
    "recognised": "voices are recognised",
    "leaks": "voices give something away",
    "untested": "voices may give something away; chance was not ruled out",
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


def verdict(rows: Sequence[Evaluation]) -> Verdict:
    """The finding of all rows together; there must be at least one."""
    attributes = attribute_rows(rows)
    spoken = people_rows(rows)
    if not attributes:
        return _finding(rows)
    concealed = attribute_verdict(rows, attributes)
    if not spoken:
        return concealed
    found = _finding([rows[i] for i in spoken])
    return replace(found, row=spoken[found.row], others=(*found.others, f"{concealed.headline}. {concealed.paragraph}"))


def _finding(rows: Sequence[Evaluation]) -> Verdict:
    best = strongest(rows)
    row = rows[best]
    if not _is_search(row) and number(row, "d_ece") is None:
        return described(rows, best)
    level = _level(rows, row)
    found = _searched(rows, row) if _is_search(row) else _compared(rows, row)
    chance = chance_words(beats_chance(row), p_value(row))
    sentences = [f"{_who(rows, row)} {found}", *_most_exposed(row), chance, *_caution(rows, row)]
    others = tuple(_short(rows[i]) for i in strongest_by_system(rows) if i != best)
    return Verdict(level, _headline(row, level), kept(" ".join(sentences)), tuple(map(kept, others)), best)


def _is_search(row: Evaluation) -> bool:
    return number(row, "top1") is not None and row.counts.get("identities", 0) > 1


def _headline(row: Evaluation, level: Level) -> str:
    words = _HEADLINES[level]
    if level in ("not-found", "inconclusive"):
        return words
    if name_of(row) in BOUNDS:
        return f"Unprotected {words}; no protection was measured"
    if "anonymised" in (row.labels.get("trial"), row.labels.get("enrolment")):
        words = (
            words.replace("voices ", "voices still ")
            .replace("still are", "are still")
            .replace("still may", "may still")
        )
        return f"Protected {words}"
    return f"The {words}"


def _level(rows: Sequence[Evaluation], row: Evaluation) -> Level:
    better = beats_chance(row)
    if better is False:
        return "not-found" if control(rows, row) else "inconclusive"
    if _often(row):
        return "recognised"
    return "untested" if better is None else "leaks"


def _often(row: Evaluation) -> bool:
    """Whether the attacker is nearer to always being right than to guessing, in names and in bits."""
    top, alid, eer = (number(row, name) for name in ("top1", "alid", "eer"))
    if top is not None and _is_search(row):
        people = row.counts["identities"]
        bits = alid is None or alid >= 0.5 * log2(people)
        return top >= 0.5 * (1.0 + 1.0 / people) and (bits or beats_chance(row) is True)
    return eer is not None and eer <= 0.1


def _who(rows: Sequence[Evaluation], row: Evaluation) -> str:
    """The attacker as the subject of the first sentence."""
    attacks = {tuple(sorted(other.labels.items())) for other in rows if name_of(other) not in BOUNDS}
    name, system = name_of(row), row.labels.get("system")
    several = len(attacks) > 1 and name not in BOUNDS
    if not name and several and system:
        return f"Of {len(attacks)} results {system} gives most away: the attacker behind its scores"
    words = _WHO.get(name) or (f"the attacker {name!r}" if name else "the attacker behind these scores")
    given = [name] if name in _WHO and name not in BOUNDS else []
    if name == "other":  # a tuple that has no name of its own
        words, given = "an attacker", [row.labels["attacker"].partition(" (")[2].rstrip(")")]
    given += [f"{row.labels['backend']} scores"] if "backend" in row.labels else []
    if system and several:
        given.append(f"against {system}")
    words += f" ({', '.join(given)})" if given else ""
    if several:
        return f"The strongest of {len(attacks)} attacks, {'by ' if name else ''}{words},"
    return capital(words)


def _searched(rows: Sequence[Evaluation], row: Evaluation) -> str:
    people = row.counts["identities"]
    top, plain = number(row, "top1") or 0.0, number(bound(rows, row, "unprotected"), "top1")
    against = [f"guessing would do so for {percent(1.0 / people)}"]
    if plain is not None and name_of(row) not in BOUNDS:
        against.append(f"without protection it is {percent(plain)}")
    words = (
        f"puts the right name to {percent(top)} of the recordings{between(row, 'top1', 100.0, ' %')}, choosing among "
        f"{people} known people; {', and '.join(against)}."
    )
    alid = number(row, "alid")
    return words if alid is None else f"{words} On average a recording {_bits(row, alid, people)}."


def _bits(row: Evaluation, alid: float, people: int) -> str:
    if alid == -inf:
        return "misleads: at least once the attacker ruled out the right person"
    if alid <= -0.005:
        return f"misleads the attacker, by {-alid:.2f} bits"
    words = (
        f"gives away {alid:.2f} bits{between(row, 'alid')} of the {log2(people):.2f} that single out one of {people}"
    )
    if 2.0**alid < 1.05:
        return f"{words}, next to nothing"
    return f"{words}: it makes the right person about {factor_of(2.0**alid)} times as likely as before"


def _compared(rows: Sequence[Evaluation], row: Evaluation) -> str:
    """One comparison at a time: how much of an attacker's doubt it takes away."""
    eer, d_ece, worst = (number(row, name) for name in ("eer", "d_ece", "worst_case"))
    plain = bound(rows, row, "unprotected") if name_of(row) not in BOUNDS else None
    words = []
    if d_ece is not None:
        without = number(plain, "d_ece")
        words.append(
            f"loses {percent(max(d_ece, 0.0) / D_ECE_MAX)}{between(row, 'd_ece', 100.0 / D_ECE_MAX, ' %')} of the "
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
        times = factor_of(10.0**worst) if worst < 15.0 else "more than can be written here"
        words.append(f"The most telling single comparison changes the odds by a factor of {times}.")
    words.append("How well one person is found among many was not measured.")
    return " ".join(words)


def _most_exposed(row: Evaluation) -> list[str]:
    """Who is named most often; by chance somebody always is, so an attacker who does no better names nobody."""
    people = row.people
    if people is None or not len(people.speaker) or beats_chance(row) is False:
        return []
    always = sum(share >= 1.0 for share in people.linked)
    if always > 1:
        # Of very many people a result names the most exposed only, so their number is no total.
        least = "At least " if len(people.speaker) < row.counts.get("speakers", 0) else ""
        named = f"all {always}" if always == len(people.speaker) and not least else str(always)
        words = f"{least}{named} people are named in every one of their recordings."
        return [capital(words)]
    worst = max(range(len(people.speaker)), key=lambda i: (people.linked[i], people.alid[i]))
    if people.linked[worst] <= 0.0:
        return ["Nobody is named outright."]
    count = people.trials[worst]
    return [
        f"The most exposed person, {people.speaker[worst]}, is named in {percent(people.linked[worst])} of "
        f"{count} recording{'s' if count != 1 else ''}."
    ]


def _caution(rows: Sequence[Evaluation], row: Evaluation) -> list[str]:
    works = control(rows, row)
    if name_of(row) in BOUNDS:
        return ["This says what the attacker can do, and nothing yet about a protection."]
    if beats_chance(row) is not False:
        words = ["Other attackers may learn more, so read this as the least that is given away."]
        missing = bound(rows, row, "unprotected") is None
        return ["No test on unprotected voices is here to compare with.", *words] if missing else words
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
    if top is not None and _is_search(row):
        alid = number(row, "alid") or 0.0
        return (
            f"{system}: its strongest attacker{by} names the right person of {row.counts['identities']} for "
            f"{percent(top)} of the recordings and learns {alid:.2f} bits on average{weak}."
        )
    d_ece = number(row, "d_ece")
    if d_ece is None:
        return f"{system}: see the table."
    return f"{system}: its strongest attacker{by} loses {percent(d_ece / D_ECE_MAX)} of the doubt{weak}."

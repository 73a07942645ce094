"""The verdict on how well people are recognised.

Four rules keep it honest. It rests on the attacker who did best on other people, and its limits on all attackers that
were tried. An attacker who fails proves no privacy: without a control on unprotected speech nothing follows from the
failure, and with one no more than that this attacker failed. Nothing is claimed that was not computed (a null, an
interval, a search). And single people who are named are counted, whatever the average says.

It speaks of recordings. That voices are recognised, and not rooms or microphones, would follow only if enrolment and
trials were known to be of different sessions. Where an attacker who hears no voice finds people, it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log2

from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.finding.finding import Level
from zeroevidence.evaluation.resampling import SHOWN
from zeroevidence.evaluation.rows.evaluation import number_or_none
from zeroevidence.measure.pairs.zebra import D_ECE_MAX, tag_odds, tag_of
from zeroevidence.report.verdict.details import (
    ON_AVERAGE,
    exposed_share,
    most_exposed,
    named_beyond_chance,
    named_for_everybody,
    named_people,
    protocol_sentences,
    room_sentences,
)
from zeroevidence.report.verdict.phrases import (
    LimitedValue,
    Statement,
    Verdict,
    capitalise,
    caution_sentence,
    chance_sentence,
    chosen_attempt,
    group_labels,
    group_text,
    limited_value,
    most_given_away,
    named_share,
    paragraph,
    percent,
    removed_share,
    rising_sentences,
    rounded_power,
    said_bound,
    system_text,
    unbroken,
    vacuous_limit,
)
from zeroevidence.report.verdict.summary import assessment, next_commands, summary

_UNPROTECTED: dict[Level, str] = {
    "recognised": "Unprotected recordings are recognised; no protection was measured",
    "leaks": "Unprotected recordings give something away; no protection was measured",
    "untested": (
        "Unprotected recordings may give something away; chance was not ruled out, and no protection was measured"
    ),
}
_PROTECTED: dict[Level, str] = {
    "recognised": "Protected recordings are still recognised",
    "leaks": "Protected recordings still give something away",
    "untested": "Protected recordings may still give something away; chance was not ruled out",
}
_NOISE: dict[Level, str] = {
    "recognised": "Noise is recognised, so the test itself is at fault",
    "leaks": "Noise gives something away, so the test itself is at fault",
    "untested": "Noise seems to give something away; chance was not ruled out",
}
_ANY: dict[Level, str] = {
    "recognised": "The recordings are recognised",
    "leaks": "The recordings give something away",
    "untested": "The recordings may give something away; chance was not ruled out",
    "too-few": "Too few people to say how private the recordings are",
    "not-found": "No leak was found, which does not prove that there is none",
    "inconclusive": "This test cannot say how private the recordings are",
}


def identity_verdict(rows: Sequence[Evaluation], finding: Finding) -> Verdict:
    """Return the verdict on how well people are recognised."""
    row = rows[finding.strongest]
    chance = finding.chance[finding.strongest]
    who = f"{_who(rows, finding)} "
    first, *rest = _searched(rows, finding) if row.is_search else _compared(rows, finding)
    tested = "these results" if row.is_search else "this"
    leaks = finding.level in ("recognised", "leaks") or bool(named_beyond_chance(row))
    statements: list[Statement | str] = [
        Statement(who + first.text, first.limits),
        *([named_people(row)] if row.is_search else []),
        *rest,
        *([] if not row.is_search else exposed_share(row)),
        chance_sentence(row, chance, tested),
        *_several_recordings(row, chance),
        *protocol_sentences(rows, finding),
        *([] if not row.is_search else most_exposed(row, finding)),
        *named_for_everybody(row),
        *room_sentences(rows, finding, leaks=leaks),
        *_cautions(rows, finding),
    ]
    named = group_labels(rows, finding)
    others = tuple(
        _short(rows[i], finding.chance[i].beaten, named) for i in finding.by_system if i != finding.strongest
    )
    text = paragraph(statements, row.setup.level)
    return Verdict(
        finding.level,
        _headline(row, finding.level),
        text,
        tuple(map(unbroken, others)),
        finding,
        summary(rows, finding),
        next_commands(rows, finding),
        assessment(rows, finding),
    )


def _headline(row: Evaluation, level: Level) -> str:
    threat, named = row.about.threat, named_beyond_chance(row)
    if named and level in ON_AVERAGE:
        people = "1 person is" if named == 1 else f"{named} people are"
        return f"On average no leak was found, but {people} named in nearly all of their recordings"
    by_level = _ANY
    if row.about.is_bound:
        by_level = _ANY | (_NOISE if row.about.role == "floor" else _UNPROTECTED)
    elif threat is not None and "anonymised" in (threat.enrolment, threat.trial):
        by_level = _ANY | _PROTECTED
    return by_level[level]


def _who(rows: Sequence[Evaluation], finding: Finding) -> str:
    """The attacker as the subject of the first sentence."""
    row = rows[finding.strongest]
    system, backend = row.labels.get("system"), row.labels.get("backend")
    attacker, details = _attacker(row, several=len(finding.by_system) > 1 and system is not None)
    details += [f"{backend} scores"] if backend else []
    attacker += f" ({', '.join(details)})" if details else ""
    most = most_given_away(rows, finding)
    if len(finding.attempts) > 1:
        attacker = f"{chosen_attempt(finding)}, {'by ' if row.about.threat is not None else ''}{attacker},"
    return f"{most}: {attacker}" if most else capitalise(attacker)


def _attacker(row: Evaluation, *, several: bool) -> tuple[str, list[str]]:
    """The attacker as a noun phrase, and details for the brackets behind it; `several` systems were named before."""
    threat = row.about.threat
    if threat is None:
        return f"the attacker behind {'its' if several else 'these'} scores", []
    if row.about.role == "control":
        return "an attacker on unprotected speech", []
    if row.about.role == "floor":
        return "an attacker who hears noise instead of speech", []
    if threat.name in ATTACKERS:
        adapter = ["adapter network"] if threat.adapter else []
        return f"an attacker who {ATTACKERS[threat.name].title}", [threat.name, *adapter]
    sides = [f"enrolment {threat.enrolment}", f"trained on {threat.trained_on}"]
    if threat.name == "other":  # a threat model without a name
        return "an attacker", sides
    return f"the attacker {threat.name!r}", sides


def _searched(rows: Sequence[Evaluation], finding: Finding) -> list[Statement]:
    row = rows[finding.strongest]
    people = row.counts["identities"]
    top = limited_value(rows, finding, "top1", 1.0)
    plain = None if finding.control is None else rows[finding.control].number("top1")
    against = [f"guessing would do so for {percent(1.0 / people)}"]
    if plain is not None:
        against.append(f"without protection it is {percent(plain)}")
    share = named_share(row, finding.level, top)
    named = f"puts the right name to {share.text}, choosing among {people} known people"
    statements = [
        Statement(f"{named}; {', and '.join(against)}.", share.limits),
        *map(Statement, vacuous_limit(top) if finding.level != "recognised" else ()),
    ]
    if row.number("alid") is not None:
        statements.append(_bits(rows, finding, people))
    return statements


def _bits(rows: Sequence[Evaluation], finding: Finding, people: int) -> Statement:
    """What a recording discloses on average."""
    row = rows[finding.strongest]
    limited = limited_value(rows, finding, "alid", log2(people))
    bound = said_bound(limited, _two_digits)
    return Statement(f"On average a recording {_disclosed(row, people, limited, bound)}.", int(bound is not None))


def _two_digits(bits: float) -> str:
    return f"{max(bits, 0.0) if bits > -0.005 else bits:.2f}"


def _disclosed(row: Evaluation, people: int, limited: LimitedValue, bound: float | None) -> str:
    alid = limited.value
    if alid <= -0.005:
        misled = "misleads: at least once the attacker ruled out the right person"
        misled = misled if alid == -inf else f"misleads the attacker, by {-alid:.2f} bits"
        few = f"; for people like these it gives away at most {max(bound or 0.0, 0.0):.2f} bits ({limited.confidence})"
        return misled if bound is None else f"{misled}{few}"
    least = "at least " if rising_sentences(row) else ""
    of_all = f"of the {log2(people):.2f} that single out one of {people}"
    if bound is None:
        disclosed, most = f"gives away {least}{_two_digits(alid)} bits {of_all}", alid
    else:
        measured = f"({limited.confidence}; {_two_digits(alid)} measured)"
        disclosed, most = f"gives away at most {bound:.2f} bits {measured} {of_all}", bound
    if most < log2(1.05):
        return f"{disclosed}, next to nothing"
    upto, likely = "up to " if most > alid else "", rounded_power(2.0, most)
    likely = likely if likely.startswith("more") else f"about {likely}"
    return f"{disclosed}: it makes the right person {upto}{likely} times as likely as before"


def _compared(rows: Sequence[Evaluation], finding: Finding) -> list[Statement]:
    """One comparison at a time: how much of an attacker's uncertainty it removes."""
    row = rows[finding.strongest]
    eer, worst, supported = (row.number(name) for name in ("eer", "worst_case", "worst_case_supported"))
    without = number_or_none(None if finding.control is None else rows[finding.control], "d_ece")
    removed = limited_value(rows, finding, "d_ece", D_ECE_MAX)
    share, before = removed_share(removed), ""
    if without is not None:
        before = f"; without protection it is {percent(without / D_ECE_MAX)}"
    about = "the uncertainty about whether two recordings share a speaker, averaged over all prior beliefs"
    first = Statement(f"removes {share.text} of {about}{before}.", share.limits)
    sentences = vacuous_limit(removed) if finding.level != "recognised" else []
    if eer is not None:
        sentences.append(
            f"Deciding whether two recordings share a speaker, the attacker errs in {percent(eer)} of the cases, where "
            "guessing errs in 50 %."
        )
    if worst is not None:
        times = rounded_power(10.0, worst)
        many = "" if supported is None else f"; so many comparisons support up to {rounded_power(10.0, supported)}"
        odds = tag_odds()[tag_of(worst)]
        sentences.append(f"The most telling single comparison changes the odds by a factor of {times} ({odds}){many}.")
    sentences.append("How well one person is found among many was not measured.")
    return [first, *map(Statement, sentences)]


def _several_recordings(row: Evaluation, chance: Chance) -> list[str]:
    """The sentence on an attacker who holds several recordings of a person."""
    recordings = row.recordings
    if recordings is None or chance.beaten is False:
        return []
    tried = [k for k in SHOWN if k in recordings.held and k > 1]
    if not tried:
        return []
    top = recordings.top1[recordings.held.index(tried[-1])]
    return [
        f"From {tried[-1]} recordings of the same person together, the right name follows in {percent(top)} of cases."
    ]


def _cautions(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    if rows[finding.strongest].about.is_bound:
        return ["This says what the attacker can do, and nothing yet about a protection."]
    sentences = [*rising_sentences(rows[finding.strongest]), caution_sentence(rows, finding)]
    if finding.control is None and finding.chance[finding.strongest].beaten is not False:
        sentences.insert(0, "There is no test on unprotected speech to compare with.")
    return sentences


def _short(row: Evaluation, beaten: bool | None, named: Sequence[str]) -> str:
    """One sentence on a further system, or on a further group of people."""
    by = f" ({row.about.threat.name})" if row.about.threat is not None else ""
    system = system_text(row.labels.get("system", "unnamed")) + group_text(row, named)
    weak = ", on average not told apart from guessing" if beaten is False else ""
    if row.is_search:
        named = named_people(row).text if named_beyond_chance(row) else ""
        return (
            f"{system}: the attacker that counts{by} names the right person of {row.counts['identities']} for "
            f"{percent(row.number('top1') or 0.0)} of the recordings{_learned_bits(row.number('alid'))}{weak}. {named}"
        ).rstrip()
    d_ece = row.number("d_ece")
    if d_ece is None:
        return f"{system}: see the table."
    return f"{system}: the attacker that counts{by} removes {percent(d_ece / D_ECE_MAX)} of the uncertainty{weak}."


def _learned_bits(alid: float | None) -> str:
    if alid is None:
        return ""
    if alid <= -0.005:
        return " and is misled on average"
    return f" and learns {_two_digits(alid)} bits on average"

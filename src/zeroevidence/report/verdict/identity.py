"""The verdict on how well people are recognised, with what an average does not say: single people, rooms, protocols.

Four rules keep it honest. Every number is of the attacker who did best on other people, and a p-value is of the number
before it. An attacker who fails proves no privacy: without a control on unprotected speech nothing follows from the
failure, and with one no more than that this attacker failed. Nothing is claimed that was not computed (a null, an
interval, a search). And single people who are named are counted, whatever the average says.

It speaks of recordings. That voices are recognised, and not rooms or microphones, would follow only if enrolment and
trials were known to be of different sessions. Where an attacker who hears no voice finds people, it says so.
"""

from __future__ import annotations

from math import log2

from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.data.threat import UNKNOWN
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.facts import Level, NamedPeople
from zeroevidence.evaluation.resampling import SHOWN
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.measure.search.rank import LISTED_RECORDINGS
from zeroevidence.report.verdict import phrases
from zeroevidence.report.verdict.summary import (
    ON_AVERAGE,
    assessment,
    named_people,
    next_commands,
    not_tested,
    room_sentences,
    summary,
    what_was_tried,
)
from zeroevidence.uncertainty.level import percent as level_text

_MOST_LISTED = 5  # people
_SEX = {"told": "told", "heard": "heard by a classifier"}
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


def identity_verdict(finding: Finding) -> phrases.Verdict:
    """Return the verdict on how well people are recognised."""
    row = finding.row
    sentences = [
        *what_was_tried(finding),
        f"{_who(finding)} {phrases.learned(finding)}.",
        phrases.chance_sentence(finding),
        *phrases.allowance(finding),
        *(_searched(finding) if row.is_search else _compared(finding)),
        *_several_recordings(finding),
        *protocol_sentences(finding),
        *(most_exposed(finding) if row.is_search else ()),
        *named_for_everybody(finding),
        *room_sentences(finding),
        *_cautions(finding),
        not_tested(finding),
    ]
    others = (_short(finding, i) for i in finding.by_system if i != finding.strongest)
    return phrases.Verdict(
        finding.level,
        headline(finding),
        phrases.paragraph(sentences, row.setup.level),
        tuple(others),
        finding,
        summary(finding),
        next_commands(finding),
        assessment(finding),
    )


def headline(finding: Finding) -> str:
    """Return the conclusion in one line."""
    about, named = finding.row.about, finding.named.beyond_chance
    if named and finding.level in ON_AVERAGE:
        people = "1 person is" if named == 1 else f"{named} people are"
        return f"On average no leak was found, but {people} named in nearly all of their recordings"
    by_level: dict[Level, str] = {}
    if about.is_bound:
        by_level = _NOISE if about.role == "floor" else _UNPROTECTED
    elif about.threat is not None and "anonymised" in (about.threat.enrolment, about.threat.trial):
        by_level = _PROTECTED
    return by_level.get(finding.level) or _ANY[finding.level]


def _who(finding: Finding) -> str:
    """The attacker as the subject of the first sentence."""
    row, most = finding.row, phrases.most_given_away(finding)
    backend, several = row.labels.get("backend"), len(finding.by_system) > 1 and "system" in row.labels
    attacker, details = _attacker(row, several=several)
    details += [f"{backend} scores"] if backend else []
    attacker += f" ({', '.join(details)})" if details else ""
    if len(finding.attempts) > 1:
        by = "by " if row.about.threat is not None else ""
        attacker = f"of {len(finding.attempts)} attempts, the one {phrases.how_chosen(finding)}, {by}{attacker},"
    return f"{most}: {attacker}" if most else phrases.capitalise(attacker)


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
    named = "an attacker" if threat.name in ("other", UNKNOWN) else f"the attacker {threat.name!r}"
    return named, [threat.definition]


def _searched(finding: Finding) -> list[str]:
    """A search: whom it finds, and what a recording gives away on average."""
    row, alid = finding.row, finding.row.metrics.get("alid")
    bits = _hidden_by_bits(finding.named)
    # Below 0 the calibration misleads the attacker, which is no sign of privacy beside other measures.
    shown = alid is not None and float(alid) >= 0.005 and finding.quoted != "alid"
    if alid is not None and shown and not bits and finding.tested.beaten is not False:
        given = phrases.with_interval(alid, row.setup.level, "{:.2f}".format)
        people = row.counts["identities"]
        bits.append(
            f"Of the {log2(people):.2f} bits that single out one of {people} people, a recording gives away "
            f"{given} on average."
        )
    return [named_people(finding.named), *bits, *exposed_share(finding)]


def _hidden_by_bits(named: NamedPeople) -> list[str]:
    """How often somebody comes first whose mean in bits does not show it: the one with most recordings."""
    people = named.row.people
    if people is None or not named.hidden:
        return []
    place = max(named.hidden, key=lambda place: people.trials[place])
    first, trials = round(people.linked[place] * people.trials[place]), people.trials[place]
    who = "This person" if named.beyond_chance == 1 else "One of them"
    return [
        f"{who} comes first in {first} of {trials} recordings, among {named.row.counts['identities']} people: the mean "
        "in bits, whose calibration was fitted on other people, does not show that."
    ]


def _compared(finding: Finding) -> list[str]:
    """One comparison at a time: how often the attacker errs."""
    eer, sentences = finding.row.metrics.get("eer"), []
    if eer is not None:
        sentences.append(
            "Deciding whether two recordings share a speaker, the attacker errs in "
            f"{phrases.with_interval(eer, finding.row.setup.level)} of the cases, where guessing errs in 50 %."
        )
    return [*sentences, "How well one person is found among many was not measured."]


def _several_recordings(finding: Finding) -> list[str]:
    """The sentence on an attacker who holds several recordings of a person."""
    recordings = finding.row.recordings
    held = [] if recordings is None else [k for k in SHOWN if k in recordings.held and k > 1]
    if recordings is None or not held or finding.tested.beaten is False:
        return []
    place, sure = recordings.held.index(held[-1]), ""
    if recordings.top1_low is not None and recordings.top1_high is not None:
        low, high = (phrases.percent(ends[place]) for ends in (recordings.top1_low, recordings.top1_high))
        sure = f" ({level_text(finding.row.setup.level)} confidence: {low} to {high})"
    top, guess = (phrases.percent(rate) for rate in (recordings.top1[place], finding.guessing))
    return [
        f"From {held[-1]} recordings of the same person together, the right name follows in {top} of cases{sure}; "
        f"guessing does so in {guess}."
    ]


def _cautions(finding: Finding) -> list[str]:
    if finding.row.about.is_bound:
        return [phrases.caution_sentence(finding)]
    alone = finding.control is None and finding.tested.beaten is not False
    plain = ["There is no test on unprotected speech to compare with."] if alone else []
    return [*plain, *map(phrases.curve_sentence, finding.rising), phrases.caution_sentence(finding)]


def _short(finding: Finding, number: int) -> str:
    """One sentence on a further system, or on a further group of people."""
    row, beaten = finding.rows[number], finding.chance[number].beaten
    by = f" ({row.about.threat.name})" if row.about.threat is not None else ""
    system = phrases.system_text(row.labels.get("system", "unnamed"))
    attacker = f"{system}{phrases.group_text(finding, row)}: the attacker that counts{by}"
    weak = ", on average not told apart from guessing" if beaten is False else ""
    if not row.is_search:
        return f"{attacker} removes {phrases.removed(row, 'the doubt')}{weak}."
    named = NamedPeople.of(row)
    of_all = f"names the right person of {row.counts['identities']} for {phrases.named_share(row, few=False)}"
    people = f" {named_people(named)}" if named.beyond_chance else ""
    return f"{attacker} {of_all}{weak}.{people}"


def exposed_share(finding: Finding) -> list[str]:
    """The limit on how many people like these are exposed."""
    share = finding.exposed_share
    if share is None or share >= 1.0 or finding.named.hidden:
        return []
    return [
        f"With {level_text(finding.row.setup.level)} confidence at most {phrases.percent(share)} of people like these "
        "give away more than one bit on average, which makes them more than twice as likely as before."
    ]


def most_exposed(finding: Finding) -> list[str]:
    """Who is named, of those who have recordings enough to be listed."""
    names, places = finding.named.listed, finding.named.places or ()
    if not names:
        return []
    enough = "" if len(names) == len(places) else f", of people with {LISTED_RECORDINGS} recordings or more"
    more = "" if len(names) <= _MOST_LISTED else f" and {len(names) - _MOST_LISTED} more"
    return [f"Those who are named{enough}: {', '.join(names[:_MOST_LISTED])}{more}."]


def named_for_everybody(finding: Finding) -> list[str]:
    """People whose names come up whoever speaks: a false accusation, and little evidence where it is right."""
    people, places = finding.row.people, finding.hubs
    if people is None or people.falsely is None or not places:
        return []
    falsely = people.falsely
    worst = max(places, key=lambda place: falsely[place])
    name, linked = people.speaker[worst], people.linked[worst]
    several = f"The names of {len(places)} people come up for everybody, most often that of {name}: it"
    first = several if len(places) > 1 else f"The name of {name} comes up for everybody: it"
    rightly = "none of the person's own"
    if linked > 0.0:
        rightly = f"{phrases.percent(linked)} of the person's own, which therefore says less than it seems to"
    return [
        f"{first} is put to {phrases.percent(falsely[worst])} of other people's recordings, which accuses the wrong "
        f"person, and to {rightly}."
    ]


def protocol_sentences(finding: Finding) -> list[str]:
    """What the same attacker learns under the other protocol that promised most on development people."""
    best = finding.other_protocol
    if best is None:
        return []
    protocol, promised = best.about.protocol, best.about.development or 0.0
    if protocol is None or promised <= (finding.row.about.development or 0.0):
        return ["No other protocol that was tried promised more on other people."]
    return [
        f"Under the protocol that promised most on other people ({protocol_text(protocol)}), which is not that of the "
        f"numbers above, the same attacker puts the right name to {phrases.percent(best.number('top1') or 0.0)} of "
        f"{best.counts['trials']} trials, and a trial gives away {max(best.number('alid') or 0.0, 0.0):.2f} bits."
    ]


def protocol_text(protocol: Protocol) -> str:
    """Return a protocol in words.

    Examples
    --------
    >>> protocol_text(Protocol(4, tried=3, sex="told"))
    '4 recordings enrolled, 3 of one person tried together, people of the same sex searched for, the sex being told'
    """
    enrolled = f"{protocol.enrolled} recording{'s'[: protocol.enrolled > 1]} enrolled"
    tried = "one tried at a time" if protocol.tried == 1 else f"{protocol.tried} of one person tried together"
    searched = "everybody searched"
    if protocol.sex is not None:
        searched = f"people of the same sex searched for, the sex being {_SEX[protocol.sex]}"
    return f"{enrolled}, {tried}, {searched}"

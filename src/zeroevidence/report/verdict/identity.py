"""The verdict on how well people are recognised, with what an average does not say: single people, rooms, protocols.

Four rules keep it honest. It rests on the attacker who did best on other people, and its limits on all attackers that
were tried. An attacker who fails proves no privacy: without a control on unprotected speech nothing follows from the
failure, and with one no more than that this attacker failed. Nothing is claimed that was not computed (a null, an
interval, a search). And single people who are named are counted, whatever the average says.

It speaks of recordings. That voices are recognised, and not rooms or microphones, would follow only if enrolment and
trials were known to be of different sessions. Where an attacker who hears no voice finds people, it says so.
"""

from __future__ import annotations

from math import inf, log2

from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.facts import Level, NamedPeople
from zeroevidence.evaluation.resampling import SHOWN
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.measure.pairs.zebra import tag_odds, tag_of
from zeroevidence.report.verdict import phrases
from zeroevidence.report.verdict.summary import ON_AVERAGE, assessment, named_people, next_commands, summary
from zeroevidence.uncertainty.level import percent as level_text
from zeroevidence.uncertainty.spread import upper_share_limit

_MOST_LISTED = 5  # people
_SEX = {"told": "told", "heard": "heard by a classifier"}
_VOICE_NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
_ROOM_NOT_FOUND = (
    "Pauses and channel of the recordings, without any voice, are not told apart from guessing; that rooms or devices "
    "give nobody away does not follow."
)
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
    learned, *rest = _searched(finding) if row.is_search else _compared(finding)
    sentences = [
        f"{_who(finding)} {learned}",
        *rest,
        phrases.chance_sentence(finding, "these results" if row.is_search else "this"),
        *_several_recordings(finding),
        *protocol_sentences(finding),
        *(most_exposed(finding) if row.is_search else ()),
        *named_for_everybody(finding),
        *room_sentences(finding),
        *_cautions(finding),
    ]
    others = (_short(finding, i) for i in finding.by_system if i != finding.strongest)
    short = summary(finding)
    return phrases.Verdict(
        finding.level,
        headline(finding),
        phrases.paragraph(sentences, row.setup.level),
        tuple(others),
        finding,
        short,
        next_commands(finding),
        assessment(finding, short),
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
    named = "an attacker" if threat.name == "other" else f"the attacker {threat.name!r}"  # other: without a name
    return named, [threat.definition]


def _searched(finding: Finding) -> list[str]:
    """A search: how often it finds the right person, and whom."""
    people, plain = finding.row.counts["identities"], finding.unprotected
    against = [f"guessing would do so for {phrases.percent(1.0 / people)}"]
    if plain is not None and (top := plain.number("top1")) is not None:
        against.append(f"without protection it is {phrases.percent(top)}")
    named = f"puts the right name to {phrases.named_share(finding)}, choosing among {people} known people"
    return [
        f"{named}; {', and '.join(against)}.",
        named_people(finding.named),
        *(phrases.vacuous_limit(finding.limited["top1"]) if finding.level != "recognised" else ()),
        *([f"On average a recording {_disclosed(finding)}."] if "alid" in finding.limited else []),
        *exposed_share(finding),
    ]


def _two_digits(bits: float) -> str:
    return f"{max(bits, 0.0) if bits > -0.005 else bits:.2f}"


def _disclosed(finding: Finding) -> str:
    """What a recording discloses on average."""
    limited, people = finding.limited["alid"], finding.row.counts["identities"]
    alid, bound = limited.value, phrases.said_bound(limited, _two_digits)
    if alid <= -0.005:
        misled = "misleads: at least once the attacker ruled out the right person"
        misled = misled if alid == -inf else f"misleads the attacker, by {-alid:.2f} bits"
        little = f"at most {max(bound or 0.0, 0.0):.2f} bits ({phrases.confidence(limited)})"
        return misled if bound is None else f"{misled}; for people like these it gives away {little}"
    of_all = f"of the {log2(people):.2f} that single out one of {people}"
    if bound is None:
        least = "at least " if finding.rising else ""
        disclosed, most = f"gives away {least}{_two_digits(alid)} bits {of_all}", alid
    else:
        measured = f"({phrases.confidence(limited)}; {_two_digits(alid)} measured)"
        disclosed, most = f"gives away at most {bound:.2f} bits {measured} {of_all}", bound
    if most < log2(1.05):
        return f"{disclosed}, next to nothing"
    upto, likely = "up to " if most > alid else "", phrases.rounded_power(2.0, most)
    likely = likely if likely.startswith("more") else f"about {likely}"
    return f"{disclosed}: it makes the right person {upto}{likely} times as likely as before"


def _compared(finding: Finding) -> list[str]:
    """One comparison at a time: how much of an attacker's uncertainty it removes."""
    eer, worst, supported = (finding.row.number(name) for name in ("eer", "worst_case", "worst_case_supported"))
    about = "the uncertainty about whether two recordings share a speaker, averaged over all prior beliefs"
    sentences = [f"removes {phrases.removed_share(finding)} of {about}{phrases.removed_before(finding)}."]
    sentences += phrases.vacuous_limit(finding.limited["d_ece"]) if finding.level != "recognised" else []
    if eer is not None:
        sentences.append(
            f"Deciding whether two recordings share a speaker, the attacker errs in {phrases.percent(eer)} of the "
            "cases, where guessing errs in 50 %."
        )
    if worst is not None:
        times = phrases.rounded_power(10.0, worst)
        many = ""
        if supported is not None:
            many = f"; so many comparisons support up to {phrases.rounded_power(10.0, supported)}"
        odds = tag_odds()[tag_of(worst)]
        sentences.append(f"The most telling single comparison changes the odds by a factor of {times} ({odds}){many}.")
    return [*sentences, "How well one person is found among many was not measured."]


def _several_recordings(finding: Finding) -> list[str]:
    """The sentence on an attacker who holds several recordings of a person."""
    recordings = finding.row.recordings
    held = [] if recordings is None else [k for k in SHOWN if k in recordings.held and k > 1]
    if recordings is None or not held or finding.tested.beaten is False:
        return []
    top = phrases.percent(recordings.top1[recordings.held.index(held[-1])])
    return [f"From {held[-1]} recordings of the same person together, the right name follows in {top} of cases."]


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
    if row.is_search:
        named = NamedPeople.of(row)
        top = phrases.percent(row.number("top1") or 0.0)
        of_all = f"names the right person of {row.counts['identities']} for {top} of the recordings"
        people = f" {named_people(named)}" if named.beyond_chance else ""
        alid, bits = row.number("alid"), ""
        if alid is not None:
            bits = " and is misled on average" if alid <= -0.005 else f" and learns {_two_digits(alid)} bits on average"
        return f"{attacker} {of_all}{bits}{weak}.{people}"
    return f"{attacker} removes {phrases.evidence_share(row.number('d_ece'))} of the uncertainty{weak}."


def exposed_share(finding: Finding) -> list[str]:
    """Limits on how many people like these are exposed, and on how many have a recording worse than any here."""
    row, share, highest = finding.row, finding.exposed_share, finding.row.number("lid_max")
    if share is None:
        return []
    sentences, sure = [], f"with {level_text(row.setup.level)} confidence at most"
    if share < 1.0 and not finding.is_exposure_missed:
        sentences.append(
            f"{phrases.capitalise(sure)} {phrases.percent(share)} of people like these give away more than one bit on "
            "average, which makes them more than twice as likely as before."
        )
    if highest is not None and 0.0 < highest < log2(row.counts["identities"]) - 0.005:
        search, rest = row.setup.search, ""
        # Calibrations that differ by fold do not order the recordings of all people.
        if search is not None and not (search.cross_fitted or search.folds):
            few = upper_share_limit(0, row.counts["speakers"], row.setup.level)
            rest = f"; {sure} {phrases.percent(float(few))} of people have one that gives away more"
        sentences.append(f"The most telling recording gives away {highest:.2f} bits{rest}.")
    return sentences


def most_exposed(finding: Finding) -> list[str]:
    """Who is named; where nobody is, who is named most often, unless the attacker is not told apart from chance."""
    people, names, worst = finding.row.people, finding.named.names or (), finding.most_exposed
    if names and not finding.named.may_be_chance:
        more = "" if len(names) <= _MOST_LISTED else f" and {len(names) - _MOST_LISTED} more"
        return [f"Those who are named: {', '.join(names[:_MOST_LISTED])}{more}."]
    # By chance somebody always is; and that nobody has recordings enough is said of those who are named.
    if people is None or finding.tested.beaten is False or not finding.named.counted:
        return []
    if worst is None:
        return ["Nobody is named outright."]
    falsely = 0.0 if people.falsely is None else people.falsely[worst]
    if people.linked[worst] <= falsely:
        return ["Nobody is named more often in their own recordings than in those of others."]
    others = f", and falsely in {phrases.percent(falsely)} of those of others" if people.falsely is not None else ""
    return [
        f"The most exposed person, {people.speaker[worst]}, is named in {phrases.percent(people.linked[worst])} of "
        f"{people.trials[worst]} recordings{others}."
    ]


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


def room_sentences(finding: Finding) -> list[str]:
    """What pauses and channel give away without a voice, in bits; a control that finds nobody says so of a leak."""
    (before, after), rows, chance = finding.rooms, finding.rows, finding.chance
    tried = [i for i in (after, before) if i is not None]
    if not finding.rooms_beyond_chance:
        leaks = finding.level in ("recognised", "leaks") or finding.named.beyond_chance > 0
        at_chance = bool(tried) and all(chance[i].beaten is False for i in tried)
        return [_ROOM_NOT_FOUND if at_chance else _VOICE_NOT_TESTED] if leaks else []
    number, when, also = finding.rooms_beyond_chance[0], "", "; so this is about recordings, and not about voices alone"
    bits = {i: f"{max(rows[i].number('alid') or 0.0, 0.0):.2f}" for i in tried}
    if number == after:
        when = " after protection"
        also = f"{'' if before is None else f'; before protection it is {bits[before]}'}{also}"
    elif after is not None:  # then the attack hears other recordings than this one
        hidden = chance[after].beaten is False
        when, also = " before protection", "; after protection they are not told apart from guessing" if hidden else ""
    tested = phrases.p_value_text(rows[number], chance[number].p_value or 0.0)
    most = f"{log2(rows[number].counts['identities']):.2f} bits{when} ({tested}){also}"
    return [f"Without any voice, pauses and channel of the recordings give away {bits[number]} of {most}."]


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

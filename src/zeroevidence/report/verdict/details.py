"""Sentences on what an average does not say: single people, rooms, other protocols."""

from __future__ import annotations

from math import log2

import numpy as np

from zeroevidence.evaluation import Finding
from zeroevidence.evaluation.finding.facts import NamedPeople
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.measure.search.rank import NAMED_SHARE, named_by_guessing
from zeroevidence.report.verdict.phrases import capitalise, p_value_text, percent
from zeroevidence.uncertainty.level import percent as level_text
from zeroevidence.uncertainty.spread import upper_share_limit

_MOST_LISTED = 5  # people
_SEX = {"told": "told", "heard": "heard by a classifier"}
_VOICE_NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
_ROOM_NOT_FOUND = (
    "Pauses and channel of the recordings, without any voice, are not told apart from guessing; that rooms or devices "
    "give nobody away does not follow."
)


def named_people(named: NamedPeople) -> str:
    """How many people are named in nearly all of their recordings, at most how many like them, and by chance."""
    row, counted, people, result = named.row, named.counted, named.row.people, named.row.metrics.get("people_named")
    often = f"named in at least {percent(NAMED_SHARE)} of their recordings"
    if people is None:
        return "Whether single people are named in nearly all of their recordings was not counted."
    if not counted:
        return "Nobody has two recordings, so nobody can be counted as named in nearly all of them."
    if result is None or named.names is None:
        linked = sum(people.linked[place] >= NAMED_SHARE for place in counted)
        are = f"{linked} of {len(counted)} people {'is' if linked == 1 else 'are'}" if linked else "Nobody is"
        return f"{are} {often}; whether their names come up for everybody was not counted."
    count = len(named.names)
    people_counted = "people" if len(counted) == len(people.trials) else "people with two recordings or more"
    who = f"{count or 'None'} of {len(counted)} {people_counted} {'are' if count > 1 else 'is'}"
    if len(people.speaker) < row.counts.get("speakers", 0):  # only the most exposed are listed
        who = f"{percent(float(result))} of people are"
    limit = ""
    if result.bound is not None and result.low is not None:
        # Of most people, or where the limit rules nothing out, the lower end says more.
        lower = float(result) > 0.5 or percent(result.bound) == percent(1.0)
        end = f"at least {percent(result.low)}" if lower else f"at most {percent(result.bound)}"
        limit = f" ({level_text(row.setup.level)} confidence: {end} of people like these)"
    if result.null is not None:
        chance = f"; with names exchanged at random it would be {percent(result.null.mean)} of them"
        if count and result.p_value is not None and named.may_be_chance:
            chance += f", so this may be chance ({p_value_text(row, result.p_value)})"
    else:
        guessing = named_by_guessing(np.array(people.trials), row.counts["identities"])
        chance = f"; guessing would do so to {percent(guessing)} of them"
    return f"{who} {often}{limit}{chance}."


def exposed_share(finding: Finding) -> list[str]:
    """Limits on how many people like these are exposed, and on how many have a recording worse than any here."""
    row, share, highest = finding.row, finding.exposed_share, finding.row.number("lid_max")
    if share is None:
        return []
    sentences, sure = [], f"with {level_text(row.setup.level)} confidence at most"
    if share < 1.0 and not finding.is_exposure_missed:
        sentences.append(
            f"{capitalise(sure)} {percent(share)} of people like these give away more than one bit on average, which "
            "makes them more than twice as likely as before."
        )
    if highest is not None and 0.0 < highest < log2(row.counts["identities"]) - 0.005:
        search, rest = row.setup.search, ""
        # Calibrations that differ by fold do not order the recordings of all people.
        if search is not None and not (search.cross_fitted or search.folds):
            few = upper_share_limit(0, row.counts["speakers"], row.setup.level)
            rest = f"; {sure} {percent(float(few))} of people have one that gives away more"
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
    others = f", and falsely in {percent(falsely)} of those of others" if people.falsely is not None else ""
    return [
        f"The most exposed person, {people.speaker[worst]}, is named in {percent(people.linked[worst])} of "
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
        rightly = f"{percent(linked)} of the person's own, which therefore says less than it seems to"
    return [
        f"{first} is put to {percent(falsely[worst])} of other people's recordings, which accuses the wrong person, "
        f"and to {rightly}."
    ]


def room_sentences(finding: Finding) -> list[str]:
    """What pauses and channel give away without a voice, in bits; a control that finds nobody says so of a leak."""
    room, rows, chance = finding.room, finding.rows, finding.chance
    tried = [i for i in (room.after, room.before) if i is not None]
    if not room.beyond_chance:
        leaks = finding.level in ("recognised", "leaks") or finding.named.beyond_chance > 0
        at_chance = bool(tried) and all(chance[i].beaten is False for i in tried)
        return [_ROOM_NOT_FOUND if at_chance else _VOICE_NOT_TESTED] if leaks else []
    number, when, also = room.beyond_chance[0], "", "; so this is about recordings, and not about voices alone"
    bits = {i: f"{max(rows[i].number('alid') or 0.0, 0.0):.2f}" for i in tried}
    if number == room.after:
        when = " after protection"
        also = f"{'' if room.before is None else f'; before protection it is {bits[room.before]}'}{also}"
    elif room.after is not None:  # then the attack hears other recordings than this one
        hidden = chance[room.after].beaten is False
        when, also = " before protection", "; after protection they are not told apart from guessing" if hidden else ""
    tested = p_value_text(rows[number], chance[number].p_value or 0.0)
    most = f"{log2(rows[number].counts['identities']):.2f} bits{when} ({tested}){also}"
    return [f"Without any voice, pauses and channel of the recordings give away {bits[number]} of {most}."]


def short_room_sentence(finding: Finding) -> list[str]:
    """The same for a reader who knows no measures, where people are found in the recordings that were attacked."""
    room = finding.room
    attacked, recordings = room.after, "protected recordings"
    if attacked is None:
        attacked, recordings = room.before, "unprotected recordings"
    if attacked is None or attacked not in room.beyond_chance:
        return []
    return [
        "This is about recordings, and not about voices alone: from pauses and channel, without any voice, the right "
        f"name follows for {percent(finding.rows[attacked].number('top1') or 0.0)} of the {recordings}."
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
        f"numbers above, the same attacker puts the right name to {percent(best.number('top1') or 0.0)} of "
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

"""Sentences on what an average does not say: single people, rooms, other protocols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from zeroevidence.data.folds import FOLDS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS, Level
from zeroevidence.evaluation.people import hubs, most_people_above
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.measure.search.rank import LEAST_RECORDINGS, NAMED_SHARE, named_by_guessing
from zeroevidence.report.verdict.phrases import Statement, capitalise, p_value_text, percent
from zeroevidence.uncertainty.level import LEAST_PEOPLE, alpha
from zeroevidence.uncertainty.level import percent as level_text
from zeroevidence.uncertainty.spread import upper_share_limit

_SEX = {"told": "told", "heard": "heard by a classifier"}


def protocol_sentences(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Return what the strongest attacker learns under the protocol that promised most on development people.

    Nothing where no other protocol was tried.
    """
    strongest = rows[finding.strongest]
    others = [row for row in rows if row.about.role == "protocol" and _is_same_attack(row, strongest)]
    if not others:
        return []
    best = max(others, key=_promised)
    protocol = best.about.protocol
    if protocol is None or _promised(best) <= _promised(strongest):
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


def _is_same_attack(row: Evaluation, strongest: Evaluation) -> bool:
    same = all(row.labels.get(name) == strongest.labels.get(name) for name in ("system", *PEOPLE_LABELS))
    return same and row.about.threat == strongest.about.threat


def _promised(row: Evaluation) -> float:
    return row.about.development or 0.0


ON_AVERAGE: tuple[Level, ...] = ("not-found", "inconclusive")  # and yet single people may be named
_EXPOSED_BITS = 1.0  # bit
_MOST_LISTED = 5  # people


def named_count(row: Evaluation) -> int | None:
    """Number of people who count as named; None where that is not known."""
    people = row.people
    return None if people is None or people.named is None else sum(people.named)


def named_beyond_chance(row: Evaluation) -> int | None:
    """Number of people who count as named, where names exchanged at random seldom name as many; otherwise none."""
    return 0 if _may_be_chance(row) else named_count(row)


def _may_be_chance(row: Evaluation) -> bool:
    """Whether as many people are named where names are exchanged at random, more often than one minus the level."""
    result = row.metrics.get("people_named")
    return result is not None and result.p_value is not None and result.p_value > alpha(row.setup.level)


def named_people(row: Evaluation) -> Statement:
    """How many people are named in nearly all of their recordings, at most how many like them, and by chance."""
    people, result = row.people, row.metrics.get("people_named")
    if people is None:
        return Statement("Whether single people are named in nearly all of their recordings was not counted.")
    counted = [place for place, trials in enumerate(people.trials) if trials >= LEAST_RECORDINGS]
    often = f"named in at least {percent(NAMED_SHARE)} of their recordings"
    if not counted:
        return Statement("Nobody has two recordings, so nobody can be counted as named in nearly all of them.")
    if result is None or people.named is None:
        linked = sum(people.linked[place] >= NAMED_SHARE for place in counted)
        are = f"{linked} of {len(counted)} people {'is' if linked == 1 else 'are'}" if linked else "Nobody is"
        return Statement(f"{are} {often}; whether their names come up for everybody was not counted.")
    named = sum(people.named)
    people_counted = "people" if len(counted) == len(people.trials) else "people with two recordings or more"
    if len(people.speaker) < row.counts.get("speakers", 0):  # only the most exposed are listed
        who = f"{percent(float(result))} of people are"
    elif not named:
        who = f"None of {len(counted)} {people_counted} is"
    else:
        who = f"{named} of {len(counted)} {people_counted} {'is' if named == 1 else 'are'}"
    limit = ""
    if result.bound is not None and result.low is not None:
        # Of most people, or where the limit rules nothing out, the lower end says more.
        lower = float(result) > 0.5 or percent(result.bound) == percent(1.0)
        end = f"at least {percent(result.low)}" if lower else f"at most {percent(result.bound)}"
        limit = f" ({level_text(row.setup.level)} confidence: {end} of people like these)"
    if result.null is not None:
        chance = f"; with names exchanged at random it would be {percent(result.null.mean)} of them"
        if named and result.p_value is not None and _may_be_chance(row):
            chance += f", so this may be chance ({p_value_text(row, result.p_value)})"
    else:
        guessing = named_by_guessing(np.array(people.trials), row.counts["identities"])
        chance = f"; guessing would do so to {percent(guessing)} of them"
    return Statement(f"{who} {often}{limit}{chance}.", int(bool(limit)))


def people_used(row: Evaluation) -> list[str]:
    """How many of the people were evaluated and what the others were needed for, and what evaluating all would cost.

    Nothing where that is not known.
    """
    spent, evaluated = row.about.spent, row.counts.get("speakers")
    if spent is None or not spent.development_people or evaluated is None:
        return []
    if spent.folds > 1:
        return [
            f"All {evaluated} people were evaluated, in {spent.folds} folds: those of each by attackers who learned "
            "from the others."
        ]
    given = evaluated + spent.people + spent.development_people
    return [
        f"Of {given} people, {evaluated} were evaluated: the attackers learned from {spent.people} others and chose "
        f"their settings on {spent.development_people} more, because nobody is judged by an attacker who knows them.",
        f"Where the data do not fix who is evaluated, all {given} can be evaluated in turn, for {FOLDS} times the "
        f"work (--folds {FOLDS}).",
    ]


def exposed_share(row: Evaluation) -> list[Statement]:
    """Limits on how many people like these are exposed, and on how many have a recording worse than any here."""
    speakers, highest = row.counts.get("speakers", 0), row.number("lid_max")
    share = most_people_above(row, _EXPOSED_BITS)
    if speakers < LEAST_PEOPLE or share is None:
        return []
    statements, level = [], level_text(row.setup.level)
    if share < 1.0 and not _is_missed(row):
        statements.append(
            Statement(
                f"With {level} confidence at most {percent(share)} of people like these give away more than one bit "
                "on average, which makes them more than twice as likely as before.",
                1,
            )
        )
    if highest is not None and 0.0 < highest < log2(row.counts["identities"]) - 0.005:
        most = f"The most telling recording gives away {highest:.2f} bits"
        if row.setup.search is not None and not (row.setup.search.cross_fitted or row.setup.search.folds):
            few = percent(float(upper_share_limit(0, speakers, row.setup.level)))
            rest = f"; with {level} confidence at most {few} of people have one that gives away more."
            statements.append(Statement(f"{most}{rest}", 1))
        else:  # calibrations that differ by fold do not order the recordings of all people
            statements.append(Statement(f"{most}."))
    return statements


def _is_missed(row: Evaluation) -> bool:
    """Whether somebody is named whose mean disclosure does not show it: a calibration on protected people may not."""
    people = row.people
    if people is None or people.named is None:
        return False
    return any(named and bits <= _EXPOSED_BITS for named, bits in zip(people.named, people.alid, strict=True))


def most_exposed(row: Evaluation, finding: Finding) -> list[str]:
    """Who is named; where nobody is, who is named most often, unless the attacker is not told apart from chance."""
    people = row.people
    if people is None or not len(people.speaker):
        return []
    named = [name for name, counts in zip(people.speaker, people.named or (), strict=False) if counts]
    if named and not _may_be_chance(row):
        more = "" if len(named) <= _MOST_LISTED else f" and {len(named) - _MOST_LISTED} more"
        return [f"Those who are named: {', '.join(named[:_MOST_LISTED])}{more}."]
    if finding.chance[finding.strongest].beaten is False:  # somebody always is, by chance
        return []
    counted = [place for place, trials in enumerate(people.trials) if trials >= LEAST_RECORDINGS]
    if not counted:  # which the sentence on those who are named says
        return []
    if not any(people.linked[place] for place in counted):
        return ["Nobody is named outright."]
    falsely = people.falsely or (0.0,) * len(people.speaker)
    worst = max(counted, key=lambda i: (people.linked[i] - falsely[i], people.alid[i]))
    if people.linked[worst] <= falsely[worst]:
        return ["Nobody is named more often in their own recordings than in those of others."]
    others = f", and falsely in {percent(falsely[worst])} of those of others" if people.falsely is not None else ""
    return [
        f"The most exposed person, {people.speaker[worst]}, is named in {percent(people.linked[worst])} of "
        f"{people.trials[worst]} recordings{others}."
    ]


def named_for_everybody(row: Evaluation) -> list[str]:
    """People whose names come up whoever speaks: a false accusation, and little evidence where it is right."""
    people = row.people
    if people is None or people.falsely is None:
        return []
    falsely = people.falsely
    places = np.flatnonzero(hubs(people, row.counts["identities"])).tolist()
    if not places:
        return []
    worst = max(places, key=lambda i: falsely[i])
    name, linked = people.speaker[worst], people.linked[worst]
    several = f"The names of {len(places)} people come up for everybody, most often that of {name}: it"
    first = several if len(places) > 1 else f"The name of {name} comes up for everybody: it"
    rightly = "none of the person's own"
    if linked > 0.0:
        rightly = f"{percent(linked)} of the person's own, which therefore says less than it seems to"
    sentence = (
        f"{first} is put to {percent(falsely[worst])} of other people's recordings, which accuses the wrong person, "
        f"and to {rightly}."
    )
    return [capitalise(sentence)]


_NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
_NOT_FOUND = (
    "Pauses and channel of the recordings, without any voice, are not told apart from guessing; that rooms or devices "
    "give nobody away does not follow."
)


@dataclass(frozen=True, slots=True)
class RoomControl:
    """The room control beside an attack: its rows before and after protection, with their tests against chance.

    Parameters
    ----------
    before
        The row on original speech.
    after
        The row on speech of the same system as the attack; None where the attack is on original speech.
    """

    before: tuple[Evaluation, Chance] | None = None
    after: tuple[Evaluation, Chance] | None = None

    @property
    def rows(self) -> list[tuple[Evaluation, Chance]]:
        """The rows that there are, after protection first."""
        return [part for part in (self.after, self.before) if part is not None]

    @property
    def beyond_chance(self) -> list[tuple[Evaluation, Chance]]:
        """Those that find people beyond chance, after protection first."""
        return [(row, chance) for row, chance in self.rows if chance.beaten and chance.p_value is not None]


def find_control(rows: Sequence[Evaluation], finding: Finding) -> RoomControl:
    """Return the room control on the people and the system of the strongest attack."""
    strongest = rows[finding.strongest]
    rooms = [
        (row, chance)
        for row, chance in zip(rows, finding.chance, strict=True)
        if row.about.role == "room"
        and all(row.labels.get(name) == strongest.labels.get(name) for name in PEOPLE_LABELS)
    ]
    before = next((part for part in rooms if _is_original(part[0])), None)
    system = strongest.labels.get("system")
    after = next((part for part in rooms if not _is_original(part[0]) and part[0].labels.get("system") == system), None)
    return RoomControl(before, after)


def _is_original(row: Evaluation) -> bool:
    return row.about.threat is not None and row.about.threat.is_bound


def room_sentences(rows: Sequence[Evaluation], finding: Finding, *, leaks: bool) -> list[str]:
    """Return what pauses and channel give away without a voice, in bits.

    Parameters
    ----------
    rows
        All rows.
    finding
        The finding about them.
    leaks
        Whether anything is given away at all: otherwise there is nothing to say of a control that finds nobody.
    """
    control = find_control(rows, finding)
    if not control.beyond_chance:
        at_chance = bool(control.rows) and all(chance.beaten is False for _, chance in control.rows)
        return [_NOT_FOUND if at_chance else _NOT_TESTED] if leaks else []
    row, chance = control.beyond_chance[0]
    text = f"Without any voice, pauses and channel of the recordings give away {_bits(row)} of {_most(row)} bits"
    if _is_original(row):
        text += " before protection" if control.after is not None else ""
        also = "; after protection they are not told apart from guessing" if _not_found(control.after) else ""
    else:
        text += " after protection"
        also = "" if control.before is None else f"; before protection it is {_bits(control.before[0])}"
    tested = p_value_text(row, chance.p_value or 0.0)
    hidden = _is_original(row) and control.after is not None  # then the attack hears other recordings than this one
    return [f"{text} ({tested}){also}{'' if hidden else '; so this is about recordings, and not about voices alone'}."]


def short_room_sentence(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Return the same for a reader who knows no measures.

    Nothing where the control finds nobody beyond chance in the recordings that were attacked.
    """
    control = find_control(rows, finding)
    attacked = control.before if control.after is None else control.after
    if attacked is None or attacked not in control.beyond_chance:
        return []
    row, _ = attacked
    recordings = "unprotected recordings" if _is_original(row) else "protected recordings"
    return [
        "This is about recordings, and not about voices alone: from pauses and channel, without any voice, the right "
        f"name follows for {percent(row.number('top1') or 0.0)} of the {recordings}."
    ]


def _not_found(part: tuple[Evaluation, Chance] | None) -> bool:
    return part is not None and part[1].beaten is False


def _bits(row: Evaluation) -> str:
    return f"{max(row.number('alid') or 0.0, 0.0):.2f}"


def _most(row: Evaluation) -> str:
    return f"{log2(row.counts['identities']):.2f}"

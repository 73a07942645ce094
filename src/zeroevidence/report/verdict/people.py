"""Sentences on single people: an average over recordings hides who is recognised every time."""

from __future__ import annotations

from math import log2

import numpy as np

from zeroevidence.data.speech.folds import FOLDS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.finding import Level
from zeroevidence.evaluation.search.people import hubs, most_people_above
from zeroevidence.measure.search.named import LEAST_RECORDINGS, NAMED_SHARE, named_by_guessing
from zeroevidence.report.verdict.phrases import Statement, capitalise, p_value_text, percent
from zeroevidence.uncertainty.exposure import upper_share_limit
from zeroevidence.uncertainty.level import LEAST_PEOPLE, alpha
from zeroevidence.uncertainty.level import percent as level_text

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

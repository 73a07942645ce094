"""A finding for a reader who knows none of the measures: three lines, one, or a paragraph that stands by itself.

The lines say whether the recordings may be published, how sure that is, and what to do next. They use no bits and no
names of measures, and claim nothing beyond the numbers.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from zeroevidence.attack.attackers import ATTACKERS, usual_attackers
from zeroevidence.data.folds import FEW_PEOPLE, FOLDS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.facts import Level, NamedPeople
from zeroevidence.evaluation.rows.about import Protection
from zeroevidence.measure.search.rank import LISTED_RECORDINGS, NAMED_SHARE, guessing_rate, named_by_guessing
from zeroevidence.protect.voices import find_stronger
from zeroevidence.report.layout import one_line
from zeroevidence.report.verdict import phrases
from zeroevidence.uncertainty.level import percent as level_text

ON_AVERAGE: tuple[Level, ...] = ("not-found", "inconclusive")  # and yet single people may be named
NEXT_COMMANDS = "Next, with your own names of folders:"
_PUBLISH: dict[Level, str] = {
    "recognised": "Not as anonymous recordings",
    "leaks": "Not as anonymous recordings",
    "untested": "Not yet",
    "too-few": "Not yet",
    "not-found": "Nothing found here speaks against it",
    "inconclusive": "Not yet",
}
_VOICE_NOT_TESTED = "Whether it is the voice or the room and the microphone that gives people away was not tested."
_ROOM_NOT_FOUND = (
    "Pauses and channel of the recordings, without any voice, are not told apart from guessing; that rooms or devices "
    "give nobody away does not follow."
)
_AUDIT = "zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT"
_ANONYMISE = "zeroevidence anonymise ORIGINAL -o ANONYMISED"


def summary(finding: Finding) -> tuple[str, ...]:
    """Return whether the recordings may be published, how sure that is with who is named, and what to do next."""
    is_named = finding.question == "identity" and bool(finding.named.places)  # an average never hides a person
    people = f" {named_people(finding.named, brief=True)}" if is_named else ""
    return _publish(finding), f"{_sure(finding)}{people}", _next(finding)


def _names_people(finding: Finding) -> bool:
    """Whether single people are named in nearly all of their recordings, beyond chance."""
    return finding.question == "identity" and finding.named.beyond_chance > 0


def _publish(finding: Finding) -> str:
    """What follows for a release of the recordings, and the number behind it."""
    about = finding.row.about
    if about.is_bound:
        answer = "No protection was measured"
    elif finding.level in ON_AVERAGE and _names_people(finding):
        answer = "Not the recordings of those who are named"
    else:
        answer = _PUBLISH[finding.level]
    system = finding.row.labels.get("system")
    if system and len(finding.by_system) > 1:
        answer += f" ({phrases.system_text(one_line(system))}{phrases.group_text(finding, finding.row)})"
    return f"{answer}: the attacker that counts {learned(finding)}."


def what_was_tried(finding: Finding) -> list[str]:
    """Return the sentences on what was tried to find out who speaks, and on which people."""
    return [_tried(finding.row), *_people_used(finding.row)]


def short_sentence(finding: Finding) -> str:
    """Return what the attacker that counts learns, beside guessing and unprotected speech."""
    return phrases.unbroken(f"The attacker that counts {learned(finding)}.")


def assessment(finding: Finding) -> str:
    """Return the paragraph on how well people are recognised; it stands by itself, in at most 120 words."""
    published, _, after = summary(finding)
    return " ".join([*_data(finding.row), _attackers(finding), published, phrases.chance_sentence(finding), after])


def next_commands(finding: Finding) -> tuple[str, ...]:
    """Return the commands that come next where no leak was found: stronger attackers, and a plan for more people."""
    if finding.level != "not-found" or finding.row.about.threat is None:
        return ()
    effort, people = "full" if finding.has_trained_encoder else "standard", finding.wanted_people
    attackers = "".join(f" --attacker {name}" for name in _untried(finding))
    commands = [f"{_AUDIT}{attackers} --effort {effort}"]
    commands += [] if people is None else [f"zeroevidence plan --pilot OUT/result.json --people {people}"]
    protection = finding.row.about.protection
    if _wants_transcripts(protection):
        commands.append(f"{_ANONYMISE} --protect {protection.name} --transcripts FILE")
    return tuple(commands)


def _wants_transcripts(protection: Protection | None) -> TypeGuard[Protection]:
    """Whether recordings were refused of which transcripts would tell the words."""
    return protection is not None and protection.refused > 0 and protection.recognises


def _untried(finding: Finding) -> list[str]:
    """The usual attackers of whom there is no attempt."""
    return [name for name in usual_attackers() if name not in finding.tried]


def _people_used(row: Evaluation) -> list[str]:
    """How many of the people were evaluated and what the others were needed for, and what evaluating all would cost.

    Nothing where that is not known.
    """
    spent, evaluated = row.about.spent, row.counts.get("speakers")
    if spent is None or not spent.development_people or evaluated is None:
        return []
    if spent.folds > 1:
        splits = f", dealt anew {spent.splits} times; values are means over these" if spent.splits > 1 else ""
        return [
            f"All {evaluated} people were evaluated, each by attackers who learned from other people only "
            f"({spent.folds} folds{splits})."
        ]
    given = evaluated + spent.people + spent.development_people
    return [
        f"Of {given} people, {evaluated} were evaluated: the attackers learned from {spent.people} others and chose "
        f"their settings on {spent.development_people} more, because nobody is judged by an attacker who knows them.",
        f"Where the data do not fix who is evaluated, all {given} can be evaluated in turn, for {FOLDS} times the "
        f"work (--folds {FOLDS}).",
    ]


def _few_each(named: NamedPeople) -> str:
    """How many recordings people have, where some have too few to be listed by name."""
    people = named.row.people
    if people is None or len(people.speaker) < named.row.counts.get("speakers", 0):  # not all are known
        return ""
    recordings = [people.trials[place] for place in named.counted]
    least, most = min(recordings), max(recordings)
    each = f"{least}" if least == most else f"{least} to {most}"
    return f", in {each} recordings each" if least < LISTED_RECORDINGS else ""


def named_people(named: NamedPeople, *, brief: bool = False) -> str:
    """How many people are named in nearly all of their recordings; unless `brief`, how many like them and by chance."""
    row, counted, people, result = named.row, named.counted, named.row.people, named.row.metrics.get("people_named")
    often = f"named in at least {phrases.percent(NAMED_SHARE)} of their recordings"
    if people is None:
        return "Whether single people are named in nearly all of their recordings was not counted."
    if not counted:
        return "Nobody has two recordings, so nobody can be counted as named in nearly all of them."
    if result is None or named.places is None:
        linked = sum(people.linked[place] >= NAMED_SHARE for place in counted)
        are = f"{linked} of {len(counted)} people {'is' if linked == 1 else 'are'}" if linked else "Nobody is"
        return f"{are} {often}; whether their names come up for everybody was not counted."
    count, often = len(named.places), f"{often}{_few_each(named)}, and seldom in those of others"
    people_counted = "people" if len(counted) == len(people.trials) else "people with two recordings or more"
    who = f"{count or 'None'} of {len(counted)} {people_counted} {'are' if count > 1 else 'is'}"
    if len(people.speaker) < row.counts.get("speakers", 0):  # only the most exposed are listed
        who = f"{phrases.percent(float(result))} of people are"
    doubt = ""
    if count and result.p_adjusted is not None and named.may_be_chance:
        doubt = f"this may be chance ({phrases.p_value_text(row, result.p_adjusted)})"
    if brief:
        return f"{who} {often}{doubt and '; '}{doubt}."
    limit = ""
    if result.bound is not None and result.low is not None:
        # Of most people, or where the limit rules nothing out, the lower end says more.
        lower = float(result) > 0.5 or phrases.percent(result.bound) == phrases.percent(1.0)
        end = f"at least {phrases.percent(result.low)}" if lower else f"at most {phrases.percent(result.bound)}"
        limit = f" ({level_text(row.setup.level)} confidence: in the long run {end} of people like these)"
    if result.null is not None:
        exchanged = phrases.percent(result.null.mean)
        chance = f"; with names exchanged at random it would be {exchanged} of them{doubt and ', so '}{doubt}"
    else:
        guessing = named_by_guessing(np.array(people.trials), row.counts["identities"])
        chance = f"; guessing would do so to {phrases.percent(guessing)} of them"
    return f"{who} {often}{limit}{chance}."


def room_sentences(finding: Finding) -> list[str]:
    """How often pauses and channel name people without a voice; a control that finds nobody says so of a leak."""
    (before, after), chance = finding.rooms, finding.chance
    tried = [i for i in (after, before) if i is not None]
    if not finding.rooms_beyond_chance:
        leaks = finding.level in ("recognised", "leaks") or finding.named.beyond_chance > 0
        at_chance = bool(tried) and all(chance[i].beaten is False for i in tried)
        return [_ROOM_NOT_FOUND if at_chance else _VOICE_NOT_TESTED] if leaks else []
    number = finding.rooms_beyond_chance[0]
    row, recordings = finding.rows[number], "protected" if number == after else "unprotected"
    also = "; so this is about recordings, and not about voices alone"
    if number != after and after is not None:  # then the attack hears other recordings than this one
        also = "; after protection they are not told apart from guessing" if chance[after].beaten is False else ""
    tested = phrases.p_value_text(row, chance[number].p_values["top1"])
    named = f"{phrases.percent(row.number('top1') or 0.0)} of the {recordings} recordings"
    guessing = phrases.percent(guessing_rate(row.counts))
    return [
        f"Without any voice, pauses and channel put the right name to {named} (guessing {guessing}; {tested}){also}."
    ]


def _recordings(row: Evaluation) -> str:
    """The recordings that the attacker heard."""
    trial = None if row.about.threat is None else row.about.threat.trial
    if row.about.role == "floor":
        return "made-up recordings"
    if row.about.role == "control" or trial == "original":
        return "unprotected recordings"
    if trial == "anonymised":
        return "protected recordings"
    return "recordings"


def _tried(row: Evaluation, who: str = "Somebody") -> str:
    speakers, counts = row.counts.get("speakers"), row.counts
    people = f" of {speakers} people" if speakers else ""
    if row.is_search:
        trials, identities = counts.get("trials", counts.get("target", 0)), counts["identities"]
        heard = f"{trials} {_recordings(row)}{people if speakers != identities else ''}"
        return f"{who} tried to tell which of {identities} known people speaks in each of {heard}."
    pairs = sum(counts.get(name, 0) for name in ("target", "nontarget"))
    return f"{who} tried to tell of {pairs} pairs of {_recordings(row)}{people} whether one person speaks in both."


def learned(finding: Finding) -> str:
    """Return what the attacker learned, as a predicate."""
    if finding.question != "attribute":
        return phrases.learned(finding)
    doubt = f"the doubt about {finding.attribute}"
    return f"removes {phrases.removed(finding.row, doubt)}{phrases.removed_before(finding)}"


def _sure(finding: Finding) -> str:
    sentence, works = phrases.chance_sentence(finding), finding.control_works
    limit = "".join(f" {sentence}" for sentence in phrases.allowance(finding))
    if finding.tested.beaten is not False or finding.row.about.is_bound:
        return sentence + limit
    alike = sentence.rstrip(".")
    if finding.level == "leaks":
        return f"{alike}, but other attempts found more than chance.{limit}"
    if works is None:
        return f"{alike}, but nobody showed that this attempt works even without protection.{limit}"
    if works:
        attempt = "the same" if finding.same_control else "another"
        return f"{alike}, while {attempt} attempt does work without protection.{limit}"
    return f"{alike}, but the attempt fails even without protection, so nothing follows from that.{limit}"


def _next(finding: Finding) -> str:
    about, level = finding.row.about, finding.level
    if level == "untested":
        tested = finding.tested.p_value is not None
        test = "more permutations in the test against chance" if tested else "the test against chance switched on"
        return f"Before anything is decided, repeat this with {test}."
    if level == "too-few":
        fewest = FEW_PEOPLE - finding.row.counts["speakers"]
        return f"Record at least {max(fewest, finding.more_people or 1)} more people, and measure again."
    if level in ON_AVERAGE and _names_people(finding):
        return f"Leave out {_of_named(finding)}."
    if level == "inconclusive":
        return "First show that the attack works on unprotected speech."
    if level == "not-found":
        return _before_release(finding)
    if about.role == "floor":
        return "Look for the fault in the test: noise gives nobody away."
    if about.is_bound:
        return "Next, measure a protection against the same attacker."
    if finding.question == "attribute":
        return "Weigh this against your purpose: a better attacker may learn more."
    return _instead(finding)


def _of_named(finding: Finding) -> str:
    count = finding.named.beyond_chance
    return f"the recordings of the {'person who is' if count == 1 else f'{count} people who are'} named"


def _before_release(finding: Finding) -> str:
    """What to do where no leak was found: more people, stronger attackers, and what was refused."""
    protection, more = finding.row.about.protection, finding.more_people
    people = "" if more is None else f"record {more} more {'person' if more == 1 else 'people'} and "
    refused = ""
    if _wants_transcripts(protection):
        count = "recording needs a transcript" if protection.refused == 1 else "recordings need transcripts"
        refused = f" The {protection.refused} refused {count}."
    return f"Before release, {people}try stronger attackers: one failure is no proof.{refused}"


def _instead(finding: Finding) -> str:
    """What to do about a leak: the protector that leaves least or, where that was used, what it takes from there."""
    protection = finding.row.about.protection
    stronger = find_stronger(None if protection is None else protection.name)
    if stronger is not None:
        language = f" ({stronger.language} unless --language names another)" if stronger.language else ""
        return (
            f"Protect them with {stronger.name}{language}, which leaves only the {stronger.leaves}, and measure again."
        )
    if _names_people(finding):
        return f"No protector here leaves less: leave out {_of_named(finding)}, and measure again."
    by_words = any(finding.rows[i].about.words and finding.chance[i].beaten for i in finding.attempts)
    if protection is not None and protection.recognises and not by_words:
        return (
            "No protector here leaves less: give it transcripts (anonymise --transcripts FILE), so that misheard words "
            "tell nothing, and measure again."
        )
    return (
        "No protector here leaves less: what is said gives people away, so share these recordings under contract only."
    )


def _data(row: Evaluation) -> list[str]:
    """The names of the data and of the protection, where there are some, and how much it refused."""
    protection, dataset, system = row.about.protection, row.labels.get("dataset"), row.labels.get("system")
    data = f" ({one_line(dataset)})" if dataset else ""
    if not system:
        return []
    if row.about.is_bound:
        return [f"Recordings{data} were tested without protection."]
    name = phrases.system_text(one_line(system if protection is None else protection.name))
    if row.about.threat is None:  # the files do not say whether the recordings were protected
        return [f"The recordings{data} of {name} were tested by attacking them."]
    refused = ""
    if protection is not None and protection.refused:
        refused = f", which refused {protection.refused} of {protection.recordings}"
    return [f"Recordings{data} were protected with {name}{refused}."]


def _attackers(finding: Finding) -> str:
    """Who attacked, up to the best informed, and what they tried."""
    threats = [threat for i in finding.systems[0].best if (threat := finding.rows[i].about.threat) is not None]
    titles = [ATTACKERS[threat.name].title for threat in threats if threat.name in ATTACKERS]
    if not titles or finding.row.about.is_bound:
        return _tried(finding.row)
    return _tried(
        finding.row, f"Somebody who {titles[-1]}" if len(titles) < 2 else f"Attackers, up to one who {titles[-1]},"
    )


def not_tested(finding: Finding) -> str:
    """Return what the attackers did not try; nothing where they tried all that is known here."""
    row, missing = finding.row, []
    if not row.about.is_bound:
        unknown = row.about.is_training_unknown
        untried = [] if row.about.threat is None or unknown else _untried(finding)
        missing += [f"somebody who {ATTACKERS[name].title}" for name in untried]
        missing += ["somebody who trained on protected speech, unless this attacker did"] if unknown else []
    if row.recordings is None:
        missing.append("several recordings of one person together")
    if finding.rooms == (None, None):
        missing.append("what rooms and microphones give away")
    if not any(finding.rows[number].about.words for number in finding.attempts):
        missing.append("what is said, which may name a person by itself")
    return f"Not tested: {'; '.join(missing)}." if missing else ""

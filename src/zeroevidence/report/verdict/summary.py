"""A few sentences for a reader who knows none of the measures.

They say what was tried, by whom, what the attacker learned, which people are named, how sure that is, and what to do
next. They use no bits and no names of measures, and claim nothing beyond the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.attackers.attacker import ATTACKERS
from zeroevidence.data.speech.folds import FEW_PEOPLE
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.rows.evaluation import number_or_none
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict.groups import group_labels, group_text, system_text
from zeroevidence.report.verdict.next_steps import wanted_people
from zeroevidence.report.verdict.people import ON_AVERAGE, named_beyond_chance, named_people, people_used
from zeroevidence.report.verdict.phrases import (
    NOT_TOLD_APART,
    TOO_COARSE,
    LimitedValue,
    capitalise,
    chosen_attempt,
    control_works,
    limited_value,
    most_given_away,
    named_share,
    p_value_text,
    percent,
    removed_share,
    unbroken,
)
from zeroevidence.report.verdict.room import short_room_sentence

_MORE_PEOPLE = f"Measure again with at least {FEW_PEOPLE} people."


def summary(rows: Sequence[Evaluation], finding: Finding) -> tuple[str, ...]:
    """Return the sentences on a finding about people or an attribute; people who are named are counted."""
    row = rows[finding.strongest]
    people = [named_people(row).text] if row.is_search and finding.question == "identity" else []
    used = people_used(row) if finding.question == "identity" else []
    sentences = (_tried(row, finding), _by_whom(rows, finding), _learned(rows, finding), *people)
    room = short_room_sentence(rows, finding) if finding.question == "identity" else []
    return tuple(map(unbroken, (*sentences, _sure(rows, finding), *room, *used, _next(rows, finding))))


def _voices(row: Evaluation) -> str:
    """The adjective for the voices that the attacker heard."""
    threat = row.about.threat
    if row.about.role == "floor":
        return "made-up "
    if row.about.role == "control" or (threat is not None and threat.trial == "original"):
        return "unprotected "
    if row.about.question == "attribute" or (threat is not None and threat.trial == "anonymised"):
        return "protected "
    return ""


def _tried(row: Evaluation, finding: Finding) -> str:
    speakers = row.counts.get("speakers")
    people = f" of {speakers} people" if speakers else ""
    if finding.question == "attribute":
        return f"Somebody tried to tell {finding.attribute} from {_voices(row)}recordings{people}."
    if row.is_search:
        trials = row.counts.get("trials", row.counts.get("target", 0))
        identities = row.counts["identities"]
        whose = people if speakers != identities else ""
        return (
            f"Somebody tried to tell which of {identities} known people speaks in each of {trials} "
            f"{_voices(row)}recordings{whose}."
        )
    pairs = sum(row.counts.get(name, 0) for name in ("target", "nontarget"))
    what = f"{pairs} pairs of {_voices(row)}recordings{people}"
    return f"Somebody tried to tell of {what} whether one person speaks in both."


def _by_whom(rows: Sequence[Evaluation], finding: Finding) -> str:
    row = rows[finding.strongest]
    system = row.labels.get("system")
    against = f" against {system_text(system)}{group_text(row, group_labels(rows, finding))}" if system else ""
    most = most_given_away(rows, finding) if finding.question == "identity" else ""
    if len(finding.attempts) < 2:
        several = len(finding.by_system) > 1
        attempt = f"{most}; the attempt against it" if most else f"The attempt{against if several else ''}"
        return f"{attempt} is {_attacker(row, finding)}."
    counts = capitalise(f"{chosen_attempt(finding, against)} counts here: {_attacker(row, finding)}.")
    return f"{most}. {counts}" if most else counts


def _attacker(row: Evaluation, finding: Finding) -> str:
    threat = row.about.threat
    if finding.question == "attribute":
        alike = "" if row.about.is_bound else " that were protected in the same way"
        return f"that of an attacker who learned from recordings of other people{alike}"
    if row.about.role == "floor":
        return "one on noise, where there is nothing to learn"
    if threat is not None and threat.name in ATTACKERS:
        return f"that of somebody who {ATTACKERS[threat.name].title}"
    if row.about.role == "control":
        return "one on speech without protection"
    if threat is not None:
        return f"called {threat.name!r}"
    return "one of which the files do not say what its attacker knows"


def _learned(rows: Sequence[Evaluation], finding: Finding) -> str:
    row = rows[finding.strongest]
    plain = None if finding.control is None else rows[finding.control]
    if finding.question == "attribute":
        return _learned_of_attribute(rows, finding, plain)
    if row.is_search:
        guess = f"guessing does so for {percent(1.0 / row.counts['identities'])}"
        top = number_or_none(plain, "top1")
        before = "" if top is None else f", and without protection it is {percent(top)}"
        named = named_share(row, finding.level, limited_value(rows, finding, "top1", 1.0))
        return f"It puts the right name to {named.text}; {guess}{before}."
    error, plain_error = row.metrics.get("eer"), number_or_none(plain, "eer")
    if error is None:
        return f"This removes {removed_share(limited_value(rows, finding, 'd_ece', D_ECE_MAX)).text} of the doubt."
    before = "" if plain_error is None else f", and without protection it is in {percent(plain_error)}"
    wrong = _errors(limited_value(rows, finding, "eer", 0.0))
    return f"It is wrong in {wrong} of the cases, where guessing is in 50 %{before}."


def _learned_of_attribute(rows: Sequence[Evaluation], finding: Finding, plain: Evaluation | None) -> str:
    """The share of the doubt about an attribute that is removed."""
    share = number_or_none(plain, "d_ece")
    without = "" if share is None else f"; without protection it is {percent(share / D_ECE_MAX)}"
    removed = removed_share(limited_value(rows, finding, "d_ece", D_ECE_MAX))
    return f"This removes {removed.text} of the doubt about {finding.attribute}{without}."


def _errors(error: LimitedValue) -> str:
    if error.bound is None or percent(error.bound) == percent(error.value):
        return percent(error.value)
    return (
        f"at least {percent(error.bound)} ({error.confidence}, for people like these; {percent(error.value)} measured)"
    )


def _sure(rows: Sequence[Evaluation], finding: Finding) -> str:
    row, chance = rows[finding.strongest], finding.chance[finding.strongest]
    if chance.beaten is None and chance.too_few:
        return f"{row.counts.get('speakers')} people are too few to tell this from chance."
    if chance.beaten is None and chance.p_value is None:
        return "Whether chance alone could do as well was not tested."
    if chance.beaten is None:
        return TOO_COARSE
    if chance.beaten:
        tested = "" if chance.p_value is None else f" ({p_value_text(row, chance.p_value)})"
        return f"Chance does not explain this{tested}."
    if row.about.is_bound:
        return NOT_TOLD_APART
    alike, (works, attempt) = NOT_TOLD_APART.rstrip("."), control_works(rows, finding)
    if finding.level == "leaks":
        return f"{alike}, but other attempts found more than chance."
    if works is None:
        return f"{alike}, but nobody showed that this attempt works even without protection."
    if works:
        return f"{alike}, while {attempt.lower()} attempt does work without protection."
    return f"{alike}, but the attempt fails even without protection, so nothing follows from that."


def _next(rows: Sequence[Evaluation], finding: Finding) -> str:
    row, level = rows[finding.strongest], finding.level
    if level == "too-few":
        return _MORE_PEOPLE
    if level == "untested":
        tested = finding.chance[finding.strongest].p_value is not None
        test = "more permutations in the test against chance" if tested else "the test against chance switched on"
        return f"Before anything is decided, repeat this with {test}."
    if row.about.role == "floor" and level in ("recognised", "leaks"):
        return "Look for the fault in the test: noise gives nobody away."
    if level in ON_AVERAGE and finding.question == "identity" and named_beyond_chance(row):
        return "Do not treat the recordings of those who are named as anonymous; a stronger protection is needed."
    if level in ("recognised", "leaks") and row.about.is_bound:
        return "Next, measure a protection against the same attacker."
    if level == "recognised":
        return "Do not treat these recordings as anonymous; a stronger protection is needed, measured in the same way."
    if level == "leaks":
        return (
            "Weigh this against your purpose, knowing that a better attacker may learn more, or protect more strongly."
        )
    if level == "not-found":
        people = wanted_people(rows, finding)
        more = "more people" if people is None else f"{people} people, with whom the limit would be half as far away"
        return f"Before release, try stronger attackers and {more}: that this one failed is no proof."
    return "First show that the attack works on unprotected speech; without that its failure means nothing."

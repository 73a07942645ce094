"""A finding for a reader who knows none of the measures: a few sentences, one, or a paragraph that stands by itself.

They say what was tried, by whom, what the attacker learned, which people are named, how sure that is, and what to do
next. They use no bits and no names of measures, and claim nothing beyond the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.attackers import ATTACKERS, usual_attackers
from zeroevidence.data.folds import FEW_PEOPLE, FOLDS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.facts import Level
from zeroevidence.evaluation.rows.evaluation import number_or_none
from zeroevidence.report.layout import one_line
from zeroevidence.report.verdict.details import named_people, short_room_sentence
from zeroevidence.report.verdict.phrases import (
    chance_sentence,
    confidence,
    evidence_share,
    group_text,
    how_chosen,
    most_given_away,
    named_share,
    percent,
    removed_before,
    removed_share,
    system_text,
    unbroken,
)

ON_AVERAGE: tuple[Level, ...] = ("not-found", "inconclusive")  # and yet single people may be named
NEXT_COMMANDS = "Next, with your own names of folders:"
_AUDIT = "zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT"


def summary(finding: Finding) -> tuple[str, ...]:
    """Return the sentences on a finding about people or an attribute; people who are named are counted."""
    people: list[str] = []
    beside: list[str] = []
    if finding.question == "identity":
        people = [named_people(finding.named)] if finding.row.is_search else []
        beside = [*short_room_sentence(finding), *_people_used(finding.row)]
    sentences = (
        _tried(finding),
        _by_whom(finding),
        _learned(finding),
        *people,
        _sure(finding),
        *beside,
        _next(finding),
    )
    return tuple(map(unbroken, sentences))


def short_sentence(finding: Finding) -> str:
    """Return what the attacker that counts learns, beside guessing and unprotected speech, as it was measured."""
    row, plain = finding.row, finding.unprotected
    if row.is_search:
        people, before = row.counts["identities"], number_or_none(plain, "top1")
        measured = percent(row.number("top1") or 0.0)
        learned = f"The right one of {people} people is named in {measured} of recordings"
        guess, without = percent(1.0 / people), "" if before is None else percent(before)
    else:
        evidence = number_or_none(plain, "d_ece")
        measured = evidence_share(row.number("d_ece"))
        learned = f"The doubt whether two recordings are of one person shrinks by {measured}"
        guess, without = percent(0.0), "" if evidence is None else evidence_share(evidence)
    return unbroken(f"{learned}; guessing {guess}{f', unprotected {without}' if without else ''}.")


def assessment(finding: Finding, sentences: Sequence[str]) -> str:
    """Return the paragraph on how well people are recognised; it stands by itself, without the report.

    Parameters
    ----------
    finding
        The finding about people.
    sentences
        Its `summary`.
    """
    tried, *others, after = sentences
    used = list(map(unbroken, _people_used(finding.row)))
    parts = [
        *_data(finding.row),
        tried,
        *used[:1],
        *_attackers(finding),
        *(sentence for sentence in others if sentence not in used),
        _not_tested(finding),
        after,
        "Another attacker, other people or other recordings may give another result.",
    ]
    return unbroken(" ".join(parts))


def next_commands(finding: Finding) -> tuple[str, ...]:
    """Return the commands that come next where no leak was found: stronger attackers, and a plan for more people."""
    if finding.level != "not-found" or finding.row.about.threat is None:
        return ()
    effort, people = "full" if finding.has_trained_encoder else "standard", finding.wanted_people
    attackers = "".join(f" --attacker {name}" for name in _untried(finding))
    plan = () if people is None else (f"zeroevidence plan --pilot OUT/result.json --people {people}",)
    return (f"{_AUDIT}{attackers} --effort {effort}", *plan)


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


def _recordings(row: Evaluation) -> str:
    """The recordings that the attacker heard."""
    trial = None if row.about.threat is None else row.about.threat.trial
    if row.about.role == "floor":
        return "made-up recordings"
    if row.about.role == "control" or trial == "original":
        return "unprotected recordings"
    if row.about.question == "attribute" or trial == "anonymised":
        return "protected recordings"
    return "recordings"


def _tried(finding: Finding) -> str:
    row, counts = finding.row, finding.row.counts
    speakers = counts.get("speakers")
    people = f" of {speakers} people" if speakers else ""
    if finding.question == "attribute":
        return f"Somebody tried to tell {finding.attribute} from {_recordings(row)}{people}."
    if row.is_search:
        trials, identities = counts.get("trials", counts.get("target", 0)), counts["identities"]
        heard = f"{trials} {_recordings(row)}{people if speakers != identities else ''}"
        return f"Somebody tried to tell which of {identities} known people speaks in each of {heard}."
    pairs = sum(counts.get(name, 0) for name in ("target", "nontarget"))
    return f"Somebody tried to tell of {pairs} pairs of {_recordings(row)}{people} whether one person speaks in both."


def _by_whom(finding: Finding) -> str:
    system, attacker = finding.row.labels.get("system"), _attacker(finding)
    against = f" against {system_text(system)}{group_text(finding, finding.row)}" if system else ""
    most = most_given_away(finding) if finding.question == "identity" else ""
    if len(finding.attempts) < 2:
        several = len(finding.by_system) > 1
        attempt = f"{most}; the attempt against it" if most else f"The attempt{against if several else ''}"
        return f"{attempt} is {attacker}."
    attempts = f"Of {len(finding.attempts)} attempts{against}"
    return f"{f'{most}. ' if most else ''}{attempts}, the one {how_chosen(finding)} counts here: {attacker}."


def _attacker(finding: Finding) -> str:
    about = finding.row.about
    if finding.question == "attribute":
        alike = "" if about.is_bound else " that were protected in the same way"
        return f"that of an attacker who learned from recordings of other people{alike}"
    if about.role == "floor":
        return "one on noise, where there is nothing to learn"
    if about.threat is not None and about.threat.name in ATTACKERS:
        return f"that of somebody who {ATTACKERS[about.threat.name].title}"
    if about.role == "control":
        return "one on speech without protection"
    if about.threat is not None:
        return f"called {about.threat.name!r}"
    return "one of which the files do not say what its attacker knows"


def _learned(finding: Finding) -> str:
    row, plain = finding.row, finding.unprotected
    if finding.question == "attribute":
        return f"This removes {removed_share(finding)} of the doubt about {finding.attribute}{removed_before(finding)}."
    if row.is_search:
        guess, top = percent(1.0 / row.counts["identities"]), number_or_none(plain, "top1")
        before = "" if top is None else f", and without protection it is {percent(top)}"
        return f"It puts the right name to {named_share(finding)}; guessing does so for {guess}{before}."
    if "eer" not in finding.limited:
        return f"This removes {removed_share(finding)} of the doubt."
    error, plain_error = finding.limited["eer"], number_or_none(plain, "eer")
    before = "" if plain_error is None else f", and without protection it is in {percent(plain_error)}"
    wrong = percent(error.value)
    if error.bound is not None and percent(error.bound) != wrong:
        wrong = f"at least {percent(error.bound)} ({confidence(error)}, for people like these; {wrong} measured)"
    return f"It is wrong in {wrong} of the cases, where guessing is in 50 %{before}."


def _sure(finding: Finding) -> str:
    sentence, works = chance_sentence(finding.row, finding.tested), finding.control_works
    if finding.tested.beaten is not False or finding.row.about.is_bound:
        return sentence
    alike = sentence.rstrip(".")
    if finding.level == "leaks":
        return f"{alike}, but other attempts found more than chance."
    if works is None:
        return f"{alike}, but nobody showed that this attempt works even without protection."
    if works:
        attempt = "the same" if finding.same_control else "another"
        return f"{alike}, while {attempt} attempt does work without protection."
    return f"{alike}, but the attempt fails even without protection, so nothing follows from that."


def _next(finding: Finding) -> str:
    about, level = finding.row.about, finding.level
    if level == "too-few":
        return f"Measure again with at least {FEW_PEOPLE} people."
    if level == "untested":
        tested = finding.tested.p_value is not None
        test = "more permutations in the test against chance" if tested else "the test against chance switched on"
        return f"Before anything is decided, repeat this with {test}."
    if about.role == "floor" and level in ("recognised", "leaks"):
        return "Look for the fault in the test: noise gives nobody away."
    if level in ON_AVERAGE and finding.question == "identity" and finding.named.beyond_chance:
        return "Do not treat the recordings of those who are named as anonymous; a stronger protection is needed."
    if level in ("recognised", "leaks") and about.is_bound:
        return "Next, measure a protection against the same attacker."
    if level == "recognised":
        return "Do not treat these recordings as anonymous; a stronger protection is needed, measured in the same way."
    if level == "leaks":
        return (
            "Weigh this against your purpose, knowing that a better attacker may learn more, or protect more strongly."
        )
    if level == "not-found":
        people = finding.wanted_people
        more = "more people" if people is None else f"{people} people, with whom the limit would be half as far away"
        return f"Before release, try stronger attackers and {more}: that this one failed is no proof."
    return "First show that the attack works on unprotected speech; without that its failure means nothing."


def _data(row: Evaluation) -> list[str]:
    """The names of the data and of the protection, where there are some."""
    dataset, system = (row.labels.get(name) for name in ("dataset", "system"))
    data = f" ({one_line(dataset)})" if dataset else ""
    if not system:
        return []
    if row.about.is_bound:
        return [f"Recordings{data} were tested without protection."]
    protection = system_text(one_line(system))
    return [f"Recordings{data} were protected with {protection}, and the protection was tested by attacking it."]


def _attackers(finding: Finding) -> list[str]:
    """Who attacked, and with what."""
    system = finding.systems[0]
    kinds = [threat.name for i in system.best if (threat := finding.rows[i].about.threat) is not None]
    titles = [ATTACKERS[name].title for name in dict.fromkeys(kinds) if name in ATTACKERS]
    if not titles or finding.row.about.is_bound:
        return []
    tools = []
    for label, noun in (("encoder", "speaker encoder"), ("backend", "scoring method")):
        parts = [name for i in system.attempts for name in finding.rows[i].labels.get(label, "").split("+")]
        names = [one_line(name) for name in dict.fromkeys(parts) if name and name not in ("fusion", "chosen")]
        tools += [f"{noun}{'s'[: len(names) > 1]} {', '.join(names)}"] if names else []
    several = "Attackers of these kinds were tried: one who" if len(titles) > 1 else "The attacker"
    with_what = f" They used the {' and the '.join(tools)}." if tools else ""
    return [f"{several} {'; one who '.join(titles)}.{with_what}"]


def _not_tested(finding: Finding) -> str:
    """What the attackers did not try."""
    row, room = finding.row, finding.room
    missing = []
    if not row.about.is_bound:
        untried = [] if row.about.threat is None else _untried(finding)
        missing += [f"somebody who {ATTACKERS[name].title}" for name in untried]
        missing += (
            [] if finding.has_trained_encoder else ["an attacker who trains a speaker encoder on protected speech"]
        )
    if row.recordings is None:
        missing.append("several recordings of one person together")
    if room.before is None and room.after is None:
        missing.append("what rooms and microphones give away")
    missing.append("what is said, which may name a person whatever the voice")
    return f"Not tested: {'; '.join(missing)}."

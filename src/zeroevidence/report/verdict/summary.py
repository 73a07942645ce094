"""A finding for a reader who knows none of the measures: a few sentences, one, or a paragraph that stands by itself."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.attackers import ATTACKERS, usual_attackers
from zeroevidence.data.folds import FEW_PEOPLE
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.finding import attackers_by_system
from zeroevidence.evaluation.rows.evaluation import number_or_none
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.layout import one_line
from zeroevidence.report.verdict.details import (
    ON_AVERAGE,
    find_control,
    named_beyond_chance,
    named_people,
    people_used,
    short_room_sentence,
)
from zeroevidence.report.verdict.phrases import (
    LimitedValue,
    capitalise,
    chance_sentence,
    chosen_attempt,
    control_works,
    group_labels,
    group_text,
    limited_value,
    most_given_away,
    named_share,
    percent,
    removed_share,
    system_text,
    unbroken,
)

NEXT_COMMANDS = "Next, with your own names of folders:"
_AUDIT = "zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT"


def wanted_people(rows: Sequence[Evaluation], finding: Finding) -> int | None:
    """Return how many people bring the limit half-way to what was measured; None where that is not known."""
    name, most = ("top1", 1.0) if rows[finding.strongest].is_search else ("d_ece", D_ECE_MAX)
    if name not in rows[finding.strongest].metrics:  # of an attribute that is a number
        return None
    return limited_value(rows, finding, name, most).people


def untried_attackers(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Return the usual attackers of whom there is no attempt, by name."""
    tried = {rows[i].about.threat for i in finding.attempts or (finding.strongest,)}
    names = {threat.name for threat in tried if threat is not None}
    return [name for name in usual_attackers() if name not in names]


def trained_encoders(rows: Sequence[Evaluation], finding: Finding) -> bool:
    """Return whether some attempt has a speaker encoder that was trained on protected speech."""
    efforts = [rows[i].about.spent for i in finding.attempts]
    return any(effort is not None and effort.encoder_trained_on == "anonymised" for effort in efforts)


def next_commands(rows: Sequence[Evaluation], finding: Finding) -> tuple[str, ...]:
    """Return the commands that come next where no leak was found: stronger attackers, and a plan for more people."""
    row = rows[finding.strongest]
    if finding.level != "not-found" or row.about.threat is None:
        return ()
    untried = untried_attackers(rows, finding)
    effort = "full" if trained_encoders(rows, finding) else "standard"
    attackers = "".join(f" --attacker {name}" for name in untried) if untried else ""
    people = wanted_people(rows, finding)
    plan = () if people is None else (f"zeroevidence plan --pilot OUT/result.json --people {people}",)
    return (f"{_AUDIT}{attackers} --effort {effort}", *plan)


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
    sentence = chance_sentence(row, chance)
    if chance.beaten is not False or row.about.is_bound:
        return sentence
    alike, (works, attempt) = sentence.rstrip("."), control_works(rows, finding)
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


def short_sentence(rows: Sequence[Evaluation], finding: Finding) -> str:
    """Return what the attacker that counts learns, beside guessing and unprotected speech, as it was measured."""
    row = rows[finding.strongest]
    plain = None if finding.control is None else rows[finding.control]
    if row.is_search:
        guess, measured = 1.0 / row.counts["identities"], row.number("top1") or 0.0
        before = number_or_none(plain, "top1")
        learned = f"The right one of {row.counts['identities']} people is named in {percent(measured)} of recordings"
    else:
        guess, measured = 0.0, (row.number("d_ece") or 0.0) / D_ECE_MAX
        before = None if (evidence := number_or_none(plain, "d_ece")) is None else evidence / D_ECE_MAX
        learned = f"The doubt whether two recordings are of one person shrinks by {percent(measured)}"
    without = "" if before is None else f", unprotected {percent(before)}"
    return unbroken(f"{learned}; guessing {percent(guess)}{without}.")


def assessment(rows: Sequence[Evaluation], finding: Finding) -> str:
    """Return the paragraph on how well people are recognised; it stands by itself, without the report."""
    row = rows[finding.strongest]
    tried, *others, after = summary(rows, finding)
    used = [unbroken(sentence) for sentence in people_used(row)]
    measured = [sentence for sentence in others if sentence not in used]
    sentences = [
        *_data(row),
        tried,
        *used[:1],
        *_attackers(rows, finding),
        *measured,
        _not_tested(rows, finding),
        after,
        "Another attacker, other people or other recordings may give another result.",
    ]
    return unbroken(" ".join(sentences))


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


def _attackers(rows: Sequence[Evaluation], finding: Finding) -> list[str]:
    """Who attacked, and with what."""
    system = attackers_by_system(rows, finding)[0]
    kinds = [threat.name for i in system.best if (threat := rows[i].about.threat) is not None]
    known = [ATTACKERS[name].title for name in dict.fromkeys(kinds) if name in ATTACKERS]
    if not known or rows[finding.strongest].about.is_bound:
        return []
    several = "Attackers of these kinds were tried: one who" if len(known) > 1 else "The attacker"
    tools = [f"{noun} {', '.join(names)}" for noun, names in _tools(rows, system.attempts) if names]
    with_what = f" They used the {' and the '.join(tools)}." if tools else ""
    return [capitalise(f"{several} {'; one who '.join(known)}.{with_what}")]


def _tools(rows: Sequence[Evaluation], attempts: Sequence[int]) -> list[tuple[str, list[str]]]:
    def distinct(label: str) -> list[str]:
        names = [name for i in attempts for name in rows[i].labels.get(label, "").split("+")]
        return [one_line(name) for name in dict.fromkeys(names) if name and name not in ("fusion", "chosen")]

    parts = [("speaker encoders", distinct("encoder")), ("scoring methods", distinct("backend"))]
    return [(noun.removesuffix("s") if len(names) == 1 else noun, names) for noun, names in parts]


def _not_tested(rows: Sequence[Evaluation], finding: Finding) -> str:
    """What the attackers did not try."""
    row = rows[finding.strongest]
    missing = []
    untried = [] if row.about.threat is None or row.about.is_bound else untried_attackers(rows, finding)
    missing += [f"somebody who {ATTACKERS[name].title}" for name in untried]
    if not row.about.is_bound and not trained_encoders(rows, finding):
        missing.append("an attacker who trains a speaker encoder on protected speech")
    if row.recordings is None:
        missing.append("several recordings of one person together")
    if not find_control(rows, finding).rows:
        missing.append("what rooms and microphones give away")
    missing.append("what is said, which may name a person whatever the voice")
    return f"Not tested: {'; '.join(missing)}."

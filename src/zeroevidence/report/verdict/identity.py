"""The verdict on how well people are recognised.

Three rules keep it honest. It rests on the strongest attacker. An attacker who fails proves no privacy: without a
control on unprotected voices nothing follows from the failure, and with one no more than that this attacker failed. And
nothing is claimed that was not computed (a null, an interval, a search).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log2

import numpy as np

from zeroevidence.attack.attackers.attacker import ATTACKERS
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import Chance
from zeroevidence.evaluation.finding.finding import Level
from zeroevidence.evaluation.rows.evaluation import number_or_none
from zeroevidence.evaluation.scores.people import hubs, most_people_above
from zeroevidence.evaluation.scores.recordings import SHOWN
from zeroevidence.measure.pairs.zebra import D_ECE_MAX, tag_odds, tag_of
from zeroevidence.report.verdict.groups import group_labels, group_text
from zeroevidence.report.verdict.learning_curves import rising_sentences
from zeroevidence.report.verdict.phrases import (
    Verdict,
    capitalise,
    caution_sentence,
    chance_sentence,
    limited_value,
    named_share,
    percent,
    removed_share,
    rounded_power,
    unbroken,
    vacuous_limit,
)
from zeroevidence.report.verdict.summary import summary
from zeroevidence.uncertainty.exposure import upper_share_limit
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.level import percent as level_text

_LEVEL = 1.0  # bit

_UNPROTECTED: dict[Level, str] = {
    "recognised": "Unprotected voices are recognised; no protection was measured",
    "leaks": "Unprotected voices give something away; no protection was measured",
    "untested": "Unprotected voices may give something away; chance was not ruled out, and no protection was measured",
}
_PROTECTED: dict[Level, str] = {
    "recognised": "Protected voices are still recognised",
    "leaks": "Protected voices still give something away",
    "untested": "Protected voices may still give something away; chance was not ruled out",
}
_ANY: dict[Level, str] = {
    "recognised": "The voices are recognised",
    "leaks": "The voices give something away",
    "untested": "The voices may give something away; chance was not ruled out",
    "too-few": "Too few people to say how private the voices are",
    "not-found": "No leak was found, which does not prove that there is none",
    "inconclusive": "This test cannot say how private the voices are",
}


def identity_verdict(rows: Sequence[Evaluation], finding: Finding) -> Verdict:
    """Return the verdict on how well people are recognised."""
    row = rows[finding.strongest]
    chance = finding.chance[finding.strongest]
    measured = _searched(rows, finding) if row.is_search else _compared(rows, finding)
    tested = "what is given away on average" if row.is_search else "this"
    sentences = [
        f"{_who(rows, finding)} {measured}",
        chance_sentence(row, chance, tested),
        *_several_recordings(row, chance),
    ]
    sentences += [*_most_exposed(row, finding), *_named_for_everybody(row), *_cautions(rows, finding)]
    named = group_labels(rows, finding)
    others = tuple(
        _short(rows[i], finding.chance[i].beaten, named) for i in finding.by_system if i != finding.strongest
    )
    paragraph = unbroken(" ".join(sentences))
    headline, short = _headline(row, finding.level), summary(rows, finding)
    return Verdict(finding.level, headline, paragraph, tuple(map(unbroken, others)), finding, short)


def _headline(row: Evaluation, level: Level) -> str:
    threat = row.about.threat
    by_level = _ANY
    if row.about.is_bound:
        by_level = _ANY | _UNPROTECTED
    elif threat is not None and "anonymised" in (threat.enrolment, threat.trial):
        by_level = _ANY | _PROTECTED
    return by_level[level]


def _who(rows: Sequence[Evaluation], finding: Finding) -> str:
    """The attacker as the subject of the first sentence."""
    row = rows[finding.strongest]
    attacks = {
        tuple(sorted(other.labels.items()))
        for other in rows
        if other.about.question == "identity" and other.about.role == "attack"
    }
    system, backend = row.labels.get("system"), row.labels.get("backend")
    several = len(attacks) > 1 and not row.about.is_bound
    threat = row.about.threat
    group = group_text(row, group_labels(rows, finding))
    if threat is None and several and system:
        share = _comparable(rows, finding, " ({})")
        return f"Of {len(attacks)} results, {system}{group} gives most away{share}: the attacker behind its scores"
    attacker, details = _attacker(row)
    details += [f"{backend} scores"] if backend else []
    if system and several:
        details += [f"against {system}{group}", *filter(None, [_comparable(rows, finding, "{}")])]
    attacker += f" ({', '.join(details)})" if details else ""
    if several:
        return f"The strongest of {len(attacks)} attacks, {'by ' if threat is not None else ''}{attacker},"
    return capitalise(attacker)


def _comparable(rows: Sequence[Evaluation], finding: Finding, template: str) -> str:
    """How searches through different numbers of people were compared; empty where the numbers are the same."""
    sizes = sorted({rows[i].counts["identities"] for i in finding.by_system if rows[i].is_search})
    if len(sizes) < 2:
        return ""
    return template.format(
        f"by the share of what there is to learn, as the searches are through {sizes[0]} to {sizes[-1]} people"
    )


def _attacker(row: Evaluation) -> tuple[str, list[str]]:
    """The attacker as a noun phrase, and details for the brackets behind it."""
    threat = row.about.threat
    if threat is None:
        return "the attacker behind these scores", []
    if row.about.role == "control":
        return "an attacker on unprotected voices", []
    if row.about.role == "floor":
        return "an attacker who hears noise instead of voices", []
    if threat.name in ATTACKERS:
        adapter = ["adapter network"] if threat.adapter else []
        return f"an attacker who {ATTACKERS[threat.name].title}", [threat.name, *adapter]
    sides = [f"enrolment {threat.enrolment}", f"trained on {threat.trained_on}"]
    if threat.name == "other":  # a threat model without a name
        return "an attacker", sides
    return f"the attacker {threat.name!r}", sides


def _searched(rows: Sequence[Evaluation], finding: Finding) -> str:
    row = rows[finding.strongest]
    people = row.counts["identities"]
    top = limited_value(row, "top1", 1.0)
    plain = None if finding.control is None else rows[finding.control].number("top1")
    against = [f"guessing would do so for {percent(1.0 / people)}"]
    if plain is not None:
        against.append(f"without protection it is {percent(plain)}")
    sentences = [
        f"puts the right name to {named_share(row, finding.level, top)}, choosing among {people} known people; "
        f"{', and '.join(against)}.",
        *vacuous_limit(top),
    ]
    if row.number("alid") is not None:
        sentences.append(f"On average a recording {_bits(row, people)}.")
    return " ".join([*sentences, *_exposed(row, finding)])


def _bits(row: Evaluation, people: int) -> str:
    alid = row.number("alid") or 0.0
    if alid == -inf:
        return "misleads: at least once the attacker ruled out the right person"
    if alid <= -0.005:
        return f"misleads the attacker, by {-alid:.2f} bits"
    least = "at least " if rising_sentences(row) else ""
    of_all = f"of the {log2(people):.2f} that single out one of {people}"
    limited = limited_value(row, "alid", log2(people))
    if limited.bound is None or limited.vacuous or f"{limited.bound:.2f}" == f"{alid:.2f}":
        disclosed, most = f"gives away {least}{alid:.2f} bits {of_all}", alid
    else:
        disclosed = f"gives away at most {limited.bound:.2f} bits ({limited.confidence}; {alid:.2f} measured) {of_all}"
        most = limited.bound
    if most < log2(1.05):
        return f"{disclosed}, next to nothing"
    upto, likely = "up to " if most > alid else "", rounded_power(2.0, most)
    likely = likely if likely.startswith("more") else f"about {likely}"
    return f"{disclosed}: it makes the right person {upto}{likely} times as likely as before"


def _exposed(row: Evaluation, finding: Finding) -> list[str]:
    """Limits on how many people like these are exposed, and on how many have a recording worse than any here."""
    people, highest = row.counts.get("speakers", 0), row.number("lid_max")
    share = most_people_above(row, _LEVEL)
    if people < LEAST_PEOPLE or share is None or finding.chance[finding.strongest].beaten is False:
        return []
    sentences, level = [], level_text(row.setup.level)
    if share < 1.0:
        sentences.append(
            f"With {level} confidence at most {percent(share)} of people like these give away more than one bit on "
            "average, which makes them twice as likely as before."
        )
    if highest is not None and 0.0 < highest < log2(row.counts["identities"]) - 0.005:
        few = percent(float(upper_share_limit(0, people, row.setup.level)))
        sentences.append(
            f"The most telling recording gives away {highest:.2f} bits; with {level} confidence at most {few} of "
            "people have one that gives away more."
        )
    return sentences


def _compared(rows: Sequence[Evaluation], finding: Finding) -> str:
    """One comparison at a time: how much of an attacker's uncertainty it removes."""
    row = rows[finding.strongest]
    eer, worst, supported = (row.number(name) for name in ("eer", "worst_case", "worst_case_supported"))
    without = number_or_none(None if finding.control is None else rows[finding.control], "d_ece")
    removed = limited_value(row, "d_ece", D_ECE_MAX)
    sentences = [
        f"removes {removed_share(removed)} of the "
        "uncertainty about whether two recordings share a speaker, averaged over all prior beliefs"
        + ("" if without is None else f"; without protection it is {percent(without / D_ECE_MAX)}")
        + ".",
        *vacuous_limit(removed),
    ]
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
    return " ".join(sentences)


def _most_exposed(row: Evaluation, finding: Finding) -> list[str]:
    """Who is named most often; somebody always is by chance, so for an attacker no better than chance nobody is."""
    people = row.people
    if people is None or not len(people.speaker) or finding.chance[finding.strongest].beaten is False:
        return []
    everywhere = hubs(people, row.counts["identities"])
    always = sum(share >= 1.0 for share, hub in zip(people.linked, everywhere, strict=True) if not hub)
    if always > 1:
        # Of very many people a result names the most exposed only, so their number is no total.
        least = "At least " if len(people.speaker) < row.counts.get("speakers", 0) else ""
        named = f"all {always}" if always == len(people.speaker) and not least else str(always)
        return [capitalise(f"{least}{named} people are named in every one of their recordings.")]
    if not any(people.linked):
        return ["Nobody is named outright."]
    falsely = people.falsely or (0.0,) * len(people.speaker)
    worst = max(range(len(people.speaker)), key=lambda i: (people.linked[i] - falsely[i], people.alid[i]))
    if people.linked[worst] <= falsely[worst]:
        return ["Nobody is named more often in their own recordings than in those of others."]
    count = people.trials[worst]
    others = f", and falsely in {percent(falsely[worst])} of those of others" if people.falsely is not None else ""
    return [
        f"The most exposed person, {people.speaker[worst]}, is named in {percent(people.linked[worst])} of "
        f"{count} recording{'s' if count != 1 else ''}{others}."
    ]


def _named_for_everybody(row: Evaluation) -> list[str]:
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
    return [
        f"{first} is put to {percent(falsely[worst])} of other people's recordings, which accuses the wrong person, "
        f"and to {rightly}."
    ]


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
    chance = finding.chance[finding.strongest]
    control = None if finding.control is None else finding.chance[finding.control]
    sentences = [*rising_sentences(rows[finding.strongest]), caution_sentence(chance, control)]
    if control is None and chance.beaten is not False:
        sentences.insert(0, "There is no test on unprotected voices to compare with.")
    return sentences


def _short(row: Evaluation, beaten: bool | None, named: Sequence[str]) -> str:
    """One sentence on a further system, or on a further group of people."""
    by = f" ({row.about.threat.name})" if row.about.threat is not None else ""
    system = row.labels.get("system", "unnamed") + group_text(row, named)
    weak = ", no better than chance" if beaten is False else ""
    if row.is_search:
        return (
            f"{system}: its strongest attacker{by} names the right person of {row.counts['identities']} for "
            f"{percent(row.number('top1') or 0.0)} of the recordings and learns {row.number('alid') or 0.0:.2f} bits "
            f"on average{weak}."
        )
    d_ece = row.number("d_ece")
    if d_ece is None:
        return f"{system}: see the table."
    return f"{system}: its strongest attacker{by} removes {percent(d_ece / D_ECE_MAX)} of the uncertainty{weak}."

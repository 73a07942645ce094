"""The finding: who is strongest, what beats chance, what it is compared with. One rule for text, report and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Literal, TypeAlias

from zeroevidence.evaluation.finding.chance import Chance, chances
from zeroevidence.evaluation.finding.choosing import Developed, choose
from zeroevidence.evaluation.finding.weaker import learns_less
from zeroevidence.evaluation.rows.about import Question
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, is_above_half
from zeroevidence.measure.measures import MEASURES, ordering_measures

# recognised, leaks: more than chance; untested: chance was not tested; too-few: people are too few for a test to find
# anything; not-found: not told apart from chance, though the attack works without protection; inconclusive: that it
# would was not shown; described: not about privacy
Level: TypeAlias = Literal["recognised", "leaks", "untested", "too-few", "not-found", "inconclusive", "described"]
# only: there is no other attempt; development: it did best on other people; fused: it fuses several, and none
# did clearly better on other people; development-beyond-chance, fused-beyond-chance: the same, of those that are more
# than chance; evaluated: it learned most of the evaluated people
Choice: TypeAlias = Literal[
    "only", "development", "fused", "development-beyond-chance", "fused-beyond-chance", "evaluated"
]

_SETTING = ("dataset", "split", "sex", "encoder", "backend")
PEOPLE_LABELS = ("dataset", "split", "sex")  # of the people that a row is about
_COMPARISONS_EACH = 4  # of one person; scores of people who are not told apart vary about as much
_OF_CHANCE = ("attacker-at-chance", "control-failed", "too-few-to-test")
_OF_OTHERS = ("no-positive-control", "weaker-than-cheaper")


@dataclass(frozen=True, slots=True)
class Finding:
    """What follows from some rows about one question.

    Parameters
    ----------
    question
        Who somebody is, what somebody is like (then also `attribute`), or whether speech is real.
    level
        How strong the finding is.
    strongest
        Number of the row whose attacker learns most; of an attribute, against the protection that leaves least.
    by_system
        For each protected system, and each group of people that was searched apart, the number of its strongest
        attacker's row.
    control
        Number of the row with the same attack on unprotected speech.
    floor
        Number of the row with the same attack where nothing is to be found.
    chance
        For each row whether it is more than chance, all rows tested together.
    attribute
        The attribute in question.
    pooled
        Number of the row in which all recordings of a person were judged together, against the same system.
    attempts
        Numbers of all rows of the kind of `strongest`: against the same system, on the same people.
    choice
        How `strongest` was chosen among these.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> finding = findings([evaluate([2.0, 3.0], [0.0, 1.0], intervals=0, null=0)])[0]
    >>> finding.question, finding.strongest, finding.chance[0].beaten
    ('identity', 0, None)
    """

    question: Question
    level: Level
    strongest: int
    by_system: tuple[int, ...]
    control: int | None
    floor: int | None
    chance: tuple[Chance, ...]
    attribute: str | None = None
    pooled: int | None = None
    attempts: tuple[int, ...] = ()
    choice: Choice = "only"


def findings(rows: Sequence[Evaluation]) -> list[Finding]:
    """The finding on each question that the rows answer, people before attributes; at least one.

    Beside rows on an attribute, recognising people of the same systems is what should go on working and no threat.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> findings([evaluate([2.0, 3.0], [0.0, 1.0], intervals=0, null=0)])[0].level
    'recognised'
    """
    chance = chances(rows)
    findings = []
    people = _numbered(rows, "identity")
    if people:
        findings.append(_about_people(rows, people, chance))
    for attribute in dict.fromkeys(rows[i].about.attribute for i in _numbered(rows, "attribute")):
        numbers = [i for i in _numbered(rows, "attribute") if rows[i].about.attribute == attribute]
        findings.append(_about_attribute(rows, numbers, chance, attribute))
    return findings or [_about_spoofing(rows, chance)]


def _numbered(rows: Sequence[Evaluation], question: Question) -> list[int]:
    """Numbers of the rows that say how private something is."""
    return [
        i
        for i, row in enumerate(rows)
        if row.about.question == question
        and row.about.role not in ("room", "protocol", "utility", "training")
        and _is_about_privacy(row)
    ]


def _is_about_privacy(row: Evaluation) -> bool:
    return row.is_search or row.number("d_ece") is not None


def _about_people(rows: Sequence[Evaluation], numbers: Sequence[int], chance: tuple[Chance, ...]) -> Finding:
    """Development people choose the attacker of each system; which system gives most away is a result and no choice.

    Groups of people that were searched apart (data sets, women and men) have a strongest attacker each.
    """
    attacks = [i for i in numbers if not rows[i].about.is_bound]
    by_system = tuple(
        strongest(rows, group, chance)
        for numbers in rows_by_system(rows, attacks).values()
        for group in groups_of_people(rows, numbers)
    )
    best = _learns_most(rows, by_system or numbers, chance)
    control, floor = (bound_row(rows, numbers, best, role) for role in ("control", "floor"))
    level = _level(rows[best], chance[best], None if control is None else chance[control])
    attempts = tuple(i for i in (attacks or numbers) if same_attempt(rows[i], rows[best]))
    choice = _choice(rows, attempts, best) if attacks or len(attempts) < 2 else "evaluated"
    return Finding("identity", level, best, by_system, control, floor, chance, attempts=attempts, choice=choice)


def same_attempt(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows attack the same system on the same people, or are the same kind of bound."""
    same_system = row.labels.get("system") == other.labels.get("system")
    return same_system and row.about.role == other.about.role and _same_people(row, other)


def _choice(rows: Sequence[Evaluation], attempts: Sequence[int], best: int) -> Choice:
    """How a row was chosen among the attempts of its kind."""
    if len(attempts) < 2:
        return "only"
    developed = _developed(rows, attempts)
    if developed is None:
        return "evaluated"
    most = max(each.bits for each in developed)
    if best == attempts[choose(developed)]:
        return "development" if rows[best].about.development == most else "fused"
    return "fused-beyond-chance" if rows[best].about.fused else "development-beyond-chance"


def _developed(rows: Sequence[Evaluation], numbers: Sequence[int]) -> list[Developed] | None:
    """What the attackers of rows learned of development people, where all rows say it."""
    abouts = [rows[i].about for i in numbers]
    known = [
        Developed(about.development, about.development_error or 0.0, about.fused)
        for about in abouts
        if about.development is not None
    ]
    return known if len(known) == len(numbers) else None


def _about_attribute(
    rows: Sequence[Evaluation], numbers: Sequence[int], chance: tuple[Chance, ...], attribute: str | None
) -> Finding:
    """Against each protection the chosen classifier counts; the protection that leaves least speaks.

    Classifiers of single recordings count where there are any; those of all recordings of a person come beside them.
    """
    everyone = numbers
    numbers = [i for i in everyone if not rows[i].about.pooled] or everyone
    by_system = {
        name: chosen(rows, numbers_of_system, chance)
        for name, numbers_of_system in rows_by_system(rows, numbers).items()
    }
    protected = [i for i in by_system.values() if rows[i].about.role == "attack"]
    best = min(protected or by_system.values(), key=lambda i: rows[i].number("d_ece") or 0.0)
    plain = [
        i
        for i in numbers
        if rows[i].about.role == "control"
        and rows[i].about.of_class == rows[best].about.of_class
        and rows[i].labels.get("dataset") == rows[best].labels.get("dataset")
    ]
    control = chosen(rows, plain, chance) if plain and rows[best].about.role == "attack" else None
    level = _level(rows[best], chance[best], None if control is None else chance[control])
    alike = [i for i in everyone if _same_target(rows[i], rows[best])]
    if level == "recognised" or any(chance[i].beaten for i in alike):  # what any attacker finds is there
        level = "leaks"
    together = [i for i in alike if rows[i].about.pooled and i not in numbers]
    pooled = chosen(rows, together, chance) if together else None
    attempts = tuple(i for i in numbers if _same_target(rows[i], rows[best]) and _same_class(rows[i], rows[best]))
    choice = _choice(rows, attempts, best)
    return Finding(
        "attribute", level, best, tuple(protected), control, None, chance, attribute, pooled, attempts, choice
    )


def _same_class(row: Evaluation, other: Evaluation) -> bool:
    return row.about.of_class == other.about.of_class and row.about.role == other.about.role


def _same_target(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows attack the same system in the same data."""
    return all(row.labels.get(name) == other.labels.get(name) for name in ("system", "dataset", "split"))


def _about_spoofing(rows: Sequence[Evaluation], chance: tuple[Chance, ...]) -> Finding:
    """All attacks together speak for each system, and the first system for all; anything else is shown, no more."""
    numbers = [i for i, row in enumerate(rows) if row.about.question == "spoofing"]
    by_system = tuple(
        next((i for i in numbers_of_system if rows[i].about.attack in (None, "all")), numbers_of_system[0])
        for numbers_of_system in rows_by_system(rows, numbers).values()
    )
    by_system = by_system or (strongest(rows, range(len(rows)), chance),)
    return Finding("spoofing", "described", by_system[0], by_system, None, None, chance)


def rows_by_system(rows: Sequence[Evaluation], numbers: Sequence[int]) -> dict[str, list[int]]:
    """Numbers of rows by system."""
    systems: dict[str, list[int]] = {}
    for i in numbers:
        systems.setdefault(rows[i].labels.get("system", ""), []).append(i)
    return systems


def groups_of_people(rows: Sequence[Evaluation], numbers: Sequence[int]) -> list[list[int]]:
    """Rows of the same people together."""
    groups: list[list[int]] = []
    for i in numbers:
        group = next((group for group in groups if _same_people(rows[group[0]], rows[i])), None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    return groups


def bound_row(rows: Sequence[Evaluation], numbers: Sequence[int], best: int, role: str) -> int | None:
    """The row of a bound of the same people, by the same encoder and back-end where there is one; none for a bound."""
    if rows[best].about.is_bound:
        return None
    candidates = [i for i in numbers if rows[i].about.role == role and _same_people(rows[i], rows[best])]
    return next((i for i in candidates if same_setting(rows[i], rows[best])), candidates[0] if candidates else None)


def same_setting(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows are of the same data and back-end."""
    return all(row.labels.get(name) == other.labels.get(name) for name in _SETTING)


def _level(row: Evaluation, chance: Chance, control: Chance | None) -> Level:
    if chance.too_few and chance.beaten is not True:
        return "too-few"
    if chance.beaten is False:
        return "not-found" if control is not None and control.beaten else "inconclusive"
    if _often(row, chance):
        return "recognised"
    return "untested" if chance.beaten is None else "leaks"


def _often(row: Evaluation, chance: Chance) -> bool:
    """Whether the attacker is nearer to always being right than to guessing, in names and in bits."""
    if row.is_search:
        top, alid, people = row.number("top1") or 0.0, row.number("alid"), row.counts["identities"]
        enough = alid is None or alid >= 0.5 * log2(people)
        return top >= 0.5 * (1.0 + 1.0 / people) and (enough or chance.beaten is True)
    eer = row.number("eer")
    return eer is not None and eer <= 0.1


def strongest(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Number of the row whose attacker learns most, of those that beat chance where any does.

    Where all rows say what their attacker learned of development people, that decides among these, and the evaluated
    people choose nothing more. Otherwise rows are ordered by the most telling measure that most of them have, bits as a
    share of log2 N, which makes searches through different numbers of people comparable; D_ECE breaks ties.
    """
    above = [i for i in numbers if chance[i].beaten is not False] or numbers
    developed = _developed(rows, numbers)
    if developed is not None:
        candidates = [each for i, each in zip(numbers, developed, strict=True) if i in above]
        return above[choose(candidates)]
    return _learns_most(rows, numbers, chance)


def chosen(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """Number of the row whose attacker development people choose; `strongest` where some row says nothing of these.

    Unlike there, chance among the evaluated people does not count: they choose nothing at all. Of equals it is the
    first.
    """
    developed = _developed(rows, numbers)
    if developed is not None:
        return numbers[choose(developed)]
    return strongest(rows, numbers, chance)


def clearly_stronger(
    rows: Sequence[Evaluation], number: int, others: Sequence[int], measure: str, chance: Sequence[Chance] = ()
) -> int | None:
    """Number of the row that learns most, if clearly more than this one.

    That is where intervals do not overlap, or where only the other is more than chance.
    """
    high = rows[number].metrics[measure].high if measure in rows[number].metrics else None
    at_chance = bool(chance) and chance[number].beaten is False
    better = [
        i
        for i in others
        if (high is not None and (rows[i].metrics[measure].low or 0.0) > high) or (at_chance and chance[i].beaten)
    ]
    return max(better, key=lambda i: rows[i].number(measure) or 0.0) if better else None


def _learns_most(rows: Sequence[Evaluation], numbers: Sequence[int], chance: Sequence[Chance]) -> int:
    """The same by what was learned of the evaluated people."""
    having = {
        measure.name: [i for i in numbers if rows[i].number(measure.name) is not None]
        for measure in ordering_measures()
    }
    name = max(having, key=lambda name: len(having[name]))
    if not having[name]:
        return numbers[0]
    sign = -1.0 if MEASURES[name].discloses == "down" else 1.0

    def strength(i: int) -> tuple[bool, float, float]:
        learned = sign * (rows[i].number(name) or 0.0) / _most(rows[i], name)
        return chance[i].beaten is not False, learned, rows[i].number("d_ece") or 0.0

    return max(having[name], key=strength)


def _most(row: Evaluation, name: str) -> float:
    """What there is to learn: bits of searches through different numbers of people are compared as shares of it."""
    return log2(row.counts["identities"]) if MEASURES[name].high_note == "log2 N" and row.is_search else 1.0


def alone(row: Evaluation) -> Evaluation:
    """A row with the warnings that follow from it alone."""
    flags = [flag for flag in row.flags if flag.code not in _OF_CHANCE]
    eer = row.metrics.get("eer")
    if eer is not None and row.about.role != "floor" and is_above_half(eer, _independent(row)):
        kind = "the class" if row.about.question == "attribute" else "the same speaker"
        flags.insert(0, flag("eer-above-half", measure="EER", kind=kind))
    return replace(row, flags=(*flags, *_chance_flags(row, chances([row])[0])))


def _independent(row: Evaluation) -> int:
    """Number of comparisons that count as independent where there is no interval: a few of each person."""
    fewest = min(row.counts.get(name, 0) for name in ("target", "nontarget"))
    return min(fewest, _COMPARISONS_EACH * row.counts.get("speakers", fewest))


def together(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Rows with the warnings that need all of them: chance, a positive control, attackers by what they know."""
    chance = chances(rows)
    return [
        replace(
            row,
            flags=(
                *(flag for flag in row.flags if flag.code not in (*_OF_CHANCE, *_OF_OTHERS)),
                *_chance_flags(row, chance[i]),
                *_beside(row, [other for other in rows if _same_people(row, other)]),
            ),
        )
        for i, row in enumerate(rows)
    ]


def _chance_flags(row: Evaluation, chance: Chance) -> list[Flag]:
    if chance.too_few and chance.beaten is None:
        return [flag("too-few-to-test", people=row.counts["speakers"])]
    if chance.p_value is None or chance.beaten is not False or row.about.role not in ("attack", "control"):
        return []
    control = row.about.role == "control" and row.about.question == "identity"
    return [flag("attacker-at-chance"), *([flag("control-failed")] if control else [])]


def _same_people(row: Evaluation, other: Evaluation) -> bool:
    return all(row.labels.get(name) == other.labels.get(name) for name in PEOPLE_LABELS)


def _beside(row: Evaluation, other_rows: Sequence[Evaluation]) -> list[Flag]:
    threat = row.about.threat
    beside_attacks = row.about.role in ("room", "protocol")
    if threat is None or not threat.is_named_attacker or row.about.question != "identity" or beside_attacks:
        return []
    flags = []
    if not any(other.about.role == "control" for other in other_rows):
        flags.append(flag("no-positive-control"))
    cheaper: Mapping[str, None] = dict.fromkeys(
        other.about.threat.name
        for other in other_rows
        if other.about.threat is not None
        and other.about.threat.is_named_attacker
        and other.about.role != "protocol"
        and same_setting(other, row)
        and other.about.threat.knowledge < threat.knowledge
        and other.labels.get("system") == row.labels.get("system")
        and learns_less(row, other)
    )
    return [*flags, *(flag("weaker-than-cheaper", cheaper=name) for name in cheaper)]

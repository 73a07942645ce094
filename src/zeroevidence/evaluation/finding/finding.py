"""The finding: which attacker counts, whether it beats chance, and what it is compared with."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal, TypeAlias

from zeroevidence.evaluation.finding.chance import (
    Chance,
    chances,
    choose,
    development_results,
    row_chosen_on_development,
    row_learning_most,
    strongest_row,
)
from zeroevidence.evaluation.rows.about import Question
from zeroevidence.evaluation.rows.evaluation import Evaluation

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

    Where an attribute is hidden, recognising people is utility: such rows are no threat.

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
    """Return the finding on identity: development people choose the attacker of each system, the values the system.

    Groups of people that were searched apart (data sets, women and men) have a strongest attacker each.
    """
    attacks = [i for i in numbers if not rows[i].about.is_bound]
    by_system = tuple(
        strongest_row(rows, group, chance)
        for numbers in rows_by_system(rows, attacks).values()
        for group in groups_of_people(rows, numbers)
    )
    best = row_learning_most(rows, by_system or numbers, chance)
    control, floor = (bound_row(rows, numbers, best, role) for role in ("control", "floor"))
    level = _level(rows[best], chance[best], None if control is None else chance[control])
    attempts = tuple(i for i in (attacks or numbers) if same_attempt(rows[i], rows[best]))
    choice = _choice(rows, attempts, best) if attacks or len(attempts) < 2 else "evaluated"
    return Finding("identity", level, best, by_system, control, floor, chance, attempts=attempts, choice=choice)


def same_attempt(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows attack the same system on the same people, or are the same kind of bound."""
    same_system = row.labels.get("system") == other.labels.get("system")
    return same_system and row.about.role == other.about.role and same_people(row, other)


def _choice(rows: Sequence[Evaluation], attempts: Sequence[int], best: int) -> Choice:
    """How a row was chosen among the attempts of its kind."""
    if len(attempts) < 2:
        return "only"
    results = development_results(rows, attempts)
    if results is None:
        return "evaluated"
    most = max(result.bits for result in results)
    if best == attempts[choose(results)]:
        return "development" if rows[best].about.development == most else "fused"
    return "fused-beyond-chance" if rows[best].about.fused else "development-beyond-chance"


def _about_attribute(
    rows: Sequence[Evaluation], numbers: Sequence[int], chance: tuple[Chance, ...], attribute: str | None
) -> Finding:
    """Return the finding on an attribute, of the protection that leaves least, against its chosen classifier.

    Classifiers of single recordings count where there are any; those of all recordings of a person come beside them.
    """
    everyone = numbers
    numbers = [i for i in everyone if not rows[i].about.pooled] or everyone
    by_system = {
        name: row_chosen_on_development(rows, numbers_of_system, chance)
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
    control = row_chosen_on_development(rows, plain, chance) if plain and rows[best].about.role == "attack" else None
    level = _level(rows[best], chance[best], None if control is None else chance[control])
    alike = [i for i in everyone if _same_target(rows[i], rows[best])]
    if level == "recognised" or any(chance[i].beaten for i in alike):  # what any attacker finds is there
        level = "leaks"
    pooled_rows = [i for i in alike if rows[i].about.pooled and i not in numbers]
    pooled = row_chosen_on_development(rows, pooled_rows, chance) if pooled_rows else None
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
    """Return the finding on spoofing: the first system, described by all attacks together."""
    numbers = [i for i, row in enumerate(rows) if row.about.question == "spoofing"]
    by_system = tuple(
        next((i for i in numbers_of_system if rows[i].about.attack in (None, "all")), numbers_of_system[0])
        for numbers_of_system in rows_by_system(rows, numbers).values()
    )
    by_system = by_system or (strongest_row(rows, range(len(rows)), chance),)
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
        group = next((group for group in groups if same_people(rows[group[0]], rows[i])), None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    return groups


def bound_row(rows: Sequence[Evaluation], numbers: Sequence[int], best: int, role: str) -> int | None:
    """The row of a bound of the same people, by the same encoder and back-end where there is one; none for a bound."""
    if rows[best].about.is_bound:
        return None
    candidates = [i for i in numbers if rows[i].about.role == role and same_people(rows[i], rows[best])]
    return next((i for i in candidates if same_setting(rows[i], rows[best])), candidates[0] if candidates else None)


def same_setting(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows are of the same data and back-end."""
    return all(row.labels.get(name) == other.labels.get(name) for name in _SETTING)


def _level(row: Evaluation, chance: Chance, control: Chance | None) -> Level:
    if chance.too_few and chance.beaten is not True:
        return "too-few"
    if chance.beaten is False:
        return "not-found" if control is not None and control.beaten else "inconclusive"
    if _is_recognised(row, chance):
        return "recognised"
    return "untested" if chance.beaten is None else "leaks"


def _is_recognised(row: Evaluation, chance: Chance) -> bool:
    """Whether the attacker is nearer to always being right than to guessing, by top-1 and by ALID."""
    if row.is_search:
        top, alid, people = row.number("top1") or 0.0, row.number("alid"), row.counts["identities"]
        enough = alid is None or alid >= 0.5 * log2(people)
        return top >= 0.5 * (1.0 + 1.0 / people) and (enough or chance.beaten is True)
    eer = row.number("eer")
    return eer is not None and eer <= 0.1


def same_people(row: Evaluation, other: Evaluation) -> bool:
    """Whether two rows are about the same people."""
    return all(row.labels.get(name) == other.labels.get(name) for name in PEOPLE_LABELS)


FEW_ROWS = 8  # of more, the best attackers of each kind are shown first


@dataclass(frozen=True, slots=True)
class SystemAttackers:
    """The attackers on one system and one group of people, by numbers of rows.

    Parameters
    ----------
    counting
        The attacker that counts.
    best
        The best attacker of each kind (threat model), from the least to the best informed; `counting` is one of them.
    attempts
        All attackers.
    control
        The attack on unprotected speech of the same people.
    floor
        The attack where nothing is to be found.
    """

    counting: int
    best: tuple[int, ...]
    attempts: tuple[int, ...]
    control: int | None
    floor: int | None


def attackers_by_system(rows: Sequence[Evaluation], finding: Finding) -> list[SystemAttackers]:
    """Return the best attackers on each system, the system that the finding is about first.

    Of each kind it is the attacker that `strongest_row` chooses; the one that counts is among them.

    Examples
    --------
    >>> from zeroevidence import evaluate, findings
    >>> rows = [evaluate([2.0, 3.0], [0.0, shift], intervals=0, null=0) for shift in (1.0, 2.5)]
    >>> attackers_by_system(rows, findings(rows)[0])[0].best
    (0,)
    """
    first = [finding.strongest]
    return [_of_system(rows, finding, i) for i in [*first, *(i for i in finding.by_system if i not in first)]]


def further_rows(rows: Sequence[Evaluation], finding: Finding) -> frozenset[int]:
    """Return the numbers of rows that a first look passes over: attempts and bounds beside the best of each kind."""
    if finding.question != "identity":
        return frozenset()
    systems = attackers_by_system(rows, finding)
    first = {i for system in systems for i in (*system.best, system.control, system.floor)}
    roles = ("attack", "control", "floor")
    return frozenset(
        i for i, row in enumerate(rows) if i not in first and row.about.role in roles and row.about.threat is not None
    )


def first_look(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the best attackers of each kind and the bounds where there are more than eight rows, else all rows."""
    if len(rows) <= FEW_ROWS:
        return list(rows)
    further = further_rows(rows, findings(rows)[0])
    return [row for i, row in enumerate(rows) if i not in further]


def _of_system(rows: Sequence[Evaluation], finding: Finding, counting: int) -> SystemAttackers:
    candidates = [i for i, row in enumerate(rows) if row.about.question == finding.question]
    attempts = [i for i in candidates if same_attempt(rows[i], rows[counting])] or [counting]
    kinds: dict[Hashable, list[int]] = {}
    for i in attempts:
        kinds.setdefault(rows[i].about.threat, []).append(i)
    chosen = [counting if counting in kind else strongest_row(rows, kind, finding.chance) for kind in kinds.values()]
    best = sorted(chosen, key=lambda i: _knowledge(rows[i]))
    control, floor = (bound_row(rows, candidates, counting, role) for role in ("control", "floor"))
    return SystemAttackers(counting, tuple(best), tuple(attempts), control, floor)


def _knowledge(row: Evaluation) -> tuple[int, bool]:
    threat = row.about.threat
    return (0, False) if threat is None else (threat.knowledge, threat.adapter)

"""The finding: which attacker counts, whether it beats chance, and what it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from zeroevidence.evaluation.finding.chance import (
    EQUAL_BITS,
    PEOPLE_LABELS,
    Chance,
    Choice,
    bound_row,
    chances,
    choose,
    development_results,
    row_chosen_on_development,
    row_learning_most,
    same_attempt,
    strongest_row,
    with_adjusted,
)
from zeroevidence.evaluation.finding.facts import Finding, Level
from zeroevidence.evaluation.rows.about import Question
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.measure.search.rank import guessing_rate


def findings(rows: Sequence[Evaluation]) -> list[Finding]:
    """The finding on each question that the rows answer, people before attributes; at least one.

    Where an attribute is hidden, recognising people is utility: such rows are no threat.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> findings([evaluate([2.0, 3.0], [0.0, 1.0], options=Options(intervals=0, null=0))])[0].level
    'recognised'
    """
    rows = tuple(with_adjusted(rows))
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
        and (row.is_search or row.number("d_ece") is not None)
    ]


def _about_people(rows: tuple[Evaluation, ...], numbers: Sequence[int], chance: tuple[Chance, ...]) -> Finding:
    """Return the finding on identity: development people choose the attacker of each system, the values the system.

    Groups of people that were searched apart (data sets, women and men) have a strongest attacker each.
    """
    attacks = [i for i in numbers if not rows[i].about.is_bound]
    by_system = tuple(
        strongest_row(rows, group, chance)
        for on_system in _grouped(rows, attacks, "system")
        for group in _grouped(rows, on_system, *PEOPLE_LABELS)
    )
    best = row_learning_most(rows, by_system or numbers, chance)
    control, floor = (bound_row(rows, numbers, best, role) for role in ("control", "floor"))
    level = _level(rows[best], chance[best], None if control is None else chance[control])
    attempts = tuple(i for i in (attacks or numbers) if same_attempt(rows[i], rows[best]))
    choice = _choice(rows, attempts, best) if attacks or len(attempts) < 2 else "evaluated"
    return Finding(rows, "identity", level, best, by_system, control, floor, chance, attempts=attempts, choice=choice)


def _choice(rows: Sequence[Evaluation], attempts: Sequence[int], best: int) -> Choice:
    """How a row was chosen among the attempts of its kind."""
    if len(attempts) < 2:
        return "only"
    results = development_results(rows, attempts)
    if results is None:
        return "evaluated"
    most = max(result.bits for result in results)
    if best == attempts[choose(results)]:
        return "fused" if (rows[best].about.development or 0.0) < most - EQUAL_BITS else "development"
    return "fused-beyond-chance" if rows[best].about.fused else "development-beyond-chance"


def _about_attribute(
    rows: tuple[Evaluation, ...], numbers: Sequence[int], chance: tuple[Chance, ...], attribute: str | None
) -> Finding:
    """Return the finding on an attribute, of the protection that leaves least, against its chosen classifier.

    Classifiers of single recordings count where there are any; those of all recordings of a person come beside them.
    """
    everyone = numbers
    numbers = [i for i in everyone if not rows[i].about.pooled] or everyone
    by_system = [row_chosen_on_development(rows, group, chance) for group in _grouped(rows, numbers, "system")]
    protected = [i for i in by_system if rows[i].about.role == "attack"]
    best = min(protected or by_system, key=lambda i: rows[i].number("d_ece") or 0.0)
    plain = [
        i
        for i in numbers
        if rows[i].about.role == "control"
        and rows[i].about.of_class == rows[best].about.of_class
        and rows[i].labels.get("dataset") == rows[best].labels.get("dataset")
    ]
    control = row_chosen_on_development(rows, plain, chance) if plain and rows[best].about.role == "attack" else None
    level = _level(rows[best], chance[best], None if control is None else chance[control])
    alike = next(group for group in _grouped(rows, everyone, "system", "dataset", "split") if best in group)
    if level == "recognised" or any(chance[i].beaten for i in alike):  # what any attacker finds is there
        level = "leaks"
    pooled_rows = [i for i in alike if rows[i].about.pooled and i not in numbers]
    pooled = row_chosen_on_development(rows, pooled_rows, chance) if pooled_rows else None
    attempts = tuple(
        i
        for i in alike
        if i in numbers
        and rows[i].about.of_class == rows[best].about.of_class
        and rows[i].about.role == rows[best].about.role
    )
    choice = _choice(rows, attempts, best)
    return Finding(
        rows, "attribute", level, best, tuple(protected), control, None, chance, attribute, pooled, attempts, choice
    )


def _about_spoofing(rows: tuple[Evaluation, ...], chance: tuple[Chance, ...]) -> Finding:
    """Return the finding on spoofing: the first system, described by all attacks together."""
    numbers = [i for i, row in enumerate(rows) if row.about.question == "spoofing"]
    by_system = tuple(
        next((i for i in group if rows[i].about.attack in (None, "all")), group[0])
        for group in _grouped(rows, numbers, "system")
    )
    by_system = by_system or (strongest_row(rows, range(len(rows)), chance),)
    return Finding(rows, "spoofing", "described", by_system[0], by_system, None, None, chance)


def _grouped(rows: Sequence[Evaluation], numbers: Sequence[int], *labels: str) -> list[list[int]]:
    """Numbers of rows that have some labels in common."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in numbers:
        groups.setdefault(tuple(rows[i].labels.get(name, "") for name in labels), []).append(i)
    return list(groups.values())


def _level(row: Evaluation, chance: Chance, control: Chance | None) -> Level:
    if chance.too_few and chance.beaten is not True:
        return "too-few"
    if chance.beaten is False:
        if control is None or not control.beaten:
            return "inconclusive"
        return "too-few" if _may_be_recognised(row) else "not-found"
    if _is_recognised(row, chance):
        return "recognised"
    return "untested" if chance.beaten is None else "leaks"


def _may_be_recognised(row: Evaluation) -> bool:
    """Whether people are too few to tell an attacker from guessing, and from one who is nearer to always being right.

    Where single people are named, they are the answer.
    """
    high = row.metrics["top1"].high if row.is_search else None
    return high is not None and high >= 0.5 * (1.0 + guessing_rate(row.counts)) and not row.number("people_named")


def _is_recognised(row: Evaluation, chance: Chance) -> bool:
    """Whether the attacker is nearer to always being right than to guessing, by top-1 and by ALID."""
    if row.is_search:
        top, alid = row.number("top1") or 0.0, row.number("alid")
        enough = alid is None or alid >= 0.5 * log2(row.counts["identities"])
        return top >= 0.5 * (1.0 + guessing_rate(row.counts)) and (
            enough if chance.beaten is None else "top1" in chance.measures
        )
    eer = row.number("eer")
    return eer is not None and eer <= 0.1


def first_look(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Return the best attackers of each kind and the bounds where there are many rows, else all rows."""
    finding = findings(rows)[0]
    return [row for i, row in enumerate(rows) if i not in finding.further]

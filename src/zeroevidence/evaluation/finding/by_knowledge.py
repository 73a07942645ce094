"""The best attacker of each kind on each system: what a first look at many rows shows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from zeroevidence.evaluation.finding.choosing import strongest_row
from zeroevidence.evaluation.finding.finding import Finding, bound_row, findings, same_attempt
from zeroevidence.evaluation.rows.evaluation import Evaluation

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

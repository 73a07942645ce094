"""Audits of the same speech compared trial by trial, each system against its attacker that counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.formats.attack_scores import AttackScores, read_attack_scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.comparing.comparison import COUNTING, Comparison, compare_group
from zeroevidence.evaluation.comparing.matching import ComparedGroup
from zeroevidence.evaluation.finding.by_knowledge import SystemAttackers, attackers_by_system
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.reading.results import read_results
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.uncertainty.resampling.draws import Progress

AUDIT_MEASURES = ("alid", "top1", "eer")


@dataclass(frozen=True, slots=True)
class _AuditedSystem:
    """One audit: its rows, the scores behind each, and which attackers are best."""

    name: str
    folder: str
    rows: list[Evaluation]
    scores: list[AttackScores]
    attackers: SystemAttackers

    def best_of(self, kind: str) -> int | None:
        """The row of the best attacker of a kind, or of the attacker that counts."""
        if kind == COUNTING:
            return self.attackers.counting
        kinds = {threat.name: i for i in self.attackers.best if (threat := self.rows[i].about.threat) is not None}
        return kinds.get(kind)


def compare_audits(
    folders: Sequence[str | Path],
    systems: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
) -> list[Comparison]:
    """Compare audits of the same trials by the scores that they keep, paired.

    First come the attackers that count, which may differ between systems; then the best attackers of each kind that
    every audit has.

    Parameters
    ----------
    folders
        Folders that `audit` wrote.
    systems
        A name for each.
    measures
        As in `compare`; ALID, top-1 and the EER unless given.
    options
        As in `evaluate`.
    workers
        Processes for the resampling.
    progress
        Given the number of an evaluation, what to call with the replicates done and wanted.
    """
    if len(folders) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(folders)}")
    audits = [_read_audit(str(folder), name) for folder, name in zip(folders, systems, strict=True)]
    how = replace(options or Options(), null=0)
    evaluated: dict[tuple[int, int], Evaluation] = {}

    def row_of(place: int, number: int) -> Evaluation:
        if (place, number) not in evaluated:
            audit = audits[place]
            attack = audit.scores[number]
            with naming_file(audit.folder):
                evaluated[place, number] = evaluate(
                    attack.scores,
                    dev=attack.dev,
                    labels={"system": audit.name},
                    about=audit.rows[number].about,
                    options=how,
                    workers=workers,
                    progress=progress(len(evaluated)),
                )
        return evaluated[place, number]

    comparisons = []
    for kind, numbers in _groups(audits):
        rows = [row_of(place, number) for place, number in enumerate(numbers)]
        group = ComparedGroup(tuple(range(len(audits))), tuple(systems), {"attacker": kind})
        comparisons += compare_group(group, rows, measures or AUDIT_MEASURES)
    return comparisons


def _read_audit(folder: str, name: str) -> _AuditedSystem:
    rows = [row for row in read_results(folder) if row.about.role != "utility"]
    scores = read_attack_scores(folder)
    if len(scores) != len(rows):
        raise InputError(f"scores of {len(scores)} attackers, and {len(rows)} in the result", path=folder)
    finding = findings(rows)[0]
    return _AuditedSystem(name, folder, rows, scores, attackers_by_system(rows, finding)[0])


def _groups(audits: Sequence[_AuditedSystem]) -> list[tuple[str, tuple[int, ...]]]:
    """Which rows are compared: the attackers that count, and the best of each kind where these are others."""
    kinds = [threat.name for i in audits[0].attackers.best if (threat := audits[0].rows[i].about.threat) is not None]
    groups: dict[tuple[int, ...], str] = {}
    for kind in (COUNTING, *dict.fromkeys(kinds)):
        numbers = [audit.best_of(kind) for audit in audits]
        known = tuple(number for number in numbers if number is not None)
        if len(known) == len(audits):
            groups.setdefault(known, kind)
    return [(kind, numbers) for numbers, kind in groups.items()]

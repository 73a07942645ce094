"""Several systems in files of their own: scores, audits and searches, compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path

from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.attack_scores import AttackScores, has_attack_scores, has_trials, read_attack_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import comparison
from zeroevidence.evaluation.comparable import ComparedGroup, check_same_trials, matched
from zeroevidence.evaluation.comparison import Comparison, compare
from zeroevidence.evaluation.finding.facts import SystemAttackers
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.results import read_results, read_search
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.score_files import ScoreFile
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.measure.measures import MEASURES
from zeroevidence.run import Each, Run

AUDIT_MEASURES = ("alid", "top1", "eer")


@dataclass(frozen=True, slots=True)
class _AuditedSystem:
    """One audit: its rows, the scores behind each where they are kept, and which attackers are best."""

    name: str
    folder: str
    rows: list[Evaluation]
    scores: list[AttackScores] | None
    attackers: SystemAttackers

    @property
    def best(self) -> dict[str, int]:
        """The row of the attacker that counts, and of the best attacker of each kind."""
        kinds = {threat.name: i for i in self.attackers.best if (threat := self.rows[i].about.threat) is not None}
        return {comparison.COUNTING: self.attackers.counting, **kinds}


def compare_audits(
    folders: Sequence[str | Path],
    systems: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    options: Options = Options(),
    run: Run = Run(),
) -> list[Comparison]:
    """Compare audits of the same trials by the scores that they keep, paired; by their intervals where one keeps none.

    First come the attackers that count, which may differ between systems; then the best attackers of each kind that
    every audit has.

    Parameters
    ----------
    folders
        Folders that `audit` wrote, or their results.
    systems
        A name for each.
    measures
        As in `compare`; ALID, top-1 and the EER unless given.
    options
        As in `evaluate`.
    run
        As in `evaluate`.
    """
    if len(folders) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(folders)}")
    keep_scores = all(map(has_attack_scores, folders))
    audits = [_read_audit(str(folder), name, keep_scores) for folder, name in zip(folders, systems, strict=True)]
    options = replace(options, null=0)
    titles = (f"attacker {number}" for number in count(1))

    @cache
    def row_of(place: int, number: int) -> Evaluation:
        audit, row = audits[place], audits[place].rows[number]
        labels, about, titled = {"system": audit.name}, row.about, run.titled(next(titles))
        if audit.scores is None:
            return replace(row, labels=labels)
        attack = audit.scores[number]
        with naming_file(audit.folder):
            return evaluate(attack.scores, dev=attack.dev, labels=labels, about=about, options=options, run=titled)

    comparisons = []
    for kind, numbers in _groups(audits):
        rows = [row_of(place, number) for place, number in enumerate(numbers)]
        group = ComparedGroup(tuple(range(len(audits))), tuple(systems), {"attacker": kind})
        comparisons += comparison.compare_group(group, rows, measures or AUDIT_MEASURES)
    return comparisons


def _read_audit(folder: str, name: str, keep_scores: bool) -> _AuditedSystem:
    rows = [row for row in read_results(folder) if row.about.role != "utility"]
    scores = read_attack_scores(folder) if keep_scores else None
    if scores is not None and len(scores) != len(rows):
        raise InputError(f"scores of {len(scores)} attackers, and {len(rows)} in the result", path=folder)
    return _AuditedSystem(name, folder, rows, scores, findings(rows)[0].systems[0])


def _is_audit(rows: Sequence[Evaluation]) -> bool:
    """Whether these are the rows of an audit: no other result has an attack on speech where nothing is to be found."""
    return any(row.about.role == "floor" and row.about.threat is not None for row in rows)


def _groups(audits: Sequence[_AuditedSystem]) -> list[tuple[str, tuple[int, ...]]]:
    """Which rows are compared: the attackers that count, and the best of each kind where these are others."""
    groups: dict[tuple[int, ...], str] = {}
    for kind in audits[0].best:
        rows = tuple(audit.best[kind] for audit in audits if kind in audit.best)
        if len(rows) == len(audits):
            groups.setdefault(rows, kind)
    return [(kind, numbers) for numbers, kind in groups.items()]


def compare_files(
    files: Sequence[ScoreFile],
    reading: ReadingOptions = ReadingOptions(),
    *,
    measures: Sequence[str] | None = None,
    options: Options = Options(),
    run: Run = Run(),
    each: Each = map,
) -> list[Comparison]:
    """Evaluate score files of the same trials and compare them; other trials are refused before any is evaluated.

    Files of several data sets, groups of people or attackers, as a challenge's folders hold them, are compared group by
    group.

    Parameters
    ----------
    files
        As `score_files` finds them.
    reading
        How to read them.
    measures
        As in `compare`.
    options
        As in `evaluate`; a null is not needed.
    run
        As in `evaluate`.
    each
        Applies a function to every file, as in `evaluate_files`.
    """
    if len(files) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(files)}")
    for name in measures or ():
        MEASURES.find(name)
    groups = matched([file.labels for file in files], [file.about for file in files], [file.source for file in files])
    files = [files[place] for group in groups for place in group.places]
    loaded: list[LoadedScores] = list(each(lambda file: file.read(reading), files))
    scores = [scores.data.to_scores() for scores in loaded]
    start = 0
    for group in groups:
        group_places = range(start, start := start + len(group.places))
        check_same_trials([(files[i].scores, scores[i]) for i in group_places])

    def evaluated(number: int) -> Evaluation:
        titled = run.titled(f"{number + 1}/{len(files)}")
        return files[number].evaluate(loaded[number], reading, options, titled, resampled=measures or comparison.USUAL)

    rows = list(each(evaluated, range(len(files))))
    return compare(rows, measures, sources=[file.source for file in files])


def compare_results(
    paths: Sequence[str | Path],
    systems: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    options: Options = Options(),
    run: Run = Run(),
) -> list[Comparison]:
    """Compare finished results: searches of `link` and audits by their trials where these are kept, else by intervals.

    Parameters
    ----------
    paths
        Files and folders of results.
    systems
        A name for each.
    measures
        As in `compare`.
    options
        As in `evaluate`.
    run
        As in `evaluate`.
    """
    for name in measures or ():
        MEASURES.find(name)
    if len(systems) != len(paths):
        raise UsageError(f"expected one name for each of the {len(paths)} systems, got {len(systems)}")
    results = [] if all(map(has_attack_scores, paths)) else [read_results(path) for path in paths]
    if all(map(_is_audit, results)):
        return compare_audits(paths, systems, measures=measures, options=options, run=run)
    if all(len(rows) == 1 and has_trials(path) for path, rows in zip(paths, results, strict=True)):
        searches = [read_search(path, options, run, system=name) for path, name in zip(paths, systems, strict=True)]
        return compare(searches, measures)
    rows = [row for file_rows in results for row in file_rows]
    sources = [name for name, file_rows in zip(systems, results, strict=True) for _ in file_rows]
    return compare(rows, measures, sources=sources)

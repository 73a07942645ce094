"""Several systems in files of their own: scores, several trainings of each, audits and searches, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, count, takewhile
from pathlib import Path

import numpy as np

from zeroevidence.data.files import naming_file
from zeroevidence.data.formats.attack_scores import AttackScores, has_attack_scores, has_trials, read_attack_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import comparison
from zeroevidence.evaluation.comparable import ComparedGroup, check_same_trials, matched
from zeroevidence.evaluation.comparison import Comparison, Family, PairwiseDifference, RankedSystem, Sources, compare
from zeroevidence.evaluation.finding.facts import SystemAttackers
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.results import read_results, read_search
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult, SampledPeople, with_limits
from zeroevidence.evaluation.rows.setup import Options, joint_signature
from zeroevidence.evaluation.score_files import ScoreFile, distinct_names
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.measure.measures import MEASURES
from zeroevidence.run import Each, Run
from zeroevidence.uncertainty.compare import Difference, SpreadSources, TrainingRuns, is_rounding, training_spread
from zeroevidence.uncertainty.level import LEAST_PEOPLE

AUDIT_MEASURES = ("alid", "top1", "eer")


def compare_runs(
    results: Sequence[Evaluation],
    systems: Sequence[str],
    measures: Sequence[str] | None = None,
    *,
    family: Family = "measure",
) -> list[Comparison]:
    """Compare systems that were trained several times, by the means over their trainings.

    Intervals have the spread of other people and that of other trainings, and say how much of either.

    Parameters
    ----------
    results
        Evaluations with intervals, one for each training, on the same trials with the same options and seed. Rows about
        several data sets, groups of people or attackers are compared group by group.
    systems
        The system that each is a training of.
    measures
        As in `compare`.
    family
        As in `compare`.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import ScoreMatrix, evaluate
    >>> mated = np.arange(48) % 12
    >>> def trained(seed, strength):
    ...     scores = np.random.default_rng(seed).normal(size=(48, 12)) + strength * np.eye(12)[mated]
    ...     return evaluate(ScoreMatrix(scores, mated), options=Options(intervals=12, null=0))
    >>> runs = [trained(seed, strength) for strength in (1.0, 3.0) for seed in (0, 1)]
    >>> (comparison,) = compare_runs(runs, ["a", "a", "b", "b"], ["eer"])
    >>> [(system.system, system.runs) for system in comparison.ranking]
    [('a', 2), ('b', 2)]
    """
    if len(systems) != len(results):
        raise UsageError(f"expected one system for each of the {len(results)} results, got {len(systems)}")
    names = list(dict.fromkeys(systems))
    if len(names) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(names)}")
    comparisons = []
    for group in matched([row.labels for row in results], [row.about for row in results], [""] * len(results)):
        trained = {name: [results[i] for i in group.places if systems[i] == name] for name in names}
        few = next((name for name, rows in trained.items() if len(rows) < 2), None)
        if few is not None:
            raise UsageError(f"{few} has {len(trained[few])} training(s); expected at least two of every system")
        comparisons += _within(trained, group.labels, measures)
    return comparison.correct(comparisons, family)


def runs_systems(scores: Sequence[str], sizes: Sequence[int], systems: Sequence[str] = ()) -> dict[str, str]:
    """The system of each file, by the name that `score_files` gives it as its source.

    Parameters
    ----------
    scores
        Files of the trainings, those of one system after the other.
    sizes
        Number of trainings of each system.
    systems
        A name for each system; what the names of its files begin with, or their first, unless given.

    Examples
    --------
    >>> runs_systems(["a1.scores", "a2.scores", "b1.scores", "b2.scores"], [2, 2])
    {'a1': 'a', 'a2': 'a', 'b1': 'b', 'b2': 'b'}
    """
    if sum(sizes) != len(scores):
        raise UsageError("SCORES and --runs do not go together; expected every score file after a --runs")
    if systems and len(systems) != len(sizes):
        raise UsageError(f"expected one name for each of the {len(sizes)} systems, got {len(systems)}")
    titles, systems_of_files, start = distinct_names(scores), dict[str, str](), 0
    for place, size in enumerate(sizes):
        titles_of_system = titles[start : start + size]
        name = systems[place] if systems else _beginning(titles_of_system) or titles_of_system[0]
        if name in systems_of_files.values():
            name = f"{name} ({place + 1})"
        systems_of_files |= dict.fromkeys(titles_of_system, name)
        start += size
    if len(systems_of_files) != len(scores):
        raise UsageError("a file is given twice; expected each training once")
    return systems_of_files


def _beginning(names: Sequence[str]) -> str:
    """What names have in common at their beginning, without what separates it from the rest."""
    letters = takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    return "".join(column[0] for column in letters).rstrip("-_./ ")


def _within(
    trained: Mapping[str, Sequence[Evaluation]], labels: Mapping[str, str], measures: Sequence[str] | None
) -> list[Comparison]:
    rows = [row for system_rows in trained.values() for row in system_rows]
    named = [f"{name}, training {n}" for name, system_rows in trained.items() for n in range(1, len(system_rows) + 1)]
    drawn = comparison.paired_replicates(rows, named)
    chosen = measures or comparison.usual_measures([set(replicates.left_out) for replicates in drawn])
    comparisons = (_compared(trained, labels, name, drawn[0].people.get(name)) for name in chosen)
    return comparison.with_training(comparisons, rows)


def _compared(
    trained: Mapping[str, Sequence[Evaluation]], labels: Mapping[str, str], name: str, people: SampledPeople | None
) -> Comparison:
    MEASURES.find(name)
    if people is None:
        raise UsageError(f"{name} is not a measure that can be compared")
    level = next(iter(trained.values()))[0].setup.level
    runs = {system: _runs(rows, name, system) for system, rows in trained.items()}
    pairs = [_pair(first, second, runs, people, level) for first, second in combinations(trained, 2)]
    sizes = "+".join(str(len(rows)) for rows in trained.values())
    signatures = [row.signature for rows in trained.values() for row in rows]
    signature = joint_signature(signatures, f"compare:{name}", "holm", f"runs:{sizes}")
    placed = [_placed(system, rows, runs[system], name, people) for system, rows in trained.items()]
    return comparison.ranked(name, placed, pairs, signature=signature, labels=labels, level=level)


def _runs(rows: Sequence[Evaluation], name: str, system: str) -> TrainingRuns:
    metrics = [comparison.value_of(row, name, system) for row in rows]
    drawn = [row.replicates for row in rows if row.replicates is not None and name in row.replicates.left_out]
    if len(drawn) < len(rows):
        raise UsageError(f"{name} is not a measure that can be compared")
    rivalries = [replicates.rivalries[name] for replicates in drawn if name in replicates.rivalries]
    return TrainingRuns(
        np.array([float(result) for result in metrics]),
        np.stack([replicates.left_out[name] for replicates in drawn]),
        np.mean(rivalries, axis=0) if len(rivalries) == len(drawn) else None,
    )


def _sources(spread: SpreadSources | None) -> Sources | None:
    return None if spread is None else Sources(spread.people.error, spread.trainings.error)


def _corrected(rows: Sequence[Evaluation], name: str) -> float | None:
    """The mean over trainings of the values corrected for few people; None where they are not corrected."""
    values = [row.replicates.corrected(name, float(row[name])) for row in rows if row.replicates is not None]
    corrected = [value for value in values if value is not None]
    return float(np.mean(corrected)) if len(corrected) == len(rows) else None


def _placed(
    system: str, rows: Sequence[Evaluation], runs: TrainingRuns, name: str, people: SampledPeople
) -> RankedSystem:
    """The mean of one system, within the range of the measure."""
    mean = MeasureResult.of(name, runs.mean)
    changes = [row.replicates.unseen.get(name, ()) for row in rows if row.replicates is not None]
    spread = None
    if people.clusters >= LEAST_PEOPLE:
        spread = training_spread([runs], people.shares, people.effective, np.mean(changes, axis=0).tolist())
    if spread is None:
        return RankedSystem(system, runs.mean, None, None, 0, len(rows))
    level = rows[0].setup.level
    result = with_limits(mean, name, spread.both, level, centre=_corrected(rows, name), most_bits=people.most_bits)
    return RankedSystem(system, runs.mean, result.low, result.high, 0, len(rows), _sources(spread))


def _pair(
    first: str, second: str, runs: Mapping[str, TrainingRuns], people: SampledPeople, level: float
) -> PairwiseDifference:
    value = runs[first].mean - runs[second].mean
    spread = training_spread([runs[first], runs[second]], people.shares, people.effective)
    alike = is_rounding(value, runs[first].mean, runs[second].mean)
    difference = Difference.from_spread(value, None if spread is None else spread.both, level, alike=alike)
    return PairwiseDifference(first, second, difference, difference.p_value, _sources(spread))


@dataclass(frozen=True, slots=True)
class _AuditedSystem:
    """One audit: its rows, the scores behind each, and which attackers are best."""

    name: str
    folder: str
    rows: list[Evaluation]
    scores: list[AttackScores]
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
    run
        As in `evaluate`.
    """
    if len(folders) < 2:
        raise UsageError(f"expected at least two systems to compare, got {len(folders)}")
    audits = [_read_audit(str(folder), name) for folder, name in zip(folders, systems, strict=True)]
    options = replace(options, null=0)
    titles = (f"attacker {number}" for number in count(1))

    @cache
    def row_of(place: int, number: int) -> Evaluation:
        audit, attack = audits[place], audits[place].scores[number]
        labels, about, titled = {"system": audit.name}, audit.rows[number].about, run.titled(next(titles))
        with naming_file(audit.folder):
            return evaluate(attack.scores, dev=attack.dev, labels=labels, about=about, options=options, run=titled)

    comparisons = []
    for kind, numbers in _groups(audits):
        rows = [row_of(place, number) for place, number in enumerate(numbers)]
        group = ComparedGroup(tuple(range(len(audits))), tuple(systems), {"attacker": kind})
        comparisons += comparison.compare_group(group, rows, measures or AUDIT_MEASURES)
    return comparisons


def _read_audit(folder: str, name: str) -> _AuditedSystem:
    rows = [row for row in read_results(folder) if row.about.role != "utility"]
    scores = read_attack_scores(folder)
    if len(scores) != len(rows):
        raise InputError(f"scores of {len(scores)} attackers, and {len(rows)} in the result", path=folder)
    return _AuditedSystem(name, folder, rows, scores, findings(rows)[0].systems[0])


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
    systems: Mapping[str, str] | None = None,
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
    systems
        The system that each `ScoreFile.source` is a training of, where systems were trained several times; they are
        then compared by their means.
    measures
        As in `compare`.
    options
        As in `evaluate`; a null is not needed.
    run
        As in `evaluate`.
    each
        Applies a function to every file, as in `evaluate_files`.
    """
    number = len(files) if systems is None else len(set(systems.values()))
    if number < 2:
        raise UsageError(f"expected at least two systems to compare, got {number}")
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
    sources = [file.source for file in files]
    if systems is not None:
        return compare_runs(rows, [systems[source] for source in sources], measures)
    return compare(rows, measures, sources=sources)


def compare_results(
    paths: Sequence[str | Path],
    systems: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    options: Options = Options(),
    run: Run = Run(),
) -> list[Comparison]:
    """Compare finished results: audits by their scores, searches of `link` by their trials, others by their intervals.

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
    if all(map(has_attack_scores, paths)):
        return compare_audits(paths, systems, measures=measures, options=options, run=run)
    results = [read_results(path) for path in paths]
    if all(len(rows) == 1 and has_trials(path) for path, rows in zip(paths, results, strict=True)):
        searches = [read_search(path, options, run, system=name) for path, name in zip(paths, systems, strict=True)]
        return compare(searches, measures)
    rows = [row for file_rows in results for row in file_rows]
    sources = [name for name, file_rows in zip(systems, results, strict=True) for _ in file_rows]
    return compare(rows, measures, sources=sources)

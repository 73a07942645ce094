"""Several systems, each in files of its own, compared on the trials that they have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zeroevidence.data.formats.attack_scores import has_attack_scores
from zeroevidence.data.formats.linked_trials import has_trials
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.comparing.audits import compare_audits
from zeroevidence.evaluation.comparing.comparison import USUAL, Comparison, compare
from zeroevidence.evaluation.comparing.matching import matched
from zeroevidence.evaluation.comparing.runs import compare_runs
from zeroevidence.evaluation.comparing.same_trials import check_same_trials
from zeroevidence.evaluation.reading.linked import read_search
from zeroevidence.evaluation.reading.results import read_results
from zeroevidence.evaluation.reading.score_files import Reading, ScoreFile
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.forking import Each
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.resampling.draws import Progress


def compare_files(
    files: Sequence[ScoreFile],
    reading: Reading | None = None,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
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
    workers
        Processes for the resampling.
    progress
        Given the number of a file, what to call with the replicates done and wanted.
    each
        Applies a function to every file, as in `evaluate_files`.
    """
    _check(len(files), measures)
    rows, places = _evaluated(files, reading or Reading(), measures, options, workers, progress, each)
    return compare(rows, measures, sources=[files[place].source for place in places])


def compare_runs_of_files(
    files: Sequence[ScoreFile],
    systems: Mapping[str, str],
    reading: Reading | None = None,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
    each: Each = map,
) -> list[Comparison]:
    """Evaluate score files of several trainings of each system, and compare the systems by the means over trainings.

    Parameters
    ----------
    files
        As `score_files` finds them, on the same trials.
    systems
        The system that each `ScoreFile.source` is a training of.
    reading
        How to read the files.
    measures
        As in `compare`.
    options
        As in `evaluate`.
    workers
        Processes for the resampling.
    progress
        As in `compare_files`.
    each
        As in `compare_files`.
    """
    _check(len(set(systems.values())), measures)
    rows, places = _evaluated(files, reading or Reading(), measures, options, workers, progress, each)
    return compare_runs(rows, [systems[files[place].source] for place in places], measures)


def _evaluated(
    files: Sequence[ScoreFile],
    how: Reading,
    measures: Sequence[str] | None,
    options: Options | None,
    workers: int,
    progress: Callable[[int], Progress | None],
    each: Each,
) -> tuple[list[Evaluation], list[int]]:
    """Files that can be compared, evaluated, and their places; other trials are refused before any is evaluated."""
    groups = matched([file.labels for file in files], [file.about for file in files], [file.source for file in files])
    places = [place for group in groups for place in group.places]
    files = [files[place] for place in places]
    loaded: list[LoadedScores] = list(each(how.read, files))
    scores = [scores.data.to_scores() if isinstance(scores.data, ScoreMatrix) else scores.data for scores in loaded]
    start = 0
    for group in groups:
        group_places = range(start, start := start + len(group.places))
        check_same_trials([(files[i].scores, scores[i]) for i in group_places])

    def evaluated(number: int) -> Evaluation:
        file = files[number]
        return evaluate(
            loaded[number],
            dev=None if file.dev is None else how.read(file.dev),
            calibrate=None if file.calibrate is None else how.read(file.calibrate),
            labels=file.labels,
            about=file.about,
            options=options,
            workers=workers,
            progress=progress(number),
            resampled=measures or USUAL,
        )

    return list(each(evaluated, range(len(files)))), places


def compare_results(
    paths: Sequence[str | Path],
    systems: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
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
    workers
        Processes for the resampling.
    progress
        As in `compare_files`.
    """
    for name in measures or ():
        MEASURES.find(name)
    if len(systems) != len(paths):
        raise UsageError(f"expected one name for each of the {len(paths)} systems, got {len(systems)}")
    how = options or Options()
    if all(map(has_attack_scores, paths)):
        return compare_audits(paths, systems, measures=measures, options=how, workers=workers, progress=progress)
    results = [read_results(path) for path in paths]
    if all(len(rows) == 1 and has_trials(path) for path, rows in zip(paths, results, strict=True)):
        searches = [read_search(path, how, system=name) for path, name in zip(paths, systems, strict=True)]
        return compare(searches, measures)
    rows = [row for rows_of_file in results for row in rows_of_file]
    return compare(
        rows,
        measures,
        sources=[name for name, rows_of_file in zip(systems, results, strict=True) for _ in rows_of_file],
    )


def _check(systems: int, measures: Sequence[str] | None) -> None:
    """Refuse what cannot be compared before anything is read."""
    if systems < 2:
        raise UsageError(f"expected at least two systems to compare, got {systems}")
    for name in measures or ():
        MEASURES.find(name)

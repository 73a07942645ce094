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
    systems: Mapping[str, str] | None = None,
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
    systems
        The system that each `ScoreFile.source` is a training of, where systems were trained several times; they are
        then compared by their means.
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
    number = len(files) if systems is None else len(set(systems.values()))
    if number < 2:
        raise UsageError(f"expected at least two systems to compare, got {number}")
    for name in measures or ():
        MEASURES.find(name)
    how = reading or Reading()
    groups = matched([file.labels for file in files], [file.about for file in files], [file.source for file in files])
    files = [files[place] for group in groups for place in group.places]
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

"""Several systems, each in files of its own, compared on the trials that they have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.comparison import Comparison, check_same_trials, compare
from zeroevidence.evaluation.files import Reading, ScoreFile
from zeroevidence.evaluation.linked import read_search
from zeroevidence.evaluation.measuring import evaluate
from zeroevidence.evaluation.options import Options
from zeroevidence.measure.registry import find_measure
from zeroevidence.uncertainty.draws import Progress


def compare_files(
    files: Sequence[ScoreFile],
    reading: Reading | None = None,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
) -> list[Comparison]:
    """Evaluate score files of the same trials and compare them; other trials are refused before any is evaluated.

    Parameters
    ----------
    files
        As `score_files` finds them, one for each system.
    reading
        How to read them.
    measures
        As in `compare`.
    options, workers
        As in `evaluate`; a null is not needed.
    progress
        Given the number of a file, what to call with the replicates done and wanted.
    """
    _check(len(files), measures)
    how = reading or Reading()
    loaded = [how.read(file) for file in files]
    scores = [one.data.to_scores() if isinstance(one.data, ScoreMatrix) else one.data for one in loaded]
    check_same_trials([(file.scores, one) for file, one in zip(files, scores, strict=True)])
    rows = [
        evaluate(
            one,
            dev=None if file.dev is None else how.read(file.dev),
            calibrate=None if file.calibrate is None else how.read(file.calibrate),
            labels=file.labels,
            about=file.about,
            options=options,
            workers=workers,
            progress=progress(number),
        )
        for number, (file, one) in enumerate(zip(files, loaded, strict=True))
    ]
    return compare(rows, measures)


def compare_searches(
    folders: Sequence[str | Path],
    systems: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
) -> list[Comparison]:
    """Compare searches that `zeroevidence link` wrote into folders, each by the name of its system."""
    _check(len(folders), measures)
    if len(systems) != len(folders):
        raise UsageError(f"expected one name for each of the {len(folders)} systems, got {len(systems)}")
    how = options or Options()
    rows = [read_search(folder, how, system=name) for folder, name in zip(folders, systems, strict=True)]
    return compare(rows, measures)


def _check(systems: int, measures: Sequence[str] | None) -> None:
    """Refuse what cannot be compared before anything is read."""
    if systems < 2:
        raise UsageError(f"expected at least two systems to compare, got {systems}")
    for name in measures or ():
        find_measure(name)

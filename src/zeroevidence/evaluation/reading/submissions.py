"""Folders of several systems: their score files with keys, and tables of results without scores."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zeroevidence.data.files.errors import unreadable_reason
from zeroevidence.data.formats.lists.systems import read_systems
from zeroevidence.data.formats.voiceprivacy.published_tables import is_summary
from zeroevidence.data.formats.voiceprivacy.result_folders import kit_files, recognise_scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.finding.row_flags import flag_rows
from zeroevidence.evaluation.reading.kept_results import KeptResults
from zeroevidence.evaluation.reading.kits import utility_in_folders, without_copies
from zeroevidence.evaluation.reading.published import read_published
from zeroevidence.evaluation.reading.score_files import Reading, ScoreFile, distinct_names, evaluate_files
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.uncertainty.resampling.draws import Progress

_NAMES = ("systems.tsv", "systems.csv")  # of tables of systems
_DOCUMENTS = (".md", ".html", ".pdf", ".svg", ".png", ".log", ".json")  # which hold no scores, whatever their name


@dataclass(frozen=True, slots=True)
class Submissions:
    """What a folder of several systems holds.

    Parameters
    ----------
    root
        The folder.
    files
        Score files with their keys.
    tables
        Tables of results that a challenge's kit wrote.
    unread
        Files that are none of these, nor keys, by their path within the folder.
    """

    root: Path
    files: tuple[ScoreFile, ...]
    tables: tuple[Path, ...]
    unread: tuple[str, ...]


def find_submissions(folder: str | Path, systems: str | Path | None = None) -> Submissions:
    """Return the score files, with their keys, and the tables of results under a folder.

    A table of systems says which files there are; `read_systems` describes it. Without one, the folders of a
    VoicePrivacy kit are recognised by their names. Any other file with "score" in its path is a score file of a system
    that is named after it. Its key is in the same folder or in one above it, has "trial" or "key" in its name, and is
    the one that has its trials; a file that holds labels needs none.

    Parameters
    ----------
    folder
        Where to look.
    systems
        The table of systems; ``systems.tsv`` or ``systems.csv`` of the folder unless given, where there is one.

    Raises
    ------
    InputError
        When there is nothing to read, a key is missing, or two files have the same labels.
    """
    root = Path(folder)
    reason = unreadable_reason(root, folder=True)
    if reason:
        raise InputError(f"{reason}; expected a folder of score files and tables of results", path=folder)
    found = list(kit_files(root))
    table = Path(systems) if systems is not None else next(filter(Path.is_file, map(root.joinpath, _NAMES)), None)
    files = _described(root, found) if table is None else _listed(table, root)
    tables = tuple(file for file in found if is_summary(file))
    used = {Path(path) for file in files for path in (file.scores, file.key, file.speakers) if path is not None}
    others = (file for file in found if file not in used and file not in tables and file != table)
    unread = tuple(str(file.relative_to(root)) for file in others if table is not None or not _is_key(file))
    if not files and not tables:
        raise InputError(
            "no score files and no tables of results; expected names with 'score', or a table of systems", path=folder
        )
    distinct = without_copies(files)
    distinct = _named_by_folder(distinct, root) if table is None else distinct
    _check_distinct(distinct)
    return Submissions(root, tuple(distinct), tables, unread)


def evaluate_submissions(
    submissions: Submissions,
    *,
    options: Options | None = None,
    workers: int = 1,
    progress: Callable[[int], Progress | None] = lambda _: None,
    kept: KeptResults | None = None,
) -> list[Evaluation]:
    """Evaluate the score files, and add what tables say of systems without scores, and utility.

    A row of a table is left out where the same was computed from scores or transcripts of the same part of the folder.

    Parameters
    ----------
    submissions
        What the folder holds.
    options
        As in `evaluate`.
    workers
        As in `evaluate`.
    progress
        As in `evaluate_files`.
    kept
        As in `evaluate_files`.
    """
    root = submissions.root
    computed = evaluate_files(submissions.files, options=options, workers=workers, progress=progress, kept=kept)
    rows = [(_part(Path(file.scores), root), row) for file, row in zip(submissions.files, computed, strict=True)]
    for part in sorted({_part(file, root) for file in kit_files(root)}):
        if (root / part).is_dir():
            rows += _new_rows(rows, part, utility_in_folders([str(root / part)], options=options))
    from_tables: list[tuple[str, Evaluation]] = []
    for table in submissions.tables:
        part, name = _part(table, root), str(table.relative_to(root).with_suffix(""))
        named = [
            row if "system" in row.labels else replace(row, labels={**row.labels, "system": name})
            for row in read_published(table)
        ]
        subjects = {_subject_of_row(row, of) for of, row in rows}
        missing = [row for row in named if _subject_of_row(row, part) not in subjects]
        from_tables += _new_rows(from_tables, part, missing)
    return flag_rows([row for _, row in (*rows, *from_tables)])


def _part(file: Path, root: Path) -> str:
    """Return the first folder within `root` that a file lies in, or its own name."""
    return file.relative_to(root).parts[0]


def _subject_of_row(row: Evaluation, part: str) -> Hashable:
    """Return what a row is about, in which part of the folder; unprotected speech is the same for all systems."""
    control = row.about.role == "control" or row.about.speech == "original"
    system = "" if control else row.labels.get("system", "").removeprefix(f"{part}/")
    labels = tuple(sorted((name, text) for name, text in row.labels.items() if name != "system"))
    kinds = tuple(name for name in ("wer", "uar", "recall") if name in row)
    return "" if control else part, system, labels, row.about.threat, row.about.speech, kinds


def _new_rows(
    rows: Sequence[tuple[str, Evaluation]], part: str, more: Sequence[Evaluation]
) -> list[tuple[str, Evaluation]]:
    """Return those of further rows that say something new; systems of equal names are told apart by their folders."""
    new: list[tuple[str, Evaluation]] = []
    for row in more:
        alike = [_measured_values(other) for _, other in (*rows, *new) if _same_labels(other, row)]
        if _measured_values(row) in alike:
            continue
        if alike:
            row = replace(row, labels={**row.labels, "system": f"{part}/{row.labels.get('system', '')}"})
        new.append((part, row))
    return new


def _same_labels(row: Evaluation, other: Evaluation) -> bool:
    return _subject_of_row(row, "") == _subject_of_row(other, "")


def _measured_values(row: Evaluation) -> dict[str, object]:
    return {name: result.value for name, result in row.metrics.items()}


def _listed(table: Path, root: Path) -> list[ScoreFile]:
    """Return the score files that a table of systems names."""
    keys = [file for file in kit_files(root) if _is_key(file)]
    files = []
    for row in read_systems(table, root):
        about = About() if row.threat is None else About.against(row.threat)
        speakers = None if row.speakers is None else str(row.speakers)
        file = ScoreFile(str(row.scores), None, speakers, row.labels, about, source=str(row.scores))
        files.append(_with_key(file, keys, root) if row.key is None else replace(file, key=str(row.key)))
    return files


def _described(root: Path, found: Sequence[Path]) -> list[ScoreFile]:
    """Return the score files that the names of files and folders describe."""
    files = []
    for row in recognise_scores(found):
        speakers = None if row.speakers is None else str(row.speakers)
        scores = str(row.scores)
        files.append(ScoreFile(scores, str(row.key), speakers, row.labels, About.against(row.threat), source=scores))
    recognised = {file.scores for file in files}
    keys = [file for file in found if _is_key(file)]
    others = [str(file) for file in found if _is_score(file, root) and str(file) not in recognised]
    for path, system in zip(others, distinct_names(others) if others else (), strict=True):
        files.append(_with_key(ScoreFile(path, labels={"system": system}, source=path), keys, root))
    return files


def _is_key(file: Path) -> bool:
    name = file.name.lower()
    return ("trial" in name or "key" in name) and "score" not in name and file.suffix not in _DOCUMENTS


def _is_score(file: Path, root: Path) -> bool:
    path = str(file.relative_to(root)).lower()
    return "score" in path and not _is_key(file) and file.suffix not in _DOCUMENTS and not is_summary(file)


def _with_key(file: ScoreFile, keys: Sequence[Path], root: Path) -> ScoreFile:
    """Return a score file with the nearest key that has its trials; without one where it holds labels."""
    reading = Reading()
    unlabelled = _refusal(file, reading)
    if unlabelled is None:
        return file
    refusals = [unlabelled]
    above = Path(file.scores).parent
    while True:
        fitting = []
        for key in (key for key in keys if key.parent == above):
            keyed = replace(file, key=str(key))
            refusal = _refusal(keyed, reading)
            if refusal is None:
                fitting.append(keyed)
            else:
                refusals.append(refusal)
        if any(not filecmp.cmp(str(fitting[0].key), str(other.key), shallow=False) for other in fitting[1:]):
            names = " and ".join(str(keyed.key) for keyed in fitting)
            raise InputError(f"{names} both have its trials; expected a table of systems to name one", path=file.scores)
        if fitting:
            return fitting[0]
        if above in (root, above.parent):
            break
        above = above.parent
    if len(refusals) > 1:
        raise refusals[1]
    raise InputError(
        f"{unlabelled.reason}; no key with 'trial' or 'key' in its name beside it or above it", path=file.scores
    )


def _refusal(file: ScoreFile, reading: Reading) -> InputError | None:
    """Return why a score file cannot be read with its key; None where it can."""
    try:
        reading.read(file)
    except InputError as error:
        return error
    return None


def _check_distinct(files: Sequence[ScoreFile]) -> None:
    """Refuse files that no label and no attacker tells apart."""
    counts = Counter(map(_subject, files))
    for file in files:
        if counts[_subject(file)] > 1:
            labels = ", ".join(f"{name} {text}" for name, text in file.labels.items())
            raise InputError(
                f"another file has the same labels ({labels}); expected a table of systems that tells them apart",
                path=file.scores,
            )


def _subject(file: ScoreFile) -> Hashable:
    return tuple(sorted(file.labels.items())), file.about.threat


def _named_by_folder(files: Sequence[ScoreFile], root: Path) -> list[ScoreFile]:
    """Return files with the first folder before the names of systems where these do not tell the files apart."""
    counts = Counter(map(_subject, files))
    named = []
    for file in files:
        if counts[_subject(file)] > 1:
            system = f"{_part(Path(file.scores), root)}/{file.labels['system']}"
            file = replace(file, labels={**file.labels, "system": system})
        named.append(file)
    return named

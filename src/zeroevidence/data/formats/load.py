"""Reading scores with their key: the quick way first, the careful way when something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from zeroevidence.data.formats.arrays import read_matrix
from zeroevidence.data.formats.careful import read_carefully
from zeroevidence.data.formats.hdf5 import read_hdf5
from zeroevidence.data.formats.join import Duplicates, join
from zeroevidence.data.formats.layout import Layout, Role, detect
from zeroevidence.data.formats.parquet import read_parquet
from zeroevidence.data.formats.people import build, read_speakers
from zeroevidence.data.formats.quick import read_quickly
from zeroevidence.data.formats.source import Source, is_folder, locate
from zeroevidence.data.formats.table import Table
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, Problem, UsageError

FORMATS = ("auto", "kaldi", "voxceleb", "two-column", "labelled", "table", "matrix", "bosaris")

_KIND = {"parquet": "table", "npz": "matrix", "npy": "matrix", "hdf5": "bosaris"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file held, how it was understood, and which rules were loosened to read it."""

    data: Scores | ScoreMatrix
    format: str
    key_format: str | None
    loosened: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Request:
    path: str | Path
    key: str | Path | None
    format: str
    duplicates: Duplicates
    allow_missing: bool
    speakers: str | Path | None


def read_scores(
    path: str | Path,
    key: str | Path | None = None,
    *,
    format: str = "auto",
    duplicates: Literal["error", "keep-last"] = "error",
    allow_missing: bool = False,
    speakers: str | Path | None = None,
) -> Loaded:
    """Scores from a file ("-" is standard input), joined with their key on (enrolment, trial).

    Parameters
    ----------
    key
        Labels of the trials: a file, or a Kaldi data folder with ``trials`` and perhaps ``utt2spk``.
    format
        How to understand the scores, one of `FORMATS`.
    duplicates
        "keep-last" takes the later score of a pair that occurs twice.
    allow_missing
        Evaluate what scores and key have in common.
    speakers
        A Kaldi ``utt2spk`` file, or a folder that holds one.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem, and how many more there are.
    """
    loaded, problems = _attempt(_request(path, key, format, duplicates, allow_missing, speakers))
    if loaded is None:
        raise InputError.of(problems)
    return loaded


def diagnose(
    path: str | Path,
    key: str | Path | None = None,
    *,
    format: str = "auto",
    duplicates: Literal["error", "keep-last"] = "error",
    allow_missing: bool = False,
    speakers: str | Path | None = None,
) -> list[Problem]:
    """Every problem that `read_scores` would stumble over, none when it would succeed."""
    return _attempt(_request(path, key, format, duplicates, allow_missing, speakers))[1]


def _request(
    path: str | Path,
    key: str | Path | None,
    format: str,
    duplicates: Duplicates,
    allow_missing: bool,
    speakers: str | Path | None,
) -> _Request:
    if format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; expected one of {', '.join(FORMATS)}")
    if duplicates not in ("error", "keep-last"):
        raise UsageError(f"unknown rule for duplicates {duplicates!r}; expected error or keep-last")
    if [str(one) for one in (path, key, speakers)].count("-") > 1:
        raise UsageError("standard input can be only one of scores, key and speakers")
    return _Request(path, key, format, duplicates, allow_missing, speakers)


def _attempt(request: _Request) -> tuple[Loaded | None, list[Problem]]:
    """The result, or every reason why there is none."""
    problems: list[Problem] = []

    def tried(read: Callable[[], Source]) -> Source | None:
        try:
            return read()
        except InputError as error:
            problems.append(error.problem)
            return None

    key_path, speakers_path = request.key, request.speakers
    if speakers_path is not None and is_folder(speakers_path):
        speakers_path = Path(speakers_path) / "utt2spk"
    if key_path is not None and is_folder(key_path):
        folder = Path(key_path)
        key_path = folder / "trials"
        if speakers_path is None and (folder / "utt2spk").is_file():
            speakers_path = folder / "utt2spk"
    scores = tried(lambda: locate(request.path))
    key = None if key_path is None else tried(lambda: locate(key_path))
    speakers = None if speakers_path is None else tried(lambda: locate(speakers_path))
    if scores is None or problems:
        return None, problems
    known: Mapping[str, str] | None = None
    if speakers is not None:
        try:
            people, problems = read_speakers(speakers)
            known = None if problems else people
        except InputError as error:
            problems = [error.problem]
    name = "" if speakers is None else speakers.name
    if scores.kind in ("npz", "npy") or request.format == "matrix":
        return _matrix(scores, key, request, known, name, problems)
    loaded, found = _trials(scores, key, request, known, name)
    return (None if problems else loaded), found + problems


def _matrix(
    scores: Source,
    key: Source | None,
    request: _Request,
    speakers: Mapping[str, str] | None,
    speakers_name: str,
    problems: list[Problem],
) -> tuple[Loaded | None, list[Problem]]:
    if request.format not in ("auto", "matrix"):
        reason = f"is a NumPy {scores.kind} file; expected {request.format}"
        return None, [Problem(scores.name, None, reason), *problems]
    try:
        matrix = read_matrix(scores, key, speakers, speakers_name)
    except InputError as error:
        return None, [error.problem, *problems]
    return (None if problems else Loaded(matrix, "matrix", None if key is None else "matrix", ())), problems


def _trials(
    scores: Source,
    key: Source | None,
    request: _Request,
    speakers: Mapping[str, str] | None,
    speakers_name: str,
) -> tuple[Loaded | None, list[Problem]]:
    """One-to-one scores; a second, careful round only when the first could not say what is wrong where."""
    key_table, score_table = None, None
    for careful in (False, True):
        problems: list[Problem] = []
        if key is not None and (key_table is None or not key_table.located):
            key_table = _table(key, "key", "auto", None, careful, problems)
        if score_table is None or not score_table.located:
            score_table = _table(scores, "scores", request.format, key_table, careful, problems)
        if score_table is None or (key is not None and key_table is None):
            other = score_table or key_table
            return None, problems + list(other.problems if other else ())
        loaded, found = _combined(score_table, key_table, request, speakers, speakers_name)
        problems = [*score_table.problems, *(key_table.problems if key_table else ()), *found]
        if loaded is not None or (score_table.located and (key_table is None or key_table.located)):
            break
    return (None if problems else loaded), problems


def _combined(
    scores: Table,
    key: Table | None,
    request: _Request,
    speakers: Mapping[str, str] | None,
    speakers_name: str,
) -> tuple[Loaded | None, list[Problem]]:
    problem = _misfit(scores, key)
    if problem:
        return None, [problem]
    if scores.frame.is_empty() or (key is not None and key.frame.is_empty()):
        return None, []
    whose = scores if key is None else key
    key_format = None if key is None else key.format
    if not scores.has("enrol"):
        if scores.problems:
            return None, []
        label, score = scores.frame["label"].to_numpy(), scores.frame["score"].to_numpy()
        single = _single(whose, int(label.sum()), len(label))
        if single:
            return None, [single]
        return Loaded(Scores(score[label], score[~label]), scores.format, None, ()), []
    joined, problems = join(scores, key, request.duplicates, request.allow_missing)
    if joined is None or scores.problems or (key is not None and key.problems):
        return None, problems
    single = _single(whose, int(joined.label.sum()), len(joined.label))
    if single:
        return None, [single]
    data, problems = build(joined, scores, key, speakers, speakers_name)
    return (None if data is None else Loaded(data, scores.format, key_format, joined.loosened)), problems


def _misfit(scores: Table, key: Table | None) -> Problem | None:
    """A column that is needed for what was asked and is not there."""
    found = ", ".join(scores.frame.columns) or "none that is known"
    if not scores.has("score"):
        return Problem(scores.name, None, f"no column named score (found: {found}); expected one")
    if scores.has("enrol") != scores.has("trial"):
        return Problem(
            scores.name, None, f"enrol without trial, or trial without enrol (found: {found}); expected both"
        )
    if key is None:
        if not scores.has("label"):
            return Problem(scores.name, None, "no labels; expected a key (--key KEY) or a label column")
        return None
    if not all(map(key.has, ("enrol", "trial", "label"))):
        found = ", ".join(key.frame.columns) or "none that is known"
        return Problem(key.name, None, f"not a key (found columns: {found}); expected enrol, trial and label")
    if not scores.has("enrol"):
        instead = ", or no key (it has its own labels)" if scores.has("label") else ""
        reason = f"no enrol and trial columns to join with {key.name}; expected them{instead}"
        return Problem(scores.name, None, reason)
    return None


def _single(table: Table, targets: int, trials: int) -> Problem | None:
    if 0 < targets < trials:
        return None
    kind = "target" if targets else "nontarget"
    return Problem(table.name, None, f"all {trials} trials are {kind}; expected both target and nontarget trials")


def _table(
    source: Source, role: Role, format: str, key: Table | None, careful: bool, problems: list[Problem]
) -> Table | None:
    """One file as a table; what makes that impossible goes to `problems`."""
    try:
        found = _KIND.get(source.kind, "text")
        if found == "matrix":
            raise InputError(f"is a NumPy {source.kind} file; expected the {role} of single trials", path=source.name)
        if format in ("bosaris", "matrix") and found != format:
            kind = "text" if found == "text" else source.kind
            raise InputError(
                f"is a {kind} file; expected {'HDF5' if format == 'bosaris' else 'NumPy'}", path=source.name
            )
        if found != "text" and format not in ("auto", found):
            raise InputError(f"is a {source.kind} file; expected {format} text", path=source.name)
        if source.kind == "parquet":
            return read_parquet(source)
        if source.kind == "hdf5":
            return read_hdf5(source, role)
        data = source.read()
        layout = _layout(data, source.name, role, format, key)
        quick = None if careful else read_quickly(data, source.name, layout)
        return read_carefully(data, source.name, layout) if quick is None else quick
    except InputError as error:
        problems.append(error.problem)
        return None


def _layout(data: bytes, name: str, role: Role, format: str, key: Table | None) -> Layout:
    def matches(enrol: list[str], trial: list[str]) -> bool:
        if key is None or not (key.has("enrol") and key.has("trial")):
            return False
        asked = pl.DataFrame({"enrol": enrol, "trial": trial})
        return not asked.join(key.frame, on=["enrol", "trial"], how="semi").is_empty()

    return detect(data, name, role, forced=format, matches=matches)

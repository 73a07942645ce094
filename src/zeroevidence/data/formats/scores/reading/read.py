"""Reading scores with their key: the quick way first, the careful way when something is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from zeroevidence._typing import FloatArray
from zeroevidence.data.files.errors import is_folder
from zeroevidence.data.formats.input_file import InputFile, locate
from zeroevidence.data.formats.lists.speakers import Speakers, read_speakers
from zeroevidence.data.formats.scores.matrix import not_finite
from zeroevidence.data.formats.scores.reading.block_reader import read_located
from zeroevidence.data.formats.scores.reading.build import build
from zeroevidence.data.formats.scores.reading.clean_reader import begins_clean, read_whole
from zeroevidence.data.formats.scores.reading.detect import detect
from zeroevidence.data.formats.scores.reading.join import Duplicates, join
from zeroevidence.data.formats.scores.reading.layout import HEAD, Layout, Role
from zeroevidence.data.formats.scores.reading.polars_reader import PORTION, read_quickly
from zeroevidence.data.formats.scores.reading.table import Table, finite_only
from zeroevidence.data.formats.scores.score_format import (
    AUTO,
    SCORE_FORMATS,
    FirstLines,
    ScoreFormat,
    binary_format,
    format_names,
)
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, Problem, UsageError

Infinite: TypeAlias = Literal["refuse", "accept"]

_ACCEPT = " (--infinite accept takes infinite ones)"


@dataclass(frozen=True, slots=True)
class _Request:
    path: str | Path
    key: str | Path | None
    format: str
    duplicates: Duplicates
    allow_missing: bool
    speakers: str | Path | None
    infinite: Infinite


def read_scores(
    path: str | Path,
    key: str | Path | None = None,
    *,
    format: str = AUTO,
    duplicates: Duplicates = "error",
    allow_missing: bool = False,
    speakers: str | Path | None = None,
    infinite: Infinite = "refuse",
) -> LoadedScores:
    r"""Scores from a file ("-" is standard input), joined with their key on (enrolment, trial).

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
    infinite
        "accept" takes infinite scores, which LLRs may be.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem, and how many more there are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "scores").write_text("ada u1 2.1\nbob u1 0.3\nada u1 2.5\n")
    >>> _ = (folder / "trials").write_text("ada u1 target\nbob u1 nontarget\nbob u2 target\n")
    >>> loaded = read_scores(folder / "scores", folder / "trials", duplicates="keep-last", allow_missing=True)
    >>> loaded.data.target, loaded.data.nontarget, loaded.format
    (array([2.5]), array([0.3]), 'kaldi')
    >>> [str(one) for one in loaded.loosened]
    ['duplicates:keep-last:1', 'missing:1']
    """
    loaded, problems = _attempt(_request(path, key, format, duplicates, allow_missing, speakers, infinite))
    if loaded is None:
        raise InputError.of(problems)
    return loaded


def diagnose(
    path: str | Path,
    key: str | Path | None = None,
    *,
    format: str = AUTO,
    duplicates: Duplicates = "error",
    allow_missing: bool = False,
    speakers: str | Path | None = None,
    infinite: Infinite = "refuse",
) -> list[Problem]:
    """Every problem that `read_scores` would stumble over, none when it would succeed."""
    return _attempt(_request(path, key, format, duplicates, allow_missing, speakers, infinite))[1]


def _request(
    path: str | Path,
    key: str | Path | None,
    format: str,
    duplicates: Duplicates,
    allow_missing: bool,
    speakers: str | Path | None,
    infinite: Infinite,
) -> _Request:
    if format not in format_names():
        raise UsageError(f"unknown format {format!r}; expected one of {', '.join(format_names())}")
    for what, given, rules in (
        ("duplicates", duplicates, get_args(Duplicates)),
        ("infinite scores", infinite, get_args(Infinite)),
    ):
        if given not in rules:
            raise UsageError(f"unknown rule for {what} {given!r}; expected {' or '.join(rules)}")
    if [str(one) for one in (path, key, speakers)].count("-") > 1:
        raise UsageError("standard input can be only one of scores, key and speakers")
    return _Request(path, key, format, duplicates, allow_missing, speakers, infinite)


def _attempt(request: _Request) -> tuple[LoadedScores | None, list[Problem]]:
    """The result, or every reason why there is none."""
    scores, key, speakers, problems = _located(request)
    if scores is None or problems:
        return None, problems
    known = None
    if speakers is not None:
        try:
            people, problems = read_speakers(speakers)
            known = None if problems else Speakers(speakers.name, people)
        except InputError as error:
            problems = [error.problem]
    format = _search_format(scores, request.format)
    if format is None:
        loaded, found = _trials(scores, key, request, known)
    else:
        loaded, found = _search(format, scores, key, request, known)
    return (None if problems else loaded), found + problems


def _located(request: _Request) -> tuple[InputFile | None, InputFile | None, InputFile | None, list[Problem]]:
    """Scores, key and speakers as files, those of a Kaldi data folder by their names in it, and which are not there."""
    key, speakers = request.key, request.speakers
    if speakers is not None and is_folder(speakers):
        speakers = Path(speakers) / "utt2spk"
    if key is not None and is_folder(key):
        folder = Path(key)
        key = folder / "trials"
        if speakers is None and (folder / "utt2spk").is_file():
            speakers = folder / "utt2spk"
    files: list[InputFile | None] = []
    problems: list[Problem] = []
    for path in (request.path, key, speakers):
        try:
            files.append(None if path is None else locate(path))
        except InputError as error:
            files.append(None)
            problems.append(error.problem)
    return files[0], files[1], files[2], problems


def _search_format(scores: InputFile, asked: str) -> ScoreFormat | None:
    """The format of a matrix: what the file is, or else what was asked for; None for single trials."""
    found = binary_format(scores, asked)
    if found is not None and found.matrix is not None:
        return found
    return None if asked == AUTO or SCORE_FORMATS[asked].matrix is None else SCORE_FORMATS[asked]


def _search(
    format: ScoreFormat, scores: InputFile, key: InputFile | None, request: _Request, speakers: Speakers | None
) -> tuple[LoadedScores | None, list[Problem]]:
    """The matrix of a whole search, or why there is none."""
    assert format.matrix is not None
    if request.format not in (AUTO, format.name):
        container = format.container(scores)
        kind = scores.kind if container is None else container.name
        reason = f"is a {format.files} {kind} file; expected {request.format}"
        return None, [Problem(scores.name, None, reason)]
    try:
        matrix = format.matrix.read(scores, key, speakers)
    except InputError as error:
        return None, [error.problem]
    endless = np.isinf(matrix.scores)
    if endless.any() and request.infinite == "refuse":
        return None, [Problem(scores.name, None, f"{not_finite(matrix.scores, endless)}{_ACCEPT}")]
    loosened = (RelaxedRule("infinite", int(endless.sum())),) if endless.any() else ()
    return LoadedScores(matrix, format.name, None if key is None else format.name, loosened), []


def _trials(
    scores: InputFile, key: InputFile | None, request: _Request, speakers: Speakers | None
) -> tuple[LoadedScores | None, list[Problem]]:
    """One-to-one scores; a second, careful round only when the first could not say what is wrong where."""
    key_table, score_table = None, None
    for careful in (False, True):
        problems: list[Problem] = []
        if key is not None and (key_table is None or not key_table.located):
            key_table = _table(key, "key", AUTO, None, careful, problems)
        if score_table is None or not score_table.located:
            score_table = _table(scores, "scores", request.format, key_table, careful, problems)
            if score_table is not None and request.infinite == "refuse":
                score_table = finite_only(score_table, _ACCEPT)
        if score_table is None or (key is not None and key_table is None):
            other = score_table or key_table
            return None, problems + list(other.problems if other else ())
        loaded, found = _combined(score_table, key_table, request, speakers)
        problems = [*score_table.problems, *(key_table.problems if key_table else ()), *found]
        if loaded is not None or (score_table.located and (key_table is None or key_table.located)):
            break
    return (None if problems else loaded), problems


def _combined(
    scores: Table, key: Table | None, request: _Request, speakers: Speakers | None
) -> tuple[LoadedScores | None, list[Problem]]:
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
        return LoadedScores(Scores(score[label], score[~label]), scores.format, None, _endless(score)), []
    joined, problems = join(scores, key, request.duplicates, request.allow_missing)
    if joined is None or scores.problems or (key is not None and key.problems):
        return None, problems
    single = _single(whose, int(joined.label.sum()), len(joined.label))
    if single:
        return None, [single]
    data, problems = build(joined, scores, key, speakers)
    loosened = (*joined.loosened, *_endless(joined.score))
    return (None if data is None else LoadedScores(data, scores.format, key_format, loosened)), problems


def _endless(scores: FloatArray) -> tuple[RelaxedRule, ...]:
    """What is to be said of infinite scores that were taken."""
    count = int(np.isinf(scores).sum())
    return (RelaxedRule("infinite", count),) if count else ()


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
    file: InputFile, role: Role, asked: str, key: Table | None, careful: bool, problems: list[Problem]
) -> Table | None:
    """One file as a table; what makes that impossible goes to `problems`."""
    try:
        found = binary_format(file, asked)
        if found is not None and found.binary is None:
            raise InputError(
                f"is a {found.files} {file.kind} file; expected the {role} of single trials", path=file.name
            )
        if asked != AUTO and found is not SCORE_FORMATS[asked] and (found is not None or not SCORE_FORMATS[asked].text):
            container = None if found is None else found.container(file)
            kind = file.kind if container is None else container.name
            raise InputError(f"is a {kind} file; expected {SCORE_FORMATS[asked].files}", path=file.name)
        if found is not None and found.binary is not None:
            return found.binary.read(file, role)
        return _text_table(file, role, asked, key, careful)
    except InputError as error:
        problems.append(error.problem)
        return None


def _text_table(file: InputFile, role: Role, asked: str, key: Table | None, careful: bool) -> Table:
    """A text file as a table, by the reader of its format or by columns: quickly where that is enough."""
    layout = _layout(file, role, asked, key)
    text = SCORE_FORMATS[layout.format].text
    if isinstance(text, FirstLines) and text.read is not None:
        return text.read(file.read(), file.name, role)
    quick = None if careful else _quick_table(file, layout)
    return read_located(file.read(), file.name, layout, infinite=True, coded=True) if quick is None else quick


def _quick_table(file: InputFile, layout: Layout) -> Table | None:
    """A text file as a table without a look at each line, None when it needs one."""
    head = file.head(HEAD)
    short = len(head) < HEAD
    clean = short or begins_clean(head, layout)
    table = read_whole(file, layout, coded=True) if clean else None
    if table is None and (short or not clean):  # one that only begins clean has a bad line somewhere
        return read_quickly(file.blocks(PORTION), file.name, layout, coded=True)
    return table


def _layout(file: InputFile, role: Role, asked: str, key: Table | None) -> Layout:
    def matches(enrol: list[str], trial: list[str]) -> bool:
        if key is None or not (key.has("enrol") and key.has("trial")):
            return False
        pairs = pl.DataFrame({"enrol": enrol, "trial": trial})
        pairs = pairs.cast({one: key.frame[one].dtype for one in pairs.columns}, strict=False)
        return not pairs.join(key.frame, on=["enrol", "trial"], how="semi").is_empty()

    head = file.head(HEAD)
    data = head if len(head) < HEAD or head.strip() else file.read()  # blank for a megabyte: wherever it begins
    return detect(data, file.name, role, forced=asked, matches=matches)

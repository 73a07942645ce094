"""Formats of whole searches: matrices of scores with their keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.data.files import check_archive, check_array, naming_file, reading_file
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import EXPORT, NPY, NPZ, TEXT, Container, InputFile, pickled
from zeroevidence.data.formats.lists import SpeakerList
from zeroevidence.data.formats.scores.detect import ONE_NUMBER
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, FailingMatrix, Matrix, ScoreFormat
from zeroevidence.data.formats.vectors.kaldi import read_ark, stack_vectors
from zeroevidence.data.json_values import shortened
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.printable import compose
from zeroevidence.data.scores import frozen
from zeroevidence.errors import InputError

_IDS = ("trials", "enrolments", "trial_speakers", "enrolment_speakers")
_ARRAYS = ("scores", "mated", *_IDS)


def read_matrix(source: InputFile, key: InputFile | None, speakers: SpeakerList | None) -> FailingMatrix:
    """Return the matrix, validated, and where its scores are NaN.

    Raises
    ------
    InputError
        Naming the file, and the row and column where that helps.
    """
    arrays = load_arrays(source, "scores", _ARRAYS)
    if "scores" not in arrays:
        raise _without_scores(source)
    if key is not None:
        for name, array in load_arrays(key, "mated", _ARRAYS).items():
            if name == "scores":
                continue
            if name in arrays and not np.array_equal(arrays[name], array):
                raise InputError(f"{name} differs from {name} in {source.name}; expected the same", path=key.name)
            arrays[name] = array
    if "mated" not in arrays and arrays["scores"].ndim == 1:
        raise InputError(ONE_NUMBER, path=source.name)
    if "mated" not in arrays:
        raise InputError("no array named mated; expected one, here or in a key (--key KEY)", path=source.name)
    return build_matrix(arrays, source.name, speakers)


def build_matrix(arrays: dict[str, Any], name: str, speakers: SpeakerList | None) -> FailingMatrix:
    """Return the matrix of arrays by name, with 1 for NaN, and where that was; at least one trial must be mated."""
    scores = arrays["scores"]
    if scores.dtype.kind not in "biuf" or scores.ndim != 2 or not scores.size:
        reason = f"scores: {scores.dtype} of shape {scores.shape}; expected numbers, trials x identities"
        raise InputError(reason, path=name)
    failed = np.isnan(scores)
    scores = np.where(failed, np.ones_like(scores), scores) if failed.any() else scores
    if np.asarray(arrays["mated"]).dtype.kind == "b":
        reason = "mated: labels, not columns; expected np.savez('scores.npz', scores=one_per_trial, labels=key)"
        raise InputError(reason, path=name)
    with naming_file(name):
        matrix = ScoreMatrix(scores, arrays["mated"], **{field: arrays[field] for field in _IDS if field in arrays})
    if matrix.scores.shape[1] < 2:
        raise InputError("one enrolled identity; expected at least two", path=name)
    if not (matrix.mated >= 0).any():
        raise InputError("no trial has its speaker enrolled; expected at least one mated column", path=name)
    return (matrix if speakers is None else _with_speakers(matrix, speakers, name)), failed


def load_arrays(source: InputFile, alone: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of a NumPy file.

    Parameters
    ----------
    source
        The file.
    alone
        The name of the array of an npy.
    names
        The arrays of an npz that are read.
    """
    if source.kind not in (NPZ.name, NPY.name):
        raise InputError(f"is a {source.kind} file; expected NumPy (.npz or .npy)", path=source.name)
    with reading_file(source.name, f"NumPy {source.kind}"), source.stream() as stream:
        if source.kind == NPY.name:
            held = stream.seek(0, 2)
            stream.seek(0)
            check_array(stream, held, source.name)
            stream.seek(0)
        else:
            check_archive(stream, source.name)
        loaded = np.load(stream, allow_pickle=False)
        if source.kind == NPY.name:
            return {alone: _decode(loaded)}
        with loaded:
            return {name: _decode(loaded[name]) for name in names if name in loaded.files}


def _without_scores(source: InputFile) -> InputError:
    """Return the error about an npz, or another zip file, without an array of scores."""
    with (
        reading_file(source.name, f"NumPy {source.kind}"),
        source.stream() as stream,
        np.load(stream, allow_pickle=False) as loaded,
    ):
        names = loaded.files
    if any(name.endswith("data.pkl") for name in names):  # as torch saves
        return pickled(source.name, EXPORT)
    if "[Content_Types].xml" in names:
        return InputError("is a workbook of Excel; expected it saved as CSV", path=source.name)
    listed = ", ".join(map(shortened, names)) or "none"
    return InputError(f"no array named scores (found: {listed}); expected one", path=source.name)


def _decode(array: Any) -> Any:
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else frozen(array)


def not_finite(scores: Any, wrong: Any, advice: str) -> str:
    """Return the message about scores of a matrix that are not finite."""
    places = np.argwhere(wrong)
    row, column = (int(i) for i in places[0])
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    score = f"score {scores[row, column]} at trial {row}, identity {column}"
    return f"{score} is not finite{more}; expected finite numbers{advice}"


def _with_speakers(matrix: ScoreMatrix, speakers: SpeakerList, name: str) -> ScoreMatrix:
    if matrix.trials is None:
        raise InputError("no array named trials; expected one to look speakers up", path=name)
    missing = speakers.missing(matrix.trials.tolist(), "trial")
    if missing:
        raise InputError.of(missing)
    enrolled = matrix.enrolment_speakers
    if matrix.enrolments is not None:
        enrolled = np.array([speakers.speaker(name) or name for name in matrix.enrolments.tolist()], np.str_)
    tried = np.array([speakers.speaker(name) for name in matrix.trials.tolist()], np.str_)
    written = matrix.spellings | speakers.spellings
    return replace(matrix, trial_speakers=tried, enrolment_speakers=enrolled, spellings=written)


_NAME = "kaldi-ark"
_ARCHIVE = Container(TEXT, "Kaldi archive", ())  # begins with a name, as other text does
_FIRST_ENTRY = re.compile(rb"\s*[^\s\[\]]+ (?: *\[[ \t]|\x00B[FD]V )")
_HEAD = 4096
_NUMBER = re.compile("-?[0-9]{1,9}")


def is_archive(file: InputFile) -> bool:
    """Return whether a file begins with a name and a vector."""
    with file.stream() as stream:
        return _FIRST_ENTRY.match(stream.read(_HEAD)) is not None


def read_archive(file: InputFile, key: InputFile | None, speakers: SpeakerList | None) -> FailingMatrix:
    """Return the score matrix of the search, and where its scores are NaN.

    Raises
    ------
    InputError
        When the archive is damaged, its vectors differ in length, or the key does not fit.
    """
    vectors = read_ark(file.read(), file.name)
    scores = stack_vectors(vectors, file.name)
    if key is None:
        raise InputError("no labels; expected a key (--key KEY) with `trial number` on each line", path=file.name)
    mated = _mated(list(vectors), scores.shape[1], key, file.name)
    return build_matrix({"scores": scores, "mated": mated, "trials": np.array(list(vectors))}, file.name, speakers)


def _mated(trials: list[str], identities: int, key: InputFile, name: str) -> IntArray:
    """Return the column of each trial's speaker."""
    problems = text.FileProblems(key.name)
    column: dict[str, int] = {}
    present = set(map(compose, trials))
    for number, trial, written in text.two_columns(key, problems, "trial number"):
        if not _NUMBER.fullmatch(written) or not -1 <= int(written) < identities:
            problems.add(number, f"{written!r} is no identity; expected a whole number from -1 to {identities - 1}")
        elif trial not in present:
            problems.add(number, f"{trial!r} is not in {name}; expected a trial of the archive")
        elif column.setdefault(trial, int(written)) != int(written):
            problems.add(number, f"{trial!r} is {column[trial]} before; expected one identity")
    for trial in () if problems else present:
        if trial not in column:
            problems.add(None, f"{trial!r} of {name} is missing; expected a line for every trial")
    problems.check()
    return np.array([column[compose(trial)] for trial in trials], np.int64)


SCORE_FORMATS.add(
    ScoreFormat(
        name="matrix",
        description="matrix of a search, trials x identities in NumPy `.npz` or `.npy`",
        matrix=Matrix((NPZ, NPY), read_matrix),
        place=60,
    ),
    ScoreFormat(
        name=_NAME,
        description="Kaldi archive, `trial [ score score ... ]` in text or binary",
        matrix=Matrix((_ARCHIVE,), read_archive),
        takes=is_archive,
        place=80,
    ),
)

"""Score matrices in NumPy files: trials x enrolled identities, and the true column of each trial.

``.npz`` holds scores, mated and perhaps trials, enrolments, trial_speakers, enrolment_speakers; ``.npy``
holds the scores alone, and the key is a ``.npy`` of mated columns or an ``.npz`` with mated and the rest.
Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.size_limits import check_archive, check_array
from zeroevidence.data.formats.input_file import NPY, NPZ, InputFile
from zeroevidence.data.formats.lists.speakers import Speakers, uncovered
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Matrix, ScoreFormat
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError

_IDS = ("trials", "enrolments", "trial_speakers", "enrolment_speakers")


def read_matrix(source: InputFile, key: InputFile | None, speakers: Speakers | None) -> ScoreMatrix:
    """The matrix, validated.

    Raises
    ------
    InputError
        Naming the file, and the row and column where that helps.
    """
    arrays = _arrays(source, "scores")
    if "scores" not in arrays:
        raise InputError(
            f"no array named scores (found: {', '.join(arrays) or 'none'}); expected one", path=source.name
        )
    if key is not None:
        for name, array in _arrays(key, "mated").items():
            if name == "scores":
                continue
            if name in arrays and not np.array_equal(arrays[name], array):
                raise InputError(f"{name} differs from {name} in {source.name}; expected the same", path=key.name)
            arrays[name] = array
    if "mated" not in arrays:
        raise InputError("no array named mated; expected one, here or in a key (--key KEY)", path=source.name)
    return checked_matrix(arrays, source.name, speakers)


def checked_matrix(arrays: dict[str, Any], name: str, speakers: Speakers | None) -> ScoreMatrix:
    """The matrix that arrays of these names make, with scores that are numbers and somebody to find."""
    _check_numbers(arrays["scores"], name)
    try:
        matrix = ScoreMatrix(arrays["scores"], arrays["mated"], **{one: arrays[one] for one in _IDS if one in arrays})
    except InputError as error:
        raise InputError(error.reason, path=name) from None
    if matrix.scores.shape[1] < 2:
        raise InputError("one enrolled identity; expected at least two", path=name)
    if not (matrix.mated >= 0).any():
        raise InputError("no trial has its speaker enrolled; expected at least one mated column", path=name)
    return matrix if speakers is None else _with_speakers(matrix, speakers, name)


def _arrays(source: InputFile, alone: str) -> dict[str, Any]:
    return numpy_arrays(source, alone, ("scores", "mated", *_IDS))


def numpy_arrays(source: InputFile, alone: str, names: Sequence[str]) -> dict[str, Any]:
    """Those arrays of an npz that have these names, or the one of an npy under the name that it stands for."""
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
            return {alone: _plain(loaded)}
        with loaded:
            return {name: _plain(loaded[name]) for name in names if name in loaded.files}


def _plain(array: Any) -> Any:
    return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array


def _check_numbers(scores: Any, name: str) -> None:
    if scores.dtype.kind not in "biuf" or scores.ndim != 2 or not scores.size:
        raise InputError(
            f"scores: {scores.dtype} of shape {scores.shape}; expected numbers, trials x identities",
            path=name,
        )
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        raise InputError(not_finite(scores, np.isnan(scores)), path=name)


def not_finite(scores: Any, wrong: Any) -> str:
    """Which scores of a matrix are not finite, in words."""
    places = np.argwhere(wrong)
    row, column = (int(i) for i in places[0])
    more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
    return f"score {scores[row, column]} at trial {row}, identity {column} is not finite{more}; expected finite numbers"


def _with_speakers(matrix: ScoreMatrix, speakers: Speakers, name: str) -> ScoreMatrix:
    if matrix.trials is None:
        raise InputError("no array named trials; expected one to look speakers up", path=name)
    missing = uncovered(matrix.trials.tolist(), speakers, "trial")
    if missing:
        raise InputError.of(missing)
    enrolled = matrix.enrolment_speakers
    if matrix.enrolments is not None:
        enrolled = np.array([speakers.of.get(one, one) for one in matrix.enrolments.tolist()], np.str_)
    return ScoreMatrix(
        matrix.scores,
        matrix.mated,
        trials=matrix.trials,
        enrolments=matrix.enrolments,
        trial_speakers=np.array([speakers.of[one] for one in matrix.trials.tolist()], np.str_),
        enrolment_speakers=enrolled,
    )


SCORE_FORMATS.add(
    ScoreFormat(
        name="matrix",
        words="matrix of a search, trials x identities in NumPy `.npz` or `.npy`",
        matrix=Matrix((NPZ, NPY), read_matrix),
        place=60,
    )
)

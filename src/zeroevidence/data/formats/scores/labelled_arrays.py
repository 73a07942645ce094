"""Scores with their labels in NumPy files, perhaps with two arrays of identifiers.

``.npz`` holds ``scores`` and ``labels`` (perhaps ``enrolments`` and ``trials``), or two arrays without names; ``.npy``
holds both as its two rows or columns, scores first. Labels are 1, 0, True, False, target or nontarget. Nothing is
unpickled.
"""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np
import polars as pl

from zeroevidence.data.files.errors import naming_file
from zeroevidence.data.formats.input_file import NPY, NPZ, InputFile
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.matrix import load_arrays
from zeroevidence.data.formats.scores.reading.layout import Role
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, ScoreFormat
from zeroevidence.data.scores import is_target
from zeroevidence.errors import InputError

_NAME = "arrays"
_NAMED = ("scores", "labels")
_UNNAMED = ("arr_0", "arr_1")  # what NumPy calls arrays that were saved without a name
_ALONE = "both"  # what the only array of an npy is called here
_IDS = {"enrol": "enrolments", "trial": "trials"}


def is_labelled(file: InputFile) -> bool:
    """Return whether a NumPy file holds scores with labels, and not the matrix of a search; False for a damaged one."""
    try:
        with file.stream() as stream:
            if file.kind == NPY.name:
                two = 2 in _shape(stream)
            else:
                names = set(zipfile.ZipFile(stream).namelist())
                labelled = any({f"{name}.npy" for name in pair} <= names for pair in (_NAMED, _UNNAMED))
                return labelled and "mated.npy" not in names
        return two and _pair(load_arrays(file, _ALONE, ())[_ALONE]) is not None
    except Exception:  # the reader of matrices reports what is wrong with it
        return False


def _shape(stream: Any) -> tuple[int, ...]:
    """Return the shape that an npy of two dimensions announces, () for others."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape: tuple[int, ...] = read(stream)[0]
    return shape if len(shape) == 2 else ()


def _pair(array: Any) -> tuple[Any, Any] | None:
    """Return scores and labels of one array of numbers: two rows, or two columns, the second nothing but 0 and 1."""
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return None
    for turned in (array, array.T):
        if len(turned) == 2 and set(np.unique(turned[1]).tolist()) == {0, 1}:
            return turned[0], turned[1]
    return None


def read_labelled(file: InputFile, _role: Role) -> Table:
    """Return the scores with their labels, as a table without lines.

    Raises
    ------
    InputError
        When the arrays do not fit together, or a label is none.
    """
    arrays = _arrays(file)
    scores, labels = arrays["scores"], arrays["labels"]
    if scores.ndim != 1 or scores.dtype.kind not in "biuf" or not scores.size:
        advice = " (of two log-posteriors: x[:, 1] - x[:, 0])" if scores.shape[1:] == (2,) else ""
        reason = f"scores: {scores.dtype} of shape {scores.shape}; expected numbers, one per trial{advice}"
        raise InputError(reason, path=file.name)
    for name, array in arrays.items():
        if array.shape != scores.shape:
            raise InputError(f"{name}: shape {array.shape}; expected {len(scores)}, one per score", path=file.name)
    problems = FileProblems(file.name)
    for at in np.flatnonzero(np.isnan(scores)).tolist():
        problems.add(None, f"score {scores[at]} at position {at} is not finite; expected a finite number")
    with naming_file(file.name):
        columns = {"score": scores.astype(np.float64), "label": is_target(labels)}
    columns |= {column: arrays[name].astype(np.str_) for column, name in _IDS.items() if name in arrays}
    return Table(file.name, _NAME, pl.DataFrame(columns), None, tuple(problems.all()))


def _arrays(file: InputFile) -> dict[str, Any]:
    """Return the arrays of a file by their usual names."""
    arrays = load_arrays(file, _ALONE, (*_NAMED, *_UNNAMED, *_IDS.values()))
    if _ALONE in arrays:
        arrays = dict(zip(_NAMED, _pair(arrays[_ALONE]) or (), strict=False))
    elif _NAMED[0] not in arrays:
        arrays |= {name: arrays[unnamed] for name, unnamed in zip(_NAMED, _UNNAMED, strict=True) if unnamed in arrays}
    if not all(name in arrays for name in _NAMED):
        raise InputError("no scores with labels; expected arrays named scores and labels", path=file.name)
    return {name: array for name, array in arrays.items() if name not in _UNNAMED}


SCORE_FORMATS.add(
    ScoreFormat(
        name=_NAME,
        description="scores and labels in NumPy `.npz` or `.npy`",
        binary=Binary((NPZ, NPY), read_labelled),
        takes=is_labelled,
        place=55,
    )
)

"""Formats of arrays of scores with labels: NumPy and BOSARIS."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl

from zeroevidence._typing import StrArray
from zeroevidence.data.files import array_header, check_size, naming_file, reading_file
from zeroevidence.data.formats.input_file import HDF5, NPY, NPZ, InputFile
from zeroevidence.data.formats.scores.layout import Role, Table
from zeroevidence.data.formats.scores.matrices import load_arrays
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, ScoreFormat
from zeroevidence.data.scores import is_target
from zeroevidence.errors import InputError
from zeroevidence.optional import optional

_ARRAYS = "arrays"
_NAMED = ("scores", "labels")
_HYPOTHESES = ("scores", "hypothesis")  # as lir calls them
_UNNAMED = ("arr_0", "arr_1")  # what NumPy calls arrays that were saved without a name
_ALONE = "both"  # what the only array of an npy is called here
_IDS = {"enrol": "enrolments", "trial": "trials"}


def is_labelled(file: InputFile) -> bool:
    """Return whether a NumPy file holds scores with labels, and not the matrix of a search; False for a damaged one."""
    try:
        with file.stream() as stream:
            if file.kind == NPY.name:
                shape = array_header(stream)[0]
                two = len(shape) == 2 and (2 in shape or shape[1] == 3)
            else:
                names = set(zipfile.ZipFile(stream).namelist())
                pairs = (_NAMED, _HYPOTHESES, _UNNAMED)
                labelled = any({f"{name}.npy" for name in pair} <= names for pair in pairs)
                return labelled and "mated.npy" not in names
        array = load_arrays(file, _ALONE, ())[_ALONE] if two else None
        return array is not None and (_pair(array) is not None or _has_people(array))
    except Exception:  # the reader of matrices reports what is wrong with it
        return False


def _pair(array: Any) -> tuple[Any, Any] | None:
    """Return scores and labels of one array of numbers: two rows, or two columns, the second nothing but 0 and 1."""
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return None
    for turned in (array, array.T):
        if len(turned) == 2 and set(np.unique(turned[1]).tolist()) == {0, 1}:
            return turned[0], turned[1]
    return None


def _has_people(array: Any) -> bool:
    """Return whether the columns are the numbers of two people, and scores that are not whole numbers."""
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iuf":
        return False
    whole = (array == np.rint(array)).all(axis=0)
    return bool(whole[0] and whole[1] and not whole[2] and (array[:, 0] == array[:, 1]).any())


def read_labelled(file: InputFile, _role: Role) -> Table:
    """Return the scores with their labels, as a table without lines.

    Raises
    ------
    InputError
        When the arrays do not fit together, or a label is none.
    """
    arrays = load_arrays(file, _ALONE, (*_NAMED, *_HYPOTHESES, *_UNNAMED, *_IDS.values()))
    if _ALONE in arrays and _has_people(arrays[_ALONE]):
        tried, enrolled, score = arrays[_ALONE].T
        people = {"trial_speaker": tried, "enrol_speaker": enrolled}
        names = {column: numbers.astype(np.int64).astype(np.str_) for column, numbers in people.items()}
        return Table(file.name, _ARRAYS, pl.DataFrame({**names, "score": score.astype(np.float64)}), None)
    arrays = _by_usual_names(arrays, file.name)
    table = score_table(file, arrays["scores"], _ARRAYS)
    for name, array in arrays.items():
        if array.shape != arrays["scores"].shape:
            raise InputError(f"{name}: shape {array.shape}; expected {len(table.frame)}, one per score", path=file.name)
    with naming_file(file.name):
        columns = {"label": is_target(arrays["labels"])}
    columns |= {column: arrays[name].astype(np.str_) for column, name in _IDS.items() if name in arrays}
    return replace(table, frame=table.frame.with_columns(**{name: pl.Series(cells) for name, cells in columns.items()}))


def score_table(file: InputFile, scores: Any, format: str) -> Table:
    """Return an array of scores as a table without lines."""
    if scores.ndim != 1 or scores.dtype.kind not in "iuf" or not scores.size:
        advice = " (of two log-posteriors: x[:, 1] - x[:, 0])" if scores.shape[1:] == (2,) else ""
        reason = f"scores: {scores.dtype} of shape {scores.shape}; expected numbers, one per trial{advice}"
        raise InputError(reason, path=file.name)
    return Table(file.name, format, pl.DataFrame({"score": scores.astype(np.float64)}), None)


def _by_usual_names(arrays: dict[str, Any], file: str) -> dict[str, Any]:
    """Return the arrays of a file by their usual names."""
    if "hypothesis" in arrays:
        arrays["labels"] = arrays.pop("hypothesis")
    if _ALONE in arrays:
        arrays = dict(zip(_NAMED, _pair(arrays[_ALONE]) or (), strict=False))
    elif _NAMED[0] not in arrays:
        arrays |= {name: arrays[unnamed] for name, unnamed in zip(_NAMED, _UNNAMED, strict=True) if unnamed in arrays}
    if not all(name in arrays for name in _NAMED):
        raise InputError("no scores with labels; expected arrays named scores and labels", path=file)
    return {name: array for name, array in arrays.items() if name not in _UNNAMED}


_BOSARIS = "bosaris"


def read_hdf5(source: InputFile, role: Role) -> Table:
    """Return the trials that a mask selects, as a table without line numbers.

    Raises
    ------
    MissingExtra
        When h5py is not installed.
    InputError
        When the file lacks a dataset or their shapes do not fit.
    """
    h5py = optional("h5py", "hdf5", f"{source.name}: reading BOSARIS files (HDF5)")
    place = source.path if source.held is None else BytesIO(source.held)
    with reading_file(source.name, "HDF5"), h5py.File(place, "r") as file:
        models = _ids(file, ("ID/row_ids", "modelset", "model_names"))
        segments = _ids(file, ("ID/column_ids", "segset", "test_names"))
        shape = len(models), len(segments)
        if role == "key" and "tar_mask" in file:  # as PyBOSARIS writes it
            values = _matrix(file, ("tar_mask",), shape) - _matrix(file, ("non_mask",), shape)
        else:
            values = _matrix(file, ("trial_mask",) if role == "key" else ("scores", "score_mat"), shape)
        masked = role == "scores" and "score_mask" in file
        mask = _matrix(file, ("score_mask",), shape) if masked else np.ones(shape, bool)
    if role == "key":
        invalid = values[~np.isin(values, (-1, 0, 1))]
        if invalid.size:
            raise InputError(f"trial_mask holds {invalid.flat[0]:g}; expected 1, -1 or 0", path=source.name)
        mask = values
    rows, columns = np.nonzero(mask)
    if not len(rows):
        raise InputError("empty: its mask selects no trial; expected at least one", path=source.name)
    selected = values[rows, columns]
    frame = pl.DataFrame({"enrol": pl.Series(models)[rows], "trial": pl.Series(segments)[columns]})
    value = pl.Series("label", selected > 0) if role == "key" else pl.Series("score", selected)
    return Table(source.name, _BOSARIS, frame.with_columns(value), None)


def only_array(source: InputFile) -> Any:
    """Return the only array of an HDF5 file, as bob writes it; None where there are several, or none."""
    h5py = optional("h5py", "hdf5", f"{source.name}: reading an array of HDF5")
    place = source.path if source.held is None else source.stream()
    with reading_file(source.name, "HDF5"), h5py.File(place, "r") as file:
        names = [name for name in file if hasattr(file[name], "nbytes")]
        return np.asarray(_dataset(file, (names[0],))[1]) if len(names) == 1 else None


def _dataset(file: Any, names: tuple[str, ...]) -> tuple[str, Any]:
    """Return name and values of the first of several datasets, unless it is much larger than what the file holds."""
    name = next((name for name in names if name in file), None)
    if name is None:
        raise InputError(f"no dataset {' or '.join(names)}; expected a BOSARIS or SIDEKIT file")
    dataset = file[name]
    if not hasattr(dataset, "nbytes"):
        raise InputError(f"{dataset.name} is a group; expected a dataset")
    if dataset.nbytes > 4 * dataset.id.get_storage_size():
        check_size(int(dataset.nbytes), file.filename)
    return name, dataset[()]


def _ids(file: Any, names: tuple[str, ...]) -> StrArray:
    """Return the identifiers of a side, each once."""
    name, values = _dataset(file, names)
    cells = np.ravel(values).tolist()
    ids = np.array([cell.decode("utf-8") if isinstance(cell, bytes) else str(cell) for cell in cells], np.str_)
    if len(np.unique(ids)) != len(ids):
        raise InputError(f"{name}: identifiers repeat; expected each once")
    if (ids == "").any():
        raise InputError(f"{name}: empty identifier; expected a name")
    return ids


def _matrix(file: Any, names: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    """Return a matrix of numbers, models x segments."""
    name, values = _dataset(file, names)
    values = np.asarray(values)
    if values.shape != shape or values.dtype.kind not in "biuf":
        size = " x ".join(map(str, shape))
        raise InputError(f"{name}: {values.dtype} {values.shape}; expected numbers, models x segments = {size}")
    return values.astype(np.float64)


SCORE_FORMATS.add(
    ScoreFormat(
        name=_ARRAYS,
        description="scores and labels in NumPy `.npz` or `.npy`",
        binary=Binary((NPZ, NPY), read_labelled),
        takes=is_labelled,
        place=55,
    ),
    ScoreFormat(
        name=_BOSARIS,
        description="BOSARIS, PyBOSARIS or SIDEKIT, models x segments in HDF5",
        binary=Binary((HDF5,), read_hdf5),
        place=70,
    ),
)

"""BOSARIS and SIDEKIT score and key files in HDF5: models in rows, test segments in columns.

Scores: ``scores`` (or ``score_mat``) and ``score_mask``; keys: ``trial_mask`` with 1 target, -1 non-target,
0 no trial. Identifiers: ``ID/row_ids`` and ``ID/column_ids`` (BOSARIS) or ``modelset`` and ``segset``
(SIDEKIT).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from zeroevidence._typing import StrArray
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.size_limits import check_size
from zeroevidence.data.formats.input_file import HDF5, InputFile
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.layout import Role
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, ScoreFormat
from zeroevidence.errors import InputError, MissingExtra

_NAME = "bosaris"


def read_hdf5(source: InputFile, role: Role) -> Table:
    """Return the trials that a mask selects, as a table without line numbers.

    Raises
    ------
    MissingExtra
        When h5py is not installed.
    InputError
        When the file lacks a dataset or their shapes do not fit.
    """
    models, segments, values, mask = _contents(source, role)
    if role == "key":
        invalid = values[~np.isin(values, (-1, 0, 1))]
        if invalid.size:
            raise InputError(f"trial_mask holds {invalid.flat[0]:g}; expected 1, -1 or 0", path=source.name)
        mask = values
    rows, columns = np.nonzero(np.ones(values.shape, bool) if mask is None else mask)
    if not len(rows):
        raise InputError("empty: its mask selects no trial; expected at least one", path=source.name)
    selected = values[rows, columns]
    problems = FileProblems(source.name)
    for at in np.flatnonzero(np.isnan(selected)):
        where = f"model '{models[rows[at]]}', segment '{segments[columns[at]]}'"
        problems.add(None, f"score {selected[at]} of {where} is not finite; expected a finite number")
    frame = pl.DataFrame({"enrol": pl.Series(models)[rows], "trial": pl.Series(segments)[columns]})
    value = pl.Series("label", selected > 0) if role == "key" else pl.Series("score", selected)
    return Table(source.name, _NAME, frame.with_columns(value), None, tuple(problems.all()))


def _contents(source: InputFile, role: Role) -> tuple[StrArray, StrArray, Any, Any | None]:
    """Return models, segments, the values of each pair, and the mask of those that were scored."""
    try:
        import h5py
    except ImportError:
        raise MissingExtra("hdf5", f"{source.name}: reading BOSARIS files (HDF5)") from None
    place = source.path if source.held is None else source.stream()
    with reading_file(source.name, "HDF5"), h5py.File(place, "r") as file:
        models = _ids(file, ("ID/row_ids", "modelset"))
        segments = _ids(file, ("ID/column_ids", "segset"))
        names = ("trial_mask",) if role == "key" else ("scores", "score_mat")
        values = _matrix(file, names, (len(models), len(segments)))
        masked = role == "scores" and "score_mask" in file
        return models, segments, values, _matrix(file, ("score_mask",), values.shape) if masked else None


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
        name=_NAME,
        description="BOSARIS or SIDEKIT, models x segments in HDF5",
        binary=Binary((HDF5,), read_hdf5),
        place=70,
    )
)

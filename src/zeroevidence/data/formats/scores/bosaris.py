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
from zeroevidence.data.files.size_limits import check_size
from zeroevidence.data.formats.input_file import HDF5, InputFile
from zeroevidence.data.formats.scores.reading.layout import Role
from zeroevidence.data.formats.scores.reading.table import Problems, Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, ScoreFormat
from zeroevidence.errors import InputError, MissingExtra

_NAME = "bosaris"


def read_hdf5(source: InputFile, role: Role) -> Table:
    """The trials that a mask selects, as a table without line numbers.

    Raises
    ------
    MissingExtra
        When h5py is not installed.
    InputError
        When the file lacks a dataset or their shapes do not fit.
    """
    models, segments, values, mask = _contents(source, role)
    if role == "key":
        strange = values[~np.isin(values, (-1, 0, 1))]
        if strange.size:
            raise InputError(f"trial_mask holds {strange.flat[0]:g}; expected 1, -1 or 0", path=source.name)
        mask = values
    rows, columns = np.nonzero(np.ones(values.shape, bool) if mask is None else mask)
    if not len(rows):
        raise InputError("empty: its mask selects no trial; expected at least one", path=source.name)
    picked = values[rows, columns]
    problems = Problems(source.name)
    for at in np.flatnonzero(np.isnan(picked)):
        where = f"model '{models[rows[at]]}', segment '{segments[columns[at]]}'"
        problems.add(None, f"score {picked[at]} of {where} is not finite; expected a finite number")
    frame = pl.DataFrame({"enrol": pl.Series(models)[rows], "trial": pl.Series(segments)[columns]})
    value = pl.Series("label", picked > 0) if role == "key" else pl.Series("score", picked)
    return Table(source.name, _NAME, frame.with_columns(value), None, True, tuple(problems.all()))


def _contents(source: InputFile, role: Role) -> tuple[StrArray, StrArray, Any, Any | None]:
    """Models, segments, the values of each pair, and the mask of those that were scored."""
    try:
        import h5py
    except ImportError:
        raise MissingExtra("hdf5", f"{source.name}: reading BOSARIS files (HDF5)") from None
    try:
        with h5py.File(source.open(), "r") as file:
            models = _ids(file, ("ID/row_ids", "modelset"), source.name)
            segments = _ids(file, ("ID/column_ids", "segset"), source.name)
            names = ("trial_mask",) if role == "key" else ("scores", "score_mat")
            values = _matrix(file, names, (len(models), len(segments)), source.name)
            masked = role == "scores" and "score_mask" in file
            mask = _matrix(file, ("score_mask",), values.shape, source.name) if masked else None
            return models, segments, values, mask
    except InputError:
        raise
    except Exception as error:  # a damaged file fails wherever the damage is
        raise InputError(f"cannot be read as HDF5: {error}", path=source.name) from None


def _unpacked(dataset: Any, name: str) -> Any:
    """All of a dataset, unless it is much larger than what the file holds of it."""
    if not hasattr(dataset, "nbytes"):
        raise InputError(f"{dataset.name} is a group; expected a dataset", path=name)
    if dataset.nbytes > 4 * dataset.id.get_storage_size():
        check_size(int(dataset.nbytes), name)
    return dataset[()]


def _ids(file: Any, names: tuple[str, ...], name: str) -> StrArray:
    found = next((path for path in names if path in file), None)
    if found is None:
        raise InputError(f"no dataset {' or '.join(names)}; expected a BOSARIS or SIDEKIT file", path=name)
    values = np.ravel(_unpacked(file[found], name)).tolist()
    ids = np.array([value.decode("utf-8") if isinstance(value, bytes) else str(value) for value in values], np.str_)
    if len(np.unique(ids)) != len(ids):
        raise InputError(f"{found}: identifiers repeat; expected each once", path=name)
    if (ids == "").any():
        raise InputError(f"{found}: empty identifier; expected a name", path=name)
    return ids


def _matrix(file: Any, names: tuple[str, ...], shape: tuple[int, ...], name: str) -> Any:
    found = next((path for path in names if path in file), None)
    if found is None:
        raise InputError(f"no dataset {' or '.join(names)}; expected a BOSARIS or SIDEKIT file", path=name)
    values = np.asarray(_unpacked(file[found], name))
    if values.shape != shape or values.dtype.kind not in "biuf":
        size = " x ".join(map(str, shape))
        raise InputError(
            f"{found}: {values.dtype} {values.shape}; expected numbers, models x segments = {size}", path=name
        )
    return values.astype(np.float64)


SCORE_FORMATS.add(
    ScoreFormat(
        name=_NAME,
        words="BOSARIS or SIDEKIT, models x segments in HDF5",
        binary=Binary((HDF5,), read_hdf5),
        place=70,
    )
)

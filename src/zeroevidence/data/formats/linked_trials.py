"""Per-trial evidence of a search, from the folder that `zeroevidence link` wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.files.csv_cells import unescape_table
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.formats.input_file import InputFile, load_parquet, open_input
from zeroevidence.errors import InputError

_COLUMNS = ("trial", "speaker", "lid", "greater", "equal")


@dataclass(frozen=True, slots=True, eq=False)
class LinkedTrials:
    """Per-trial evidence of one search, in alphabetical order of the trials.

    Parameters
    ----------
    folder
        Where it was read.
    identities
        How many were searched.
    trial
        Identifier of each trial.
    speaker
        Its speaker.
    lid
        Its disclosure in bits.
    greater
        How many other identities score higher than the speaker.
    equal
        How many score the same.
    """

    folder: str
    identities: int
    trial: StrArray
    speaker: StrArray
    lid: FloatArray
    greater: IntArray
    equal: IntArray


def has_trials(folder: str | Path) -> bool:
    """Return whether a folder has a per-trial table beside its result, as `link` writes it."""
    return _find_table(Path(folder)) is not None


def _find_table(home: Path) -> Path | None:
    names = (home / f"trials.{kind}" for kind in ("parquet", "csv"))
    return next((path for path in names if path.is_file()), None)


def read_linked(folder: str | Path, identities: int) -> LinkedTrials:
    """Return the per-trial table of a folder that `link` wrote; its result gives the number of identities."""
    home, path = Path(folder), _find_table(Path(folder))
    if path is None:
        raise InputError("no trials.parquet or trials.csv; expected a folder that `zeroevidence link` wrote", path=home)
    with reading_file(path, "the table of a search"):
        table = (load_parquet if path.suffix == ".parquet" else _read_csv)(open_input(path))
        missing = [column for column in _COLUMNS if column not in table.columns]
        if missing:
            raise InputError(f"has no column {missing[0]!r}; expected the table of `zeroevidence link`")
        if len(table) == 0:
            raise InputError("no trials; expected at least one")
        trial, speaker = (_names(table[name]) for name in ("trial", "speaker"))
        if len(np.unique(trial)) < len(table):
            raise InputError("a trial occurs twice; expected each once")
        order = np.argsort(trial)
        greater, equal = (_ranks(table[name], identities)[order] for name in ("greater", "equal"))
        outside = np.flatnonzero(greater + equal >= identities)
        if len(outside):
            raise InputError(f"trial {trial[order][outside[0]]!s}: ranked below all {identities} identities")
        lid = _bits(table["lid"])[order]
        return LinkedTrials(str(folder), identities, trial[order], speaker[order], lid, greater, equal)


def _read_csv(file: InputFile) -> pl.DataFrame:
    kinds = {"lid": pl.Float64, "greater": pl.Int64, "equal": pl.Int64, "trial": pl.String, "speaker": pl.String}
    with file.stream() as stream:
        return unescape_table(pl.read_csv(stream, schema_overrides=kinds, infer_schema=False))


def _names(column: pl.Series) -> StrArray:
    if not (column.dtype == pl.String or column.dtype.is_integer()) or column.null_count():
        raise InputError(f"{column.name}: expected a name for each trial")
    return np.array(column.cast(pl.String).to_list(), dtype=np.str_)


def _ranks(column: pl.Series, identities: int) -> IntArray:
    if not column.dtype.is_integer() or column.null_count():
        raise InputError(f"{column.name}: expected a whole number for each trial")
    outside = (column < 0) | (column >= identities)
    if outside.any():
        raise InputError(f"{column.name}: {column.filter(outside)[0]} lies outside of 0 to {identities - 1}")
    return column.cast(pl.Int64).to_numpy().astype(np.int64)


def _bits(column: pl.Series) -> FloatArray:
    if not column.dtype.is_numeric() or column.null_count() or not column.cast(pl.Float64).is_finite().all():
        raise InputError(f"{column.name}: expected a finite number for each trial")
    return column.cast(pl.Float64).to_numpy().astype(np.float64)

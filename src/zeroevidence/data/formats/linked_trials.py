"""Folders that `zeroevidence link` wrote: what each trial of a search disclosed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.files.csv_cells import unescape_table
from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.formats.input_file import check_parquet, locate
from zeroevidence.errors import InputError

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")  # gzip, zstd, zlib
_COLUMNS = ("trial", "speaker", "lid", "greater", "equal")


@dataclass(frozen=True, slots=True, eq=False)
class LinkedTrials:
    """Per-trial evidence of one search, in alphabetical order of the trials."""

    folder: str
    identities: int
    trial: StrArray
    speaker: StrArray
    lid: FloatArray
    greater: IntArray
    equal: IntArray


def has_trials(folder: str | Path) -> bool:
    """Whether a folder has a per-trial table beside its result, as `link` writes it."""
    return _table(Path(folder)) is not None


def _table(home: Path) -> Path | None:
    names = (home / f"trials.{kind}" for kind in ("parquet", "csv"))
    return next((path for path in names if path.is_file()), None)


def read_linked(folder: str | Path, identities: int) -> LinkedTrials:
    """The per-trial table of a folder that `link` wrote; its result says how many identities were searched."""
    home, found = Path(folder), _table(Path(folder))
    if found is None:
        raise InputError("no trials.parquet or trials.csv; expected a folder that `zeroevidence link` wrote", path=home)
    with reading_file(found, "the table of a search"):
        table = _read_parquet(found) if found.suffix == ".parquet" else _read_csv(found)
        missing = [column for column in _COLUMNS if column not in table.columns]
        if missing:
            raise InputError(f"has no column {missing[0]!r}; expected the table of `zeroevidence link`")
        if len(table) == 0:
            raise InputError("no trials; expected at least one")
        words = {name: _words(table[name]) for name in ("trial", "speaker")}
        if len(np.unique(words["trial"])) < len(table):
            raise InputError("a trial occurs twice; expected each once")
        order = np.argsort(words["trial"])
        greater, equal = (_ranks(table[name], identities)[order] for name in ("greater", "equal"))
        odd = np.flatnonzero(greater + equal >= identities)
        if len(odd):
            raise InputError(f"trial {words['trial'][order][odd[0]]!s}: ranked below all {identities} identities")
        lid = _bits(table["lid"])[order]
        return LinkedTrials(
            str(folder), identities, words["trial"][order], words["speaker"][order], lid, greater, equal
        )


def _read_parquet(path: Path) -> pl.DataFrame:
    check_parquet(locate(path))
    return pl.read_parquet(path)


def _read_csv(path: Path) -> pl.DataFrame:
    with path.open("rb") as file:
        if file.read(4).startswith(_PACKED):
            raise InputError("compressed; expected text (unpack it first)")  # polars would unpack it unasked
    kinds = {"lid": pl.Float64, "greater": pl.Int64, "equal": pl.Int64, "trial": pl.String, "speaker": pl.String}
    return unescape_table(pl.read_csv(path, schema_overrides=kinds, infer_schema=False))


def _words(column: pl.Series) -> StrArray:
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

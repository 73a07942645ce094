"""Folders that `zeroevidence link` wrote: what each trial of a search disclosed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.errors import InputError

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
    try:
        table = pl.read_parquet(found) if found.suffix == ".parquet" else pl.read_csv(found, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"cannot be read: {error}", path=found) from None
    missing = [column for column in _COLUMNS if column not in table.columns]
    if missing:
        raise InputError(f"has no column {missing[0]!r}; expected the table of `zeroevidence link`", path=found)
    table = table.with_columns(pl.col("trial", "speaker").cast(pl.String)).sort("trial")
    return LinkedTrials(
        str(folder),
        identities,
        table["trial"].to_numpy().astype(np.str_),
        table["speaker"].to_numpy().astype(np.str_),
        table["lid"].to_numpy().astype(np.float64),
        table["greater"].to_numpy().astype(np.int64),
        table["equal"].to_numpy().astype(np.int64),
    )

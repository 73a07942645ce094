"""Scores and evidence of every trial, as audits and searches keep them beside their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.files import check_archive, is_file, reading_file
from zeroevidence.data.formats.input_file import InputFile, load_parquet, open_input
from zeroevidence.data.json_values import read_json, typed
from zeroevidence.data.matrix import FoldedScores, ScoreMatrix
from zeroevidence.data.writing import write_atomically
from zeroevidence.errors import InputError

FILE = "scores.npz"
_NAMES = ("trials", "enrolments", "trial_speakers", "enrolment_speakers")
_SIDES = ("evaluated", "development")
_INDEX = "index"
_FORMULA, _ESCAPED = "^[=+@\t\r-]", "^'[=+@\t\r-]"


@dataclass(frozen=True, slots=True, eq=False)
class AttackScores:
    """The scores of one attacker, as `evaluate` takes them.

    Parameters
    ----------
    scores
        Scores of the evaluated people; those of folds contain their development scores.
    dev
        Scores of the development people, where there is one fold.
    """

    scores: ScoreMatrix | FoldedScores
    dev: ScoreMatrix | None = None

    @property
    def sides(self) -> tuple[tuple[ScoreMatrix, ...], tuple[ScoreMatrix, ...]]:
        """The searches of the evaluated people, and those of the development people."""
        if isinstance(self.scores, FoldedScores):
            return self.scores.parts, self.scores.dev
        return (self.scores,), () if self.dev is None else (self.dev,)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Of one attacker the numbers of the searches of evaluated and of development people."""

    evaluated: tuple[int, ...]
    development: tuple[int, ...]


def has_attack_scores(folder: str | Path) -> bool:
    """Return whether a folder holds the scores of an audit."""
    return is_file(Path(folder) / FILE)


def write_attack_scores(attackers: Sequence[AttackScores], folder: str | Path) -> Path:
    """Write the scores of all attackers into a folder, in their order, and return the file."""
    arrays: dict[str, NDArray[Any]] = {}
    searches: list[ScoreMatrix] = []
    index = []
    for number, attacker in enumerate(attackers):
        numbers = []
        for side, matrices in zip(_SIDES, attacker.sides, strict=True):
            numbers.append([_search_number(searches, matrix) for matrix in matrices])
            arrays |= {f"{number}.{side}.{place}": matrix.scores for place, matrix in enumerate(matrices)}
        index.append(dict(zip(_SIDES, numbers, strict=True)))
    for number, search in enumerate(searches):
        arrays |= {f"{name}.{number}": getattr(search, name) for name in _NAMES if getattr(search, name) is not None}
        arrays[f"mated.{number}"] = search.mated
    arrays[_INDEX] = np.array(json.dumps(index))
    path = Path(folder) / FILE

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]

    write_atomically(path, write)
    return path


def _search_number(searches: list[ScoreMatrix], matrix: ScoreMatrix) -> int:
    """Return the number of the search with the same trials and people, which is added where it is new."""
    for number, search in enumerate(searches):
        if all(np.array_equal(getattr(search, name), getattr(matrix, name)) for name in (*_NAMES, "mated")):
            return number
    searches.append(matrix)
    return len(searches) - 1


def read_attack_scores(folder: str | Path) -> list[AttackScores]:
    """Return the scores of every attacker of an audit, in the order of its rows."""
    path = Path(folder) / FILE
    with reading_file(path, "the scores of an audit"), path.open("rb") as stream:
        check_archive(stream, path)
        with np.load(stream, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        entries = typed(tuple[_Entry, ...], read_json(str(arrays[_INDEX]), path), _INDEX)
        return [_attacker(arrays, number, entry) for number, entry in enumerate(entries)]


def _attacker(arrays: dict[str, NDArray[Any]], number: int, entry: _Entry) -> AttackScores:
    evaluated, development = (
        [_matrix(arrays, f"{number}.{side}.{place}", search) for place, search in enumerate(getattr(entry, side))]
        for side in _SIDES
    )
    if len(evaluated) > 1:
        return AttackScores(FoldedScores(tuple(evaluated), tuple(development)))
    if len(evaluated) != 1 or len(development) > 1:
        raise InputError(f"attacker {number + 1}: expected a search of evaluated people, and one of development people")
    return AttackScores(evaluated[0], development[0] if development else None)


def _matrix(arrays: dict[str, NDArray[Any]], name: str, search: int) -> ScoreMatrix:
    names: dict[str, Any] = {part: arrays.get(f"{part}.{search}") for part in _NAMES}
    matrix = ScoreMatrix(arrays[name], arrays[f"mated.{search}"], **names)
    if not np.isfinite(matrix.scores).all():
        raise InputError(f"{name}: expected finite scores; no audit has others")
    return matrix


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


def escape_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with all cells of text that begin like formulas escaped, as `escape_cell` does."""
    return _replace_cells(frame, _FORMULA, lambda cell: "'" + cell)


def unescape_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table that `escape_table` was given."""
    return _replace_cells(frame, _ESCAPED, lambda cell: cell.str.slice(1))


def _replace_cells(frame: pl.DataFrame, pattern: str, change: Callable[[pl.Expr], pl.Expr]) -> pl.DataFrame:
    """Change the cells of text that match a pattern."""
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(pattern)).then(change(text)).otherwise(text).name.keep())

"""The scores of every attacker of an audit in one compressed archive, so that audits can be compared trial by trial.

Names of trials and people are stored once for all attackers that share them. An array of text holds, as JSON, which
names and scores belong to which attacker.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.files.errors import is_file, reading_file
from zeroevidence.data.files.json_values import read_json, typed
from zeroevidence.data.files.size_limits import check_archive
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.folded_scores import FoldedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError

FILE = "scores.npz"
_NAMES = ("trials", "enrolments", "trial_speakers", "enrolment_speakers")
_INDEX = "index"


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
        for side, matrices in zip(("evaluated", "development"), attacker.sides, strict=True):
            numbers.append([_search_number(searches, matrix) for matrix in matrices])
            arrays |= {f"{number}.{side}.{place}": matrix.scores for place, matrix in enumerate(matrices)}
        index.append(dict(zip(("evaluated", "development"), numbers, strict=True)))
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
        if all(_same(getattr(search, name), getattr(matrix, name)) for name in (*_NAMES, "mated")):
            return number
    searches.append(matrix)
    return len(searches) - 1


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


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
    evaluated = [_matrix(arrays, f"{number}.evaluated.{place}", search) for place, search in enumerate(entry.evaluated)]
    development = [
        _matrix(arrays, f"{number}.development.{place}", search) for place, search in enumerate(entry.development)
    ]
    if len(evaluated) > 1:
        return AttackScores(FoldedScores(tuple(evaluated), tuple(development)))
    if len(evaluated) != 1 or len(development) > 1:
        raise InputError(f"attacker {number + 1}: expected a search of evaluated people, and one of development people")
    return AttackScores(evaluated[0], development[0] if development else None)


def _matrix(arrays: dict[str, NDArray[Any]], name: str, search: int) -> ScoreMatrix:
    names = {part: arrays.get(f"{part}.{search}") for part in _NAMES}
    matrix = ScoreMatrix(arrays[name], arrays[f"mated.{search}"], **names)
    if not np.isfinite(matrix.scores).all():
        raise InputError(f"{name}: expected finite scores; no audit has others")
    return matrix

"""Trials divided by a column of the key: a codec, a room, a vocoder.

A column may apply to all trials, as a codec does, or to spoofs alone, as a vocoder does. In the second case the bona
fide speech belongs to every part, as it does when attacks are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from zeroevidence.data.formats.asvspoof.sides import CONDITION, JoinedSide, Side
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import Problem

_UNUSABLE = ("trial", "key", "score", "enrol")
_SPOOF = pl.col("key") == "spoof"


def divide(sides: Mapping[Side, JoinedSide]) -> dict[str, dict[Side, pl.DataFrame]]:
    """Return the trials of each side by the values of the column; a side without the column is whole in all parts."""
    main = sides.get("cm") or sides["sasv"]
    shared = _is_shared(main.frame)
    frame = main.frame if shared else main.frame.filter(_SPOOF)
    return {
        value: {side: _part(joined.frame, value, shared) for side, joined in sides.items()}
        for value in sorted(frame[CONDITION].unique())
    }


def _is_shared(frame: pl.DataFrame) -> bool:
    """Return whether spoofs and other trials have a value in common."""
    return not set(frame.filter(_SPOOF)[CONDITION]).isdisjoint(frame.filter(~_SPOOF)[CONDITION])


def _part(frame: pl.DataFrame, value: str, shared: bool) -> pl.DataFrame:
    if CONDITION not in frame.columns:
        return frame
    here = pl.col(CONDITION) == value
    return frame.filter(here if shared else here | ~_SPOOF)


def division_problems(sides: Mapping[Side, JoinedSide], by: str) -> list[Problem]:
    """Return why trials cannot be divided: no such column, or a part without some kind of trial."""
    main = sides.get("cm") or sides.get("sasv")
    if main is None:
        return []
    if CONDITION not in main.frame.columns or by in _UNUSABLE:
        columns = ", ".join(column for column in main.columns if column not in _UNUSABLE) or "none"
        reason = f"no column {by!r} to divide trials by (there is: {columns}); expected a key that has it"
        return [Problem(main.table.name, None, reason)]
    problems = []
    for value, frames in divide(sides).items():
        for side, frame in frames.items():
            for kind in sorted(set(KINDS[side]) - set(frame["key"]), key=KINDS[side].index):
                reason = f"no {kind} trials with {by} {value!r}; expected {', '.join(KINDS[side])}"
                problems.append(Problem(sides[side].table.name, None, reason))
    return problems

"""Trials told apart by a column of the key: a codec, a room, a vocoder.

A column may say something of all trials, as a codec does, or of spoofs alone, as a vocoder does. In the second case
the bona fide speech belongs to every part, as it does when attacks are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from zeroevidence.data.formats.asvspoof.join import CONDITION, JoinedSide
from zeroevidence.data.formats.asvspoof.layout import Side
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import Problem

_NOT_TOLD = ("trial", "key", "score", "enrol")
_SPOOF = pl.col("key") == "spoof"


def in_parts(sides: Mapping[Side, JoinedSide]) -> dict[str, dict[Side, pl.DataFrame]]:
    """The trials of each side by what the column says; a verifier whose key lacks it is the same in all parts."""
    main = sides.get("cm") or sides["sasv"]
    shared = _is_shared(main.frame)
    told = main.frame if shared else main.frame.filter(_SPOOF)
    return {
        value: {side: _part(one.frame, value, shared) for side, one in sides.items()}
        for value in sorted(told[CONDITION].unique())
    }


def _is_shared(frame: pl.DataFrame) -> bool:
    """Whether spoofs and other trials have a value in common."""
    spoofs, others = (set(frame.filter(which)[CONDITION]) for which in (_SPOOF, ~_SPOOF))
    return not spoofs.isdisjoint(others)


def _part(frame: pl.DataFrame, value: str, shared: bool) -> pl.DataFrame:
    if CONDITION not in frame.columns:
        return frame
    here = pl.col(CONDITION) == value
    return frame.filter(here if shared else here | ~_SPOOF)


def lacking_in_parts(sides: Mapping[Side, JoinedSide], by: str) -> list[Problem]:
    """Why trials cannot be told apart: no such column, or a part without some kind of trial."""
    main = sides.get("cm") or sides.get("sasv")
    if main is None:
        return []
    if CONDITION not in main.frame.columns or by in _NOT_TOLD:
        known = ", ".join(column for column in main.columns if column not in _NOT_TOLD) or "none"
        reason = f"no column {by!r} to tell trials apart by (there is: {known}); expected a key that has it"
        return [Problem(main.table.name, None, reason)]
    problems = []
    for value, frames in in_parts(sides).items():
        for side, frame in frames.items():
            there = set(frame["key"])
            for kind in (kind for kind in KINDS[side] if kind not in there):
                reason = f"no {kind} trials with {by} {value!r}; expected {', '.join(KINDS[side])}"
                problems.append(Problem(sides[side].table.name, None, reason))
    return problems

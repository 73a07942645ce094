"""Rows divided into the tables that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.beside import utility_beside


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one table, and the measures that were named for it."""

    rows: list[Evaluation]
    measures: Sequence[str] | None


def sections(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[Section]:
    """Divide rows into tables: attackers with utility beside privacy, then the utility that fits none of them.

    Where measures are named, only rows that have one of them are shown, and of several tables each shows those that it
    has.
    """
    joined = utility_beside(rows)
    if measures is not None:
        joined = [row for row in joined if any(name in row for name in measures)] or joined
    attacks = [row for row in joined if row.about.speech is None]
    utility = [row for row in joined if row.about.speech is not None]
    parts = [part for part in (attacks, utility) if part]
    if len(parts) < 2 or measures is None:
        return [Section(part, measures) for part in parts]
    return [Section(part, [name for name in measures if any(name in row for row in part)]) for part in parts]

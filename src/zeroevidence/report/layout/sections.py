"""Which rows a table is of."""

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
    """The tables that rows take: attackers with utility beside privacy, then the utility that fits none of them.

    Of named measures, only rows that have one of them are shown, and of several tables each shows those that it has.
    """
    lines = utility_beside(rows)
    if measures is not None:
        lines = [row for row in lines if any(name in row for name in measures)] or lines
    apart = ([row for row in lines if (row.about.speech is not None) == useful] for useful in (False, True))
    found = [own for own in apart if own]
    if len(found) < 2 or measures is None:
        return [Section(own, measures) for own in found]
    return [Section(own, [name for name in measures if any(name in row for row in own)]) for own in found]

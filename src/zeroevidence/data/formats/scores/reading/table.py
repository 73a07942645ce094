"""One file as a table: identifiers, scores, labels, and the line that each row came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.errors import Problem

LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class Table:
    """What one file says, row by row.

    Parameters
    ----------
    name, format
        The file as the user wrote it, and how it was understood.
    frame
        Columns among enrol, trial, enrol_speaker, trial_speaker (String), score (Float64), label (Boolean).
        A null score or label is one that `problems` already mentions.
    lines
        The line (or row) of each row; None where there is none to name, or where nobody looked yet.
    located
        Whether problems can be reported from this table; otherwise the file must be read again, carefully.
    """

    name: str
    format: str
    frame: pl.DataFrame
    lines: IntArray | range | None
    located: bool
    problems: tuple[Problem, ...] = ()

    def has(self, column: str) -> bool:
        """Whether the file has this column."""
        return column in self.frame.columns

    def line(self, row: int) -> int | None:
        """The line of a row."""
        return None if self.lines is None else int(self.lines[row])

    def where(self, row: int) -> str:
        """A row in words, for messages of another file."""
        line = self.line(row)
        return self.name if line is None else f"{self.name}:{line}"

    def pair(self, row: int) -> str:
        """The identifiers of a row in words."""
        return f"{self.frame['enrol'][row]} {self.frame['trial'][row]}"


def finite_only(table: Table, advice: str) -> Table:
    """The same with a problem for each infinite score, among the others in the order of lines."""
    if not table.has("score"):
        return table
    scores = table.frame["score"].to_numpy()
    rows = np.flatnonzero(np.isinf(scores))
    if not len(rows):
        return table
    found = Problems(table.name)

    def reason(at: int) -> str:
        row = int(rows[at])
        unlined = f" of '{table.pair(row)}'" if table.has("enrol") else f" at position {row}"
        where = unlined if table.lines is None else ""
        return f"score '{scores[row]}'{where} is not finite; expected a finite number{advice}"

    found.each(table, rows, reason)
    both = sorted((*table.problems, *found.all()), key=lambda one: (one.line is None, one.line or 0))
    return replace(table, problems=tuple(both))


class Problems:
    """Problems in the order found, cut where nobody reads on (a wrong file of millions of lines)."""

    def __init__(self, name: str, limit: int | None = None) -> None:
        self.name = name
        self.limit = LIMIT if limit is None else limit
        self.found: list[Problem] = []
        self.unlisted = 0

    def add(self, line: int | None, reason: str) -> None:
        """One more."""
        if len(self.found) < self.limit:
            self.found.append(Problem(self.name, line, reason))
        else:
            self.unlisted += 1

    def each(self, table: Table, rows: IntArray, reason: Callable[[int], str]) -> None:
        """One for each of these rows; those beyond the limit are not even put into words."""
        room = max(self.limit - len(self.found), 0)
        for at, row in enumerate(rows[:room].tolist()):
            self.add(table.line(row), reason(at))
        self.unlisted += max(len(rows) - room, 0)

    def all(self) -> list[Problem]:
        """Those listed, and a last one that counts the rest."""
        rest = [Problem(self.name, None, f"{self.unlisted} further problems are not listed")] if self.unlisted else []
        return self.found + rest

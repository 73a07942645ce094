"""Lists of the problems of a file, each with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from zeroevidence._typing import IntArray
from zeroevidence.errors import InputError, Problem

LIMIT = 100_000


class NumberedRows(Protocol):
    """Rows that know the line of a file that they came from."""

    def line(self, row: int) -> int | None:
        """The line of a row, None where there is none to name."""


class FileProblems:
    """Problems of one file in the order in which they occur, up to a limit (a wrong file may have millions of lines).

    Parameters
    ----------
    name
        The file as the user wrote it.
    limit
        How many are listed; the others are counted.
    """

    def __init__(self, name: str, limit: int | None = None) -> None:
        self.name = name
        self.limit = LIMIT if limit is None else limit
        self._listed: list[Problem] = []
        self._unlisted = 0

    def __len__(self) -> int:
        return len(self._listed) + self._unlisted

    def add(self, line: int | None, reason: str) -> None:
        """Add a problem of a line, or of the file as a whole."""
        if len(self._listed) < self.limit:
            self._listed.append(Problem(self.name, line, reason))
        else:
            self._unlisted += 1

    def add_rows(self, table: NumberedRows, rows: IntArray, reason: Callable[[int], str]) -> None:
        """Add a problem for each of these rows of a table; reasons beyond the limit are not written.

        Parameters
        ----------
        table
            What the rows are of.
        rows
            Their numbers.
        reason
            The reason for the row at a position of `rows`.
        """
        room = max(self.limit - len(self._listed), 0)
        for at, row in enumerate(rows[:room].tolist()):
            self.add(table.line(row), reason(at))
        self._unlisted += max(len(rows) - room, 0)

    def all(self) -> list[Problem]:
        """The listed problems, and a last one that counts the others."""
        if not self._unlisted:
            return self._listed
        return [*self._listed, Problem(self.name, None, f"{self._unlisted} further problems are not listed")]

    def check(self, lister: str = "zeroevidence doctor") -> None:
        """Raise an error where there are any problems."""
        if len(self):
            raise InputError.of(self.all(), lister)

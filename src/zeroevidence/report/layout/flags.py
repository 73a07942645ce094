"""Warnings below a table, each once, with the numbers of the rows that have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import get_args

from zeroevidence.evaluation import Evaluation, Flag
from zeroevidence.evaluation.rows.flags import Severity
from zeroevidence.report.layout.labels import row_labels


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """A warning and the numbers of the rows that have it, from 1; none where there is only one row."""

    flag: Flag
    rows: tuple[int, ...]
    everywhere: bool

    @property
    def name(self) -> str:
        """The code, and which rows."""
        if not self.rows:
            return self.flag.code
        return f"{self.flag.code} ({'all rows' if self.everywhere else row_range(self.rows)})"

    @property
    def text(self) -> str:
        """The sentence with a capital."""
        return self.flag.sentence[:1].upper() + self.flag.sentence[1:]

    def __str__(self) -> str:
        return f"{self.flag.severity} {self.name}: {self.flag.sentence}"


def raised_flags(rows: Sequence[Evaluation]) -> list[RaisedFlag]:
    """Each warning once, the gravest first."""
    numbers: dict[Flag, list[int]] = {}
    for position, row in enumerate(rows, 1):
        for flag in row.flags:
            numbers.setdefault(flag, []).append(position)
    severities = get_args(Severity)
    ordered = sorted(numbers.items(), key=lambda item: severities.index(item[0].severity))
    several = len(rows) > 1
    return [RaisedFlag(flag, tuple(places) if several else (), len(places) == len(rows)) for flag, places in ordered]


def row_range(numbers: Sequence[int]) -> str:
    """``rows 1, 2, 5-8``: three and more that follow each other as a range."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        texts = [str(number) for _, number in run]
        parts += [f"{texts[0]}-{texts[-1]}"] if len(texts) > 2 else texts
    return f"row{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def row_numbers(rows: Sequence[Evaluation]) -> tuple[int, ...]:
    """The numbers of rows, where warnings name some of them or no label tells them apart; else none."""
    named = any(not flag.everywhere for flag in raised_flags(rows))
    needed = len(rows) > 1 and (named or not row_labels(rows).columns)
    return tuple(range(1, len(rows) + 1)) if needed else ()

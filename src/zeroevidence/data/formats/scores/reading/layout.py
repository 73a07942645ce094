"""Columns of a text file, and the sample of lines from which they are detected."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from zeroevidence.data.formats import text
from zeroevidence.errors import InputError

SAMPLE = 1000
HEAD = text.LONGEST_LINE  # bytes that lines are sampled from

# Single trials and their key; of a tandem, scores and keys of the countermeasure and of the verifier behind it.
Role = Literal["scores", "key", "cm", "asv", "cm_key", "asv_key"]
TANDEM_ROLES: tuple[Role, ...] = ("cm", "asv", "cm_key", "asv_key")
Lines: TypeAlias = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of columns of a table, where they are given; None where they are to be recognised.

    Parameters
    ----------
    score
        The column of scores.
    label
        The column of labels, in the key where there is one.
    """

    score: str | None = None
    label: str | None = None

    def of(self, role: Role, *, with_key: bool) -> ColumnNames:
        """Return the names that concern the scores or the key; a key has the labels."""
        if role == "key":
            return ColumnNames(None, self.label)
        return ColumnNames(self.score, None if with_key else self.label)

    @property
    def given(self) -> dict[str, str]:
        """The names by what the columns hold."""
        return {meaning: name for meaning in ("score", "label") if (name := getattr(self, meaning)) is not None}


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a text file.

    Parameters
    ----------
    format
        The format that it is in.
    columns
        What each column holds; "" is ignored.
    separator
        What separates columns; a blank stands for any run of blanks and tabs.
    header
        The line of the header, None where there is none.
    titles
        What the header calls the columns, where it is that of a table.
    """

    format: str
    columns: tuple[str, ...]
    separator: str = " "
    header: int | None = None
    titles: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """The columns as messages show them."""
        return " ".join(column or "..." for column in self.columns)


def sample_lines(data: bytes, name: str) -> Lines:
    """Return the first lines that are not blank, numbered; other encodings and empty files are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("encoded in UTF-16; expected text in UTF-8", path=name, line=1)
    sample = _sample(data, name)
    if not sample:
        raise InputError("empty; expected one trial per line", path=name)
    return sample


def first_text(data: bytes) -> int:
    """Return the position of the first line that is not blank."""
    mark = len(data) - len(text.without_mark(data))
    blank = len(data) - mark - len(data[mark:].lstrip(b" \t\r\n"))
    return data.rfind(b"\n", 0, mark + blank) + 1


def _sample(data: bytes, name: str) -> Lines:
    # Cutting a head off first avoids splitting millions of lines.
    start, end = first_text(data), len(data)
    first = 1 + data.count(b"\n", 0, start)
    if end > start + HEAD:
        end = data.rfind(b"\n", start, start + HEAD + 1) + 1
        if not end:
            raise InputError(text.TOO_LONG, path=name, line=first)
    lines = text.numbered_lines(data[start:end], first)
    full = ((number, line) for number, line in lines if not text.is_blank(line))
    return [(number, line.decode("utf-8", "replace")) for number, line in islice(full, SAMPLE)]

"""Columns of a text file, and the sample of lines from which they are detected."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from zeroevidence.data.formats import text
from zeroevidence.errors import InputError

SAMPLE = 1000
HEAD = 1 << 20  # bytes that lines are sampled from

Role = Literal["scores", "key"]
Lines: TypeAlias = list[tuple[int, str]]


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
    """

    format: str
    columns: tuple[str, ...]
    separator: str = " "
    header: int | None = None

    @property
    def expected(self) -> str:
        """The columns as messages show them."""
        return " ".join(column or "..." for column in self.columns)


def sample_lines(data: bytes, name: str) -> Lines:
    """Return the first lines that are not blank, numbered; other encodings and empty files are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("encoded in UTF-16; expected text in UTF-8", path=name, line=1)
    if data[:2] == b"\x1f\x8b":
        raise InputError("compressed with gzip; expected text (unpack it first)", path=name, line=1)
    sample = _sample(data)
    if not sample:
        raise InputError("empty; expected one trial per line", path=name)
    return sample


def _sample(data: bytes) -> Lines:
    # Cutting a head off first avoids splitting millions of lines.
    head = data[: data.rfind(b"\n", 0, HEAD) + 1] if len(data) >= HEAD else data
    full = ((number, line) for number, line in text.numbered_lines(head) if not text.is_blank(line))
    sample = [(number, line.decode("utf-8", "replace")) for number, line in islice(full, SAMPLE)]
    return sample or ([] if head is data else _sample(data.lstrip(b" \t\r\n")))

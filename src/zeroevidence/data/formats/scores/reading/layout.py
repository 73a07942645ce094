"""The columns of a text file, and the lines that are looked at to find out about them."""

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
    """The columns of a text file by position ("" is ignored), what separates them, the header's line."""

    format: str
    columns: tuple[str, ...]
    separator: str = " "
    header: int | None = None

    @property
    def expected(self) -> str:
        """The columns in words."""
        return " ".join(column or "..." for column in self.columns)


def sampled(data: bytes, name: str) -> Lines:
    """The first full lines, numbered, that decide about a layout; other encodings and empty files are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("encoded in UTF-16; expected text in UTF-8", path=name, line=1)
    if data[:2] == b"\x1f\x8b":
        raise InputError("compressed with gzip; expected text (unpack it first)", path=name, line=1)
    sample = _sample(data)
    if not sample:
        raise InputError("empty; expected one trial per line", path=name)
    return sample


def _sample(data: bytes) -> Lines:
    # Cutting a head off first spares splitting millions of lines that nobody looks at.
    head = data[: data.rfind(b"\n", 0, HEAD) + 1] if len(data) >= HEAD else data
    full = ((number, line) for number, line in text.numbered_lines(head) if not text.is_blank(line))
    sample = [(number, line.decode("utf-8", "replace")) for number, line in islice(full, SAMPLE)]
    return sample or ([] if head is data else _sample(data.lstrip(b" \t\r\n")))

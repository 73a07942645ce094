"""Text that others gave: the form in which names are compared, and what would disturb printed lines and cells."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import TypeVar

_TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_MARKS = "\u200e\u200f\u061c\u2028\u2029"  # direction marks, line and paragraph separators
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how formulas begin
T = TypeVar("T")


def compose(text: str) -> str:
    """Return text in Unicode's composed form (NFC), in which names are compared.

    Examples
    --------
    >>> compose("Jose\u0301") == "Jos\u00e9"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def merge_spellings(names: Iterable[str]) -> tuple[int, str]:
    r"""Return how many names are written in several ways that look alike, and the ways of the first, as escapes.

    Examples
    --------
    >>> merge_spellings(["Jose\u0301", "Jos\u00e9", "Andr\u00e9", "ann"])
    (1, 'Jos\\xe9 and Jose\\u0301')
    """
    ways: dict[str, set[str]] = {}
    for name in names:
        if not name.isascii():
            ways.setdefault(compose(name), set()).add(name)
    several = sorted(form for form, spellings in ways.items() if len(spellings) > 1)
    shown = sorted(ways[several[0]], key=len) if several else []
    return len(several), " and ".join(ascii(name)[1:-1] for name in shown)


def printable(text: str) -> str:
    r"""Text without control characters; those that turn the direction of writing could turn what follows a name too.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    if text.isprintable():
        return text
    return "".join("\ufffd" if _is_control(letter) else letter for letter in file_name_text(text))


def file_name_text(name: str) -> str:
    r"""Return the name of a file as text that can be written; bytes of it that are not UTF-8 are replaced.

    Python keeps bytes that the locale cannot decode as lone surrogates, and no file can be written with those in it.

    Examples
    --------
    >>> file_name_text("lat\udce9.txt"), file_name_text("m\udcc3\udcbcller.txt")
    ('lat�.txt', 'müller.txt')
    """
    if name.isascii():
        return name
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return name.encode("utf-8", "replace").decode("utf-8")


def _is_control(letter: str) -> bool:
    if letter in _MARKS:
        return True
    if unicodedata.category(letter) == "Cf":
        return unicodedata.bidirectional(letter) in _TURNING
    return unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"


def labelled_lines(noun: str, fields: Mapping[str, str | list[str]], width: int | None) -> str:
    """Return the fields of a card as lines behind their names, that of the name being `noun`, wrapped at `width`."""
    lines = []
    for name, value in fields.items():
        label = noun if name == "name" else name.replace("_", " ")
        line = f"{label:<14} {' '.join(value) if isinstance(value, list) else value}"
        lines += [line] if width is None else wrap(line, width, subsequent_indent=" " * 15)
    return "\n".join(lines) + "\n"


def escape_cell(value: T) -> T | str:
    """Return text that begins like a formula with an apostrophe before it; other values as they are.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("ann"), escape_cell(-1.5)
    ("'=1+1", 'ann', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

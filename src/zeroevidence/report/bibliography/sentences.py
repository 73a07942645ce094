"""References of the measures in a report, as sentences made from their BibTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.bibliography.bibtex import BIBTEX

_ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "c": "\u0327", "v": "\u030c", "=": "\u0304"}
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reference:
    """One source, and the measures that come from it."""

    key: str
    text: str
    measures: tuple[str, ...]


def references(names: Iterable[str]) -> list[Reference]:
    """Sources of the named measures, each once, in the order of the measures."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name in MEASURES:
            for key in MEASURES[name].references:
                found.setdefault(key, []).append(MEASURES[name].title)
    return [Reference(key, sentence(BIBTEX[key]), tuple(titles)) for key, titles in found.items() if key in BIBTEX]


def sentence(bibtex: str) -> str:
    """Authors, title, where and when."""
    fields = {name: _plain(value) for name, value in _FIELD.findall(bibtex)}
    authors = [_first_last(name) for name in fields["author"].split(" and ")]
    who = ", ".join(authors[:-1]) + (" and " if len(authors) > 1 else "") + authors[-1]
    where = fields.get("journal") or fields.get("booktitle") or fields.get("publisher")
    if where and "volume" in fields:
        where += f" {fields['volume']}" + (f"({fields['number']})" if "number" in fields else "")
    if where and "pages" in fields:
        where += f", {fields['pages']}"
    parts = [who, fields["title"], *([where] if where else []), fields["year"]]
    return ". ".join(part.rstrip(".") for part in parts) + "."


def _first_last(name: str) -> str:
    last, comma, first = name.partition(", ")
    return f"{first} {last}" if comma else last


def _plain(text: str) -> str:
    def accented(match: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])

    text = re.sub(r"\{\\([\"'`cv=])\{?(\w)\}?\}", accented, text)
    return text.replace("\\&", "&").replace("--", "–").replace("{", "").replace("}", "")

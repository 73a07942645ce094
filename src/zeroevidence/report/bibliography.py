"""Sources of the measures: BibTeX, and references as sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from zeroevidence import __version__
from zeroevidence.measure.measures import MEASURES

_ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_SOFTWARE = f"""@software{{zeroevidence,
  author = {{{{The zeroevidence developers}}}},
  title = {{zeroevidence: evidence that protected speech gives about its speaker}},
  version = {{{__version__}}},
  year = {{2026}},
}}
"""


@cache
def bibtex_entries() -> dict[str, str]:
    """The entries of ``references.bib`` by key."""
    text = files("zeroevidence.report").joinpath("references.bib").read_text(encoding="utf-8")
    return {match[1]: match[0] for match in _ENTRY.finditer(text)}


def bibtex(measures: Sequence[str] = ()) -> str:
    """Return BibTeX for this toolkit and the named measures, for all measures unless some are named."""
    measured = [MEASURES.find(name) for name in measures] or MEASURES.values()
    keys = dict.fromkeys(key for measure in measured for key in measure.references)
    return "\n".join([_SOFTWARE, *(bibtex_entries()[key] for key in keys)])


_ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "c": "\u0327", "v": "\u030c", "=": "\u0304"}
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


class Reference(NamedTuple):
    """One source, and the measures that come from it."""

    key: str
    text: str
    measures: tuple[str, ...]


def references(names: Iterable[str]) -> list[Reference]:
    """Sources of the named measures, each once, in the order of the measures."""
    titles: dict[str, list[str]] = {}
    for name in names:
        for key in MEASURES[name].references if name in MEASURES else ():
            titles.setdefault(key, []).append(MEASURES[name].title)
    entries = bibtex_entries()
    return [Reference(key, sentence(entries[key]), tuple(titles[key])) for key in titles if key in entries]


def sentence(entry: str) -> str:
    """Authors, title, publication and year of a BibTeX entry."""
    fields = {name: _without_markup(value) for name, value in _FIELD.findall(entry)}
    *first, last = (" ".join(reversed(name.split(", ", 1))) for name in fields["author"].split(" and "))
    authors = f"{', '.join(first)} and {last}" if first else last
    where = fields.get("journal") or fields.get("booktitle") or fields.get("publisher")
    if where and "volume" in fields:
        where += f" {fields['volume']}" + (f"({fields['number']})" if "number" in fields else "")
    if where and "pages" in fields:
        where += f", {fields['pages']}"
    parts = [authors, fields["title"], *([where] if where else []), fields["year"]]
    return ". ".join(part.rstrip(".") for part in parts) + "."


def _without_markup(text: str) -> str:
    def accented(match: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])

    text = re.sub(r"\{\\([\"'`cv=])\{?(\w)\}?\}", accented, text)
    return text.replace("\\&", "&").replace("--", "–").replace("{", "").replace("}", "")

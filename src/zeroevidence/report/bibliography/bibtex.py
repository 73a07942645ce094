"""BibTeX of the measures' sources and of this toolkit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from zeroevidence._version import __version__
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
    text = files("zeroevidence.report.bibliography").joinpath("references.bib").read_text(encoding="utf-8")
    return {match[1]: match[0] for match in _ENTRY.finditer(text)}


def bibtex(measures: Sequence[str] = ()) -> str:
    """Return BibTeX for this toolkit and the named measures, for all measures unless some are named."""
    measured = [MEASURES.find(name) for name in measures] or MEASURES.values()
    keys = dict.fromkeys(key for measure in measured for key in measure.references)
    return "\n".join([_SOFTWARE, *(bibtex_entries()[key] for key in keys)])

"""Labels that follow from another one, which narrow tables tell once instead of in every row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MOST = 6  # values of the label that another follows from: more would not fit into a sentence


@dataclass(frozen=True, slots=True)
class Implied:
    """The columns without the label that follows from another, and the sentence that tells it."""

    columns: dict[str, tuple[str, ...]]
    words: str


def implied(columns: Mapping[str, tuple[str, ...]]) -> Implied | None:
    """The widest label that follows from another; None where there is none.

    Examples
    --------
    >>> found = implied({"system": ("unprotected", "shift", "shift"), "attacker": ("none", "lazy", "semi")})
    >>> found.words
    'system, by attacker: unprotected (none), shift (lazy, semi)'
    >>> list(found.columns)
    ['attacker']
    """
    for label in sorted(columns, key=lambda one: -max(map(len, columns[one]))):
        for other in columns:
            if other != label and _follows(columns[label], columns[other]):
                rest = {name: cells for name, cells in columns.items() if name != label}
                return Implied(rest, _words(label, columns[label], other, columns[other]))
    return None


def _follows(cells: tuple[str, ...], given: tuple[str, ...]) -> bool:
    fewer = len(set(cells)) < len(set(given)) <= _MOST
    return fewer and len(set(zip(given, cells, strict=True))) == len(set(given))


def _words(label: str, cells: tuple[str, ...], other: str, given: tuple[str, ...]) -> str:
    whose: dict[str, dict[str, None]] = {}
    for text, one in zip(cells, given, strict=True):
        whose.setdefault(text, {})[one] = None
    return f"{label}, by {other}: " + ", ".join(f"{text} ({', '.join(ones)})" for text, ones in whose.items())

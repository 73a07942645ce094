"""Figures of a report as inline SVG, and what their curves hold, for reading values off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot import KINDS, available, draw
from zeroevidence.plot.canvas import svg_text
from zeroevidence.plot.words import names_of
from zeroevidence.report.html_readoff import Panel, panels_of
from zeroevidence.report.verdict_rows import (
    BOUNDS,
    attribute_rows,
    bound,
    name_of,
    same_attribute,
    strongest,
    strongest_by_system,
)

# What one person may ask first; the other kinds follow in their own order.
_FIRST = ("posterior", "people", "lid-ccdf", "cmc", "over-utterances", "over-identities", "eer-lid", "ece", "histogram")
_WIDTH = 4.6  # inches: room for the names of several rows
_MOST = 6  # curves that can be told apart in one figure
_MOST_SYSTEMS = 24
_OVER_SYSTEMS = ("eer-lid", "scatter")
_SHADED = ("similarity", "t-dcf-surface")
# Of an attribute the two kinds of scores are of two classes, not of pairs of recordings.
_ATTRIBUTE_CAPTIONS = {
    "ece": "How uncertain the attacker remains about the attribute, whatever they believed before: the deeper a line "
    "lies below that of zero evidence, the more these voices give away.",
    "histogram": "The attacker's scores of recordings of one class and of the other: where the two hills overlap, the "
    "attacker cannot tell the classes apart.",
    "det": "How often the attacker overlooks one class against how often they claim it falsely, for every threshold: "
    "the closer to the dotted diagonal, the closer to guessing.",
    "tippett": "What share of recordings yields evidence of at least a given strength: right of zero it speaks for one "
    "class, left of it for the other.",
    "pav": "What a score of the attacker's classifier is worth as evidence: above zero it speaks for one class, below "
    "zero for the other.",
    "linkability": "Which scores give the class away: where the red line rises towards 1, a score as high as that "
    "tells it.",
    "map": "Recordings as points, near where their vectors are alike: classes that lie apart can still be told apart.",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: `svg` is markup of ours, everything else is text."""

    id: str
    title: str
    caption: str
    shows: str
    svg: str
    wide: bool  # as wide as the page
    dense: bool  # too fine to be shrunk to a small screen
    shaded: bool  # light and dark stand for numbers, so they must not be exchanged on a dark page
    readable: bool


def figures_of(
    rows: Sequence[Evaluation], best: int, *, hide: bool = False
) -> tuple[list[Figure], dict[str, list[Panel]]]:
    """Every figure that these results allow, and the curves of those that can be read off.

    Curves of several rows share a figure: the strongest attacker, the others on the same system, its bounds, and the
    strongest on other systems. Figures of one row are of the strongest.
    """
    from markupsafe import Markup

    about_attribute = best in attribute_rows(rows)
    if about_attribute:
        rows, best = _of_attribute(rows, best)
    together = _chosen(rows, best)
    kinds = [kind for kind in KINDS if any(kind in available(row) for row in rows)]
    order = [kind for kind in _FIRST if kind in kinds] + [kind for kind in kinds if kind not in _FIRST]
    figures, readoff = [], {}
    for kind in order:
        shown = _rows_for(kind, rows, together, best)
        if not shown or (kind in _OVER_SYSTEMS and len(shown) < 2):
            continue
        drawn = draw(kind, shown, hide=hide, width=_WIDTH if KINDS[kind].together else None)
        svg = svg_text(drawn, name=kind, title=KINDS[kind].title)
        panels = panels_of(drawn, kind)
        name = f"figure-{kind}"
        if panels:
            readoff[name] = panels
        inches = drawn.get_size_inches()[0]
        words = "" if len(shown) > 1 or len(rows) == 1 else f"Shown: {_words(rows, shown[0])}."
        figures.append(
            Figure(
                name,
                KINDS[kind].title,
                _ATTRIBUTE_CAPTIONS.get(kind, KINDS[kind].caption) if about_attribute else KINDS[kind].caption,
                words,
                Markup(svg),  # made by us; names in it are escaped where it is written
                wide=inches > 5.0,
                dense=inches > 4.0,
                shaded=kind in _SHADED,
                readable=bool(panels),
            )
        )
    return figures, readoff


def _words(rows: Sequence[Evaluation], row: Evaluation) -> str:
    return next(name for name, other in zip(names_of(rows), rows, strict=True) if other is row)


def _rows_for(kind: str, rows: Sequence[Evaluation], together: Sequence[Evaluation], best: int) -> list[Evaluation]:
    if kind in _OVER_SYSTEMS:
        return [row for row in rows if kind in available(row)][:_MOST_SYSTEMS]
    if KINDS[kind].together:
        return [row for row in together if kind in available(row)]
    having = [row for row in (rows[best], *together, *rows) if kind in available(row)]
    if kind == "map":
        return [row for row in rows if kind in available(row)][:_MOST]  # protections side by side
    return having[:1]


def _of_attribute(rows: Sequence[Evaluation], best: int) -> tuple[list[Evaluation], int]:
    """The rows on the same attribute and class, tested; of many the strongest attacker on each system, maps beside."""
    same = [rows[i] for i in attribute_rows(rows) if same_attribute(rows[i], rows[best])]
    if len(same) > _MOST:
        systems = dict.fromkeys(row.labels.get("system", "") for row in same)
        strong = {name: [row for row in same if row.labels.get("system", "") == name] for name in systems}
        kept = {id(own[strongest(own)]) for own in strong.values()}
        same = [row for row in same if id(row) in kept]
    return same, next(i for i, row in enumerate(same) if row is rows[best])


def _chosen(rows: Sequence[Evaluation], best: int) -> list[Evaluation]:
    """Rows to draw together, in the order they came."""
    if len(rows) <= _MOST:
        return list(rows)
    strong = rows[best]
    wanted = [strong]
    wanted += [row for name in BOUNDS if (row := bound(rows, strong, name)) is not None]
    same = ("system", "dataset", "split", "sex", "backend")
    wanted += [
        row
        for row in rows
        if name_of(row) not in BOUNDS and all(row.labels.get(key) == strong.labels.get(key) for key in same)
    ]
    wanted += [rows[i] for i in strongest_by_system(rows)]
    kept: list[int] = []
    for row in wanted:
        number = next(i for i, other in enumerate(rows) if other is row)
        if number not in kept and len(kept) < _MOST:
            kept.append(number)
    return [rows[i] for i in sorted(kept)]


def json_of(readoff: dict[str, list[Panel]]) -> dict[str, Any]:
    """The curves as plain values."""
    return {name: [panel.to_dict() for panel in panels] for name, panels in readoff.items()}

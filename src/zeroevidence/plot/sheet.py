"""Whole figures by the name of their kind: one pair of axes, or a panel for each result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import FORMATS, WIDTH, figure_of, file_bytes, need_matplotlib, style, svg_text
from zeroevidence.plot.kinds import Kind, Rows, find, rows_with
from zeroevidence.plot.words import names_of, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 24


def draw(kind: str, evaluations: Rows, *, hide: bool = False, width: float | None = None, **options: Any) -> Figure:
    """A figure of a kind, of one result or several.

    Parameters
    ----------
    kind
        A name of `KINDS`.
    evaluations
        Results; those that lack what the kind needs are left out, and at least one must have it.
    hide
        Replace speakers' names by numbers.
    width
        In inches; one column of a paper unless given. Kinds that show one result get a panel for each.
    options
        What the kind takes beside it, as ``x`` and ``y`` of ``scatter``; None counts as not given.
    """
    found = find(kind)
    rows = rows_with(kind, evaluations)
    given = {name: value for name, value in options.items() if value is not None}
    if hide and "hide" in found.options:
        given["hide"] = True
    need_matplotlib()
    panels = [] if found.together else _panels(found, rows, given)
    if len(panels) < 2:
        figure = figure_of(found.function(rows, **given))
        legend = figure.axes[0].get_legend()
        said = [] if legend is None or len(rows) == 1 else [text.get_text() for text in legend.get_texts()]
        lines = sum(text.count("\n") + 1 for text in said)
        # Wider figures grow less in height; a long legend below gets room of its own.
        scale = (1.0 + (width or WIDTH) / WIDTH) / 2.0
        figure.set_size_inches(width or WIDTH, found.height * scale + 0.13 * lines)
        return figure
    return _paneled(found, panels, width)


class _Panel(NamedTuple):
    title: str
    row: Evaluation
    options: dict[str, Any]


def _panels(kind: Kind, rows: Sequence[Evaluation], options: dict[str, Any]) -> list[_Panel]:
    """One for each result, and for each map of a result."""
    panels: list[_Panel] = []
    for row, name in zip(rows, names_of(rows), strict=True):
        if kind.name == "map" and "name" not in options and len(row.maps) > 1:
            several = len(rows) > 1
            panels += [
                _Panel(f"{name}, {shortened(one)}" if several else shortened(one), row, {**options, "name": one})
                for one in row.maps
            ]
        else:
            panels.append(_Panel(name, row, options))
    return panels


def _paneled(kind: Kind, panels: Sequence[_Panel], width: float | None) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if len(panels) > _MOST_PANELS:
        raise UsageError(f"a figure of kind {kind.name} has a panel for each result, and {len(panels)} are too many")
    columns = 2
    lines = math.ceil(len(panels) / columns)
    with style():
        figure = Figure(figsize=(width or columns * WIDTH, lines * kind.height), layout="constrained")
        FigureCanvasAgg(figure)
        for number, panel in enumerate(panels, 1):
            ax = figure.add_subplot(lines, columns, number)
            kind.function(panel.row, ax=ax, **panel.options)
            ax.set_title(panel.title, loc="left")
    return figure


def to_svg(kind: str, evaluations: Rows, *, hide: bool = False, **options: Any) -> str:
    """The figure as an ``<svg>`` element for a page: real text, the same for the same input, ids of its own."""
    figure = draw(kind, evaluations, hide=hide, **options)
    return svg_text(figure, name=kind, title=find(kind).title)


def to_bytes(
    kind: str, evaluations: Rows, *, format: str, hide: bool = False, width: float | None = None, **options: Any
) -> bytes:
    """The content of a PDF, SVG or PNG file with the figure."""
    if format not in FORMATS:
        raise UsageError(f"unknown figure format {format!r}; expected one of {', '.join(FORMATS)}")
    return file_bytes(draw(kind, evaluations, hide=hide, width=width, **options), format)

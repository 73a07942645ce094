"""Whole figures by the name of their kind: one pair of axes, or a panel for each result; SVG for a page, or a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import FORMATS, WIDTH, file_bytes, need_matplotlib, parent_figure, style, svg_text
from zeroevidence.plot.registry import Kind, find, rows_with
from zeroevidence.plot.rows import Results
from zeroevidence.plot.words import row_names, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PANELS = 24


def draw(kind: str, results: Results, *, hide: bool = False, width: float | None = None, **options: Any) -> Figure:
    """A figure of one result or several, by the name of its kind.

    Parameters
    ----------
    kind
        A name in `KINDS`.
    results
        Those that lack what the kind needs are left out; at least one must have it.
    hide
        Number people instead of naming them.
    width
        In inches; one column of a paper unless given. A kind that shows one result gets a panel for each.
    options
        Options of the kind, such as ``x`` and ``y`` of ``scatter``; None counts as not given.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0, labels={"system": "mine"})
    >>> draw("det", result).axes[0].get_xlabel()
    'false-alarm rate (%)'
    """
    found = find(kind)
    given = {name: value for name, value in options.items() if value is not None}
    found.check(given)
    rows = rows_with(kind, results, given.get("name"))
    if hide and "hide" in found.options:
        given["hide"] = True
    need_matplotlib()
    panels = [] if found.together else _panels(found, rows, given)
    if len(panels) < 2:
        figure = parent_figure(found.function(rows, **given))
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
    """One for each result, or for each part of a result that has several."""
    panels: list[_Panel] = []
    for row, name in zip(rows, row_names(rows), strict=True):
        parts = () if kind.parts is None or "name" in options else kind.parts(row)
        if len(parts) < 2:
            panels.append(_Panel(name, row, options))
            continue
        for part in parts:
            title = f"{name}, {shortened(part)}" if len(rows) > 1 else shortened(part)
            panels.append(_Panel(title, row, {**options, "name": part}))
    return panels


def _paneled(kind: Kind, panels: Sequence[_Panel], width: float | None) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if len(panels) > _MOST_PANELS:
        raise UsageError(
            f"the figure {kind.name!r} needs {len(panels)} panels, but at most {_MOST_PANELS} fit; choose fewer results"
        )
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


def to_svg(kind: str, results: Results, *, hide: bool = False, **options: Any) -> str:
    """The figure as an ``<svg>`` element for a page: real text, the same for the same input, ids of its own.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0, labels={"system": "mine"})
    >>> to_svg("ece", result)[:4]
    '<svg'
    """
    figure = draw(kind, results, hide=hide, **options)
    return svg_text(figure, name=kind, title=find(kind).title)


def to_bytes(
    kind: str, results: Results, *, format: str, hide: bool = False, width: float | None = None, **options: Any
) -> bytes:
    """The content of a PDF, SVG or PNG file with the figure.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0, labels={"system": "mine"})
    >>> to_bytes("ece", result, format="pdf")[:4]
    b'%PDF'
    """
    if format not in FORMATS:
        raise UsageError(f"unknown figure format {format!r}; expected one of {', '.join(FORMATS)}")
    return file_bytes(draw(kind, results, hide=hide, width=width, **options), format)

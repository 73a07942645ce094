"""Whole figures by the name of their kind: drawn, as SVG or a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot import canvas
from zeroevidence.plot.kind import KINDS, FigureKind, rows_with
from zeroevidence.plot.rows import Results, label_of, row_names, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_PANELS = 24
_FEW_PANELS = 10
_NARROWEST_PANEL = 2.6  # inches: narrower ones stand below each other
_LEGEND_LINE = 0.15  # inches
_PANEL_LABELS = ("attacker", "system", "dataset", "sex", "attack", "backend", "encoder")  # the first that helps


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
        In inches; one column of a paper unless given. A kind that shows one result gets a panel for each, and more
        results than can be told apart get panels too.
    options
        Options of the kind, such as ``x`` and ``y`` of ``scatter``; None counts as not given.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> quick = Options(intervals=0, null=0)
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], labels={"system": "mine"}, options=quick)
    >>> draw("det", result).axes[0].get_xlabel()
    'false-alarm rate (%)'
    """
    figure_kind = KINDS.find(kind)
    options = {name: value for name, value in options.items() if value is not None}
    figure_kind.check(options)
    rows = rows_with(kind, results, options.get("name"))
    if hide and "hide" in figure_kind.options:
        options["hide"] = True
    canvas.need_matplotlib()
    if not figure_kind.together:
        panels = _panels(figure_kind, rows, options)
    elif figure_kind.most is not None and needs_panels(kind, rows):
        panels = _groups(rows, figure_kind.most, options)
    else:
        panels = []
    if len(panels) < 2:
        figure = canvas.parent_figure(figure_kind.function(rows, **options))
        axes = figure.axes[0]
        with canvas.style():
            canvas.fit_legend(axes, width or canvas.WIDTH)
        lines = _legend_lines(axes) if len(rows) > 1 or canvas.is_below(axes) else 0
        if (width or canvas.WIDTH) > canvas.WIDE:
            lines = math.ceil(lines / canvas.legend_columns(axes))
        # Wider figures grow less in height; a long legend below gets room of its own.
        scale = (1.0 + (width or canvas.WIDTH) / canvas.WIDTH) / 2.0
        more = figure_kind.per_row * max(0, len(rows) - canvas.ROWS)
        height = figure_kind.height * scale if figure_kind.height_of is None else figure_kind.height_of(rows)
        figure.set_size_inches(width or canvas.WIDTH, height + 0.13 * lines + more)
        return figure
    return _draw_panels(figure_kind, panels, width)


def needs_panels(kind: str, rows: Sequence[Evaluation]) -> bool:
    """Return whether one pair of axes is too small for these results."""
    figure_kind = KINDS.find(kind)
    most = figure_kind.most if figure_kind.together else 1
    return most is not None and len(rows) > most


class _Panel(NamedTuple):
    title: str
    rows: list[Evaluation]
    options: dict[str, Any]


def _groups(rows: Sequence[Evaluation], most: int, options: dict[str, Any]) -> list[_Panel]:
    """Panels of rows that share a label, several where too many rows do."""
    for label in _PANEL_LABELS:
        groups: dict[str, list[Evaluation]] = {}
        for row in rows:
            groups.setdefault(shortened(label_of(row, label), 40), []).append(row)
        panels = [_Panel(*part, options) for name, group in groups.items() for part in _cut(name, group, most)]
        if len(groups) > 1 and len(panels) <= _FEW_PANELS:
            return panels
    return [_Panel(*part, options) for part in _cut("", rows, most)]


def _cut(name: str, rows: Sequence[Evaluation], most: int) -> list[tuple[str, list[Evaluation]]]:
    """A group of rows as groups of about the same size that are not too large, numbered where there are several."""
    parts = math.ceil(len(rows) / most)
    size = math.ceil(len(rows) / parts)
    names = [name] if parts == 1 else [f"{name} ({number + 1})".strip() for number in range(parts)]
    return [(title, list(rows[i * size : (i + 1) * size])) for i, title in enumerate(names)]


def _panels(kind: FigureKind, rows: Sequence[Evaluation], options: dict[str, Any]) -> list[_Panel]:
    """One for each result, or for each part of a result that has several."""
    panels: list[_Panel] = []
    for row, name in zip(rows, row_names(rows), strict=True):
        parts = () if kind.parts is None or "name" in options else kind.parts(row)
        if len(parts) < 2:
            panels.append(_Panel(name, [row], options))
            continue
        for part in parts:
            title = f"{name}, {shortened(part)}" if len(rows) > 1 else shortened(part)
            panels.append(_Panel(title, [row], {**options, "name": part}))
    return panels


def _draw_panels(kind: FigureKind, panels: Sequence[_Panel], width: float | None) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from zeroevidence.plot.layout import Layout

    if len(panels) > _MOST_PANELS:
        raise UsageError(
            f"the figure {kind.name!r} needs {len(panels)} panels, but at most {_MOST_PANELS} fit; choose fewer results"
        )
    width = width or 2.0 * canvas.WIDTH
    columns = 2 if width >= 2.0 * _NARROWEST_PANEL else 1
    lines = math.ceil(len(panels) / columns)
    with canvas.style():
        figure = Figure(figsize=(width, lines * kind.height), layout=Layout())
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(lines, columns)
        heights = [kind.height] * lines
        for number, panel in enumerate(panels):
            at = divmod(number, columns)
            ax = figure.add_subplot(grid[at])
            before = list(figure.axes[:-1])
            kind.function(panel.rows, ax=ax, **panel.options)
            canvas.drop_repeated(ax, before, several=kind.together)
            canvas.panel_title(ax, panel.title, width / columns)
            canvas.fit_legend(ax, width / columns)
            if kind.together:
                heights[at[0]] = max(heights[at[0]], kind.height + _LEGEND_LINE * _legend_lines(ax))
        grid.set_height_ratios(heights)
        figure.set_size_inches(width, sum(heights))
    return figure


def _legend_lines(ax: Axes) -> int:
    legend = ax.get_legend()
    return 0 if legend is None else sum(text.get_text().count("\n") + 1 for text in legend.get_texts())


def to_svg(kind: str, results: Results, *, hide: bool = False, **options: Any) -> str:
    """The figure as an ``<svg>`` element for a page: real text, the same for the same input, ids of its own.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> quick = Options(intervals=0, null=0)
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], labels={"system": "mine"}, options=quick)
    >>> to_svg("ece", result)[:4]
    '<svg'
    """
    return canvas.svg_text(draw(kind, results, hide=hide, **options), name=kind, title=KINDS[kind].title)


def to_bytes(
    kind: str, results: Results, *, format: str, hide: bool = False, width: float | None = None, **options: Any
) -> bytes:
    """The content of a PDF, SVG or PNG file with the figure.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> quick = Options(intervals=0, null=0)
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], labels={"system": "mine"}, options=quick)
    >>> to_bytes("ece", result, format="pdf")[:4]
    b'%PDF'
    """
    if format not in canvas.FORMATS:
        raise UsageError(f"unknown figure format {format!r}; expected one of {', '.join(canvas.FORMATS)}")
    return canvas.file_bytes(draw(kind, results, hide=hide, width=width, **options), format)

"""Whole figures by the name of their kind: drawn, as SVG or a file, and with the values of their curves."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from zeroevidence._typing import FloatArray
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

    if len(panels) > _MOST_PANELS:
        raise UsageError(
            f"the figure {kind.name!r} needs {len(panels)} panels, but at most {_MOST_PANELS} fit; choose fewer results"
        )
    width = width or 2.0 * canvas.WIDTH
    columns = 2 if width >= 2.0 * _NARROWEST_PANEL else 1
    lines = math.ceil(len(panels) / columns)
    with canvas.style():
        figure = Figure(figsize=(width, lines * kind.height), layout="constrained")
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
    figure = draw(kind, results, hide=hide, **options)
    return canvas.svg_text(figure, name=kind, title=KINDS[kind].title)


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


_POINTS = 240
_Writer = Callable[[float], float]
_Drawn = tuple[str, str, bool, FloatArray, FloatArray]  # name, colour, whether in steps, and values


def readable_panels(figure: Figure, kind: str) -> list[dict[str, Any]]:
    """Panels with curves of a figure that was drawn, as a page reads them off; axes that share a place are one panel.

    A panel has its `box` (left, top, right and bottom in units of the view box), the titles `x` and `y` of its axes,
    and `lines`: of each curve its name and colour, whether it goes in steps, where its points lie (`px`, `py`), and
    their values as they are written.
    """
    panels: dict[tuple[float, ...], dict[str, Any]] = {}
    named = _names(figure)
    for ax in figure.axes:
        lines, box = _lines(ax, kind, named, figure), _box(ax, figure)
        if lines and box in panels:
            before = panels[box]
            panels[box] = {"box": box, "x": before["x"] or ax.get_xlabel(), "y": "", "lines": before["lines"] + lines}
        elif lines:
            panels[box] = {"box": box, "x": ax.get_xlabel(), "y": ax.get_ylabel(), "lines": lines}
    return list(panels.values())


def _names(figure: Figure) -> dict[str, str]:
    """The legend's name of each colour: a dashed line without a name belongs to the solid one."""
    from matplotlib.colors import to_hex

    names: dict[str, str] = {}
    for ax in figure.axes:
        for line in ax.get_lines():
            label = str(line.get_label())
            if not label.startswith("_"):
                names.setdefault(to_hex(line.get_color()), _short(label))
    return names


def _short(label: str) -> str:
    return label.split(": ", 1)[0]


def _box(ax: Axes, figure: Figure) -> tuple[float, float, float, float]:
    width, height = (72.0 * inches for inches in figure.get_size_inches())
    box = ax.get_position()
    left, top, right, bottom = box.x0 * width, (1.0 - box.y1) * height, box.x1 * width, (1.0 - box.y0) * height
    return round(left, 1), round(top, 1), round(right, 1), round(bottom, 1)


def _lines(ax: Axes, kind: str, named: dict[str, str], figure: Figure) -> list[dict[str, Any]]:
    from matplotlib.colors import to_hex
    from matplotlib.container import BarContainer
    from matplotlib.patches import StepPatch

    curves: list[_Drawn] = []
    for drawn in ax.get_lines():
        x, y = (np.asarray(values, dtype=float) for values in drawn.get_data())
        spans_axes = drawn.get_transform() != ax.transData  # a rule across the whole panel, as axhline draws
        if len(x) < 3 or spans_axes or drawn.get_linestyle() == "None":
            continue
        colour, label = to_hex(drawn.get_color()), str(drawn.get_label())
        name = named.get(colour, "") if label.startswith("_") else _short(label)
        if label.startswith("_") and drawn.is_dashed():
            name = f"{name} (dashed)".strip()
        curves.append((name, colour, drawn.get_drawstyle() == "steps-post", x, y))
    for patch in ax.patches:
        if isinstance(patch, StepPatch) and not str(patch.get_label()).startswith("_"):
            values, edges, _ = patch.get_data()
            curves.append((_short(str(patch.get_label())), to_hex(patch.get_edgecolor()), True, edges[:-1], values))
    for bars in ax.containers:
        if isinstance(bars, BarContainer) and kind == "lid-histogram":
            centre = np.array([bar.get_x() + bar.get_width() / 2.0 for bar in bars])
            height = np.array([bar.get_height() for bar in bars])
            curves.append(("", to_hex(bars[0].get_facecolor()), False, centre, height))
    writers = _writer(ax.xaxis, kind), _writer(ax.yaxis, kind)
    lines = [_line(curve, ax, figure, writers) for curve in curves]
    return [line for line in lines if line is not None]


def _line(curve: _Drawn, ax: Axes, figure: Figure, writers: tuple[_Writer, _Writer]) -> dict[str, Any] | None:
    name, colour, step, x, y = curve
    keep = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(keep) > _POINTS:
        keep = keep[np.unique(np.linspace(0, len(keep) - 1, _POINTS).astype(int))]
    at = ax.transData.transform(np.column_stack([x[keep], y[keep]])) * 72.0 / figure.dpi
    height = 72.0 * figure.get_size_inches()[1]
    left, top, right, bottom = _box(ax, figure)
    px, py = at[:, 0], height - at[:, 1]
    inside = (px >= left - 0.6) & (px <= right + 0.6) & (py >= top - 0.6) & (py <= bottom + 0.6)
    if np.count_nonzero(inside) < 2:
        return None
    keep = keep[inside]
    places = {"px": px[inside], "py": py[inside]}
    return {
        "name": name,
        "colour": colour,
        "step": step,
        **{place: [round(value, 1) for value in values.tolist()] for place, values in places.items()},
        "x": list(map(writers[0], x[keep].tolist())),
        "y": list(map(writers[1], y[keep].tolist())),
    }


def _writer(axis: Any, kind: str) -> _Writer:
    """A function that converts values as the axis labels them: shares to percent, normal deviates to rates."""
    from matplotlib.ticker import FuncFormatter

    formatter = axis.get_major_formatter()

    def write(value: float) -> float:
        if kind == "det":
            value = 50.0 * math.erfc(-value / math.sqrt(2.0))
        elif isinstance(formatter, FuncFormatter):
            with contextlib.suppress(ValueError):
                value = float(str(formatter(value, 0)).replace("−", "-"))
        return float(f"{value:.4g}") if math.isfinite(value) else 0.0

    return write

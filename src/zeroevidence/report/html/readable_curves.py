"""Curves of a drawn figure with their coordinates on the page, so that a page can show the values under the pointer.

They are taken from the drawn figure, so the values are those that are seen, whatever the kind of figure.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence._typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_POINTS = 240
_Writer = Callable[[float], float]
_Drawn = tuple[str, str, bool, FloatArray, FloatArray]  # name, colour, whether in steps, and values


@dataclass(frozen=True, slots=True)
class ReadableCurve:
    """One curve: where its points lie, and their values as they are written."""

    name: str
    colour: str
    step: bool
    px: tuple[float, ...]
    py: tuple[float, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: left, top, right and bottom in units of the view box, titles, and curves."""

    box: tuple[float, float, float, float]
    x: str
    y: str
    lines: tuple[ReadableCurve, ...]


def readable_panels(figure: Figure, kind: str) -> list[Panel]:
    """Panels with curves of a figure that was drawn; axes that share a place are one panel."""
    panels: list[Panel] = []
    named = _names(figure)
    for ax in figure.axes:
        lines = tuple(_lines(ax, kind, named, figure))
        if not lines:
            continue
        box = _box(ax, figure)
        for number, other in enumerate(panels):
            if other.box == box:
                panels[number] = Panel(box, other.x or ax.get_xlabel(), "", (*other.lines, *lines))
                break
        else:
            panels.append(Panel(box, ax.get_xlabel(), ax.get_ylabel(), lines))
    return panels


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


def _lines(ax: Axes, kind: str, named: dict[str, str], figure: Figure) -> list[ReadableCurve]:
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


def _line(curve: _Drawn, ax: Axes, figure: Figure, writers: tuple[_Writer, _Writer]) -> ReadableCurve | None:
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
    return ReadableCurve(
        name,
        colour,
        step,
        _rounded(px[inside]),
        _rounded(py[inside]),
        tuple(writers[0](v) for v in x[keep].tolist()),
        tuple(writers[1](v) for v in y[keep].tolist()),
    )


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(round(v, 1) for v in values.tolist())


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

"""Curves of rows: whether a row has them, their numbers as arrays, and the lines that several figures draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.evaluation import Curve, Evaluation
from zeroevidence.plot.canvas import GREY, VERMILION, Look, legend, look, percent_ticks
from zeroevidence.plot.names import row_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END = 1e150


def has_curves(*names: str, baseline: bool = False) -> Callable[[Evaluation], bool]:
    """Return a test whether a row has all of some curves, with their values under chance where these are drawn too."""
    return lambda row: all(
        name in row.curves and bool(row.curves[name].x) and (not baseline or row.curves[name].baseline is not None)
        for name in names
    )


def named_looks(rows: Sequence[Evaluation]) -> Iterator[tuple[Evaluation, str, Look]]:
    """Yield each row with its short name and its look."""
    for number, (row, name) in enumerate(zip(rows, row_names(rows), strict=True)):
        yield row, name, look(number)


def curve_arrays(curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Both coordinates of a curve; finite numbers beyond what axes can span are drawn at their end."""
    x, y = np.array(curve.x), np.array(curve.y)
    return np.where(np.isfinite(x), np.clip(x, -_END, _END), x), np.where(np.isfinite(y), np.clip(y, -_END, _END), y)


def finite_curve(curve: Curve, *, both: bool = False) -> tuple[FloatArray, FloatArray]:
    """Both coordinates of a curve where the first, or both, are finite."""
    x, y = curve_arrays(curve)
    finite = np.isfinite(x) & (np.isfinite(y) if both else True)
    return x[finite], y[finite]


def bin_edges(centres: FloatArray) -> FloatArray:
    """Edges of even bins around centres; a single one is 1 wide."""
    width = centres[1] - centres[0] if len(centres) > 1 else 1.0
    return np.append(centres - width / 2.0, centres[-1] + width / 2.0)


def draw_density(ax: Axes, curve: Curve, colour: str, line: str, hatch: str | None, label: str) -> None:
    """Draw a histogram as a hatched area with an outline."""
    centre, density = curve_arrays(curve)
    edges = bin_edges(centre)
    ax.stairs(density, edges, fill=True, facecolor=colour, alpha=0.18, hatch=hatch, edgecolor=colour, lw=0.0)
    ax.stairs(density, edges, color=colour, ls=line, lw=1.0, label=label)


def draw_chance(
    ax: Axes, curve: Curve, drawn: set[Any], *, colour: str = VERMILION, width: float = 1.0, label: str | None = None
) -> None:
    """Draw the baseline of a curve, unless an equal one is among those `drawn`; the first is labelled "chance"."""
    if curve.baseline is None or curve.baseline in drawn:
        return
    label = label or (None if drawn else "chance")
    ax.plot(curve.x, curve.baseline, color=colour, ls=":", lw=width, label=label)
    drawn.add(curve.baseline)


def draw_exceedance(
    ax: Axes, level: FloatArray, share: FloatArray, span: tuple[float, float], look: Look, **options: Any
) -> None:
    """Draw the share above each level as a stepped line from one end of a span to the other."""
    x = np.concatenate((span[:1], level, span[1:]))
    y = np.concatenate(([1.0], share, share[-1:]))
    ax.step(x, y, where="post", **look.curve, **options)


def exceedance_axes(ax: Axes, span: tuple[float, float], *, xlabel: str, ylabel: str) -> None:
    """Finish the axes of shares above a level: zero, limits, percent, legend."""
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=span, ylim=(-0.02, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=2, inside="lower left")

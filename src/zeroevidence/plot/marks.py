"""Curves, points and bars of rows, as several figures draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Curve, Evaluation, MeasureResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.plot.canvas import BLACK, GREY, VERMILION, Look, legend, look, percent_ticks
from zeroevidence.plot.rows import join_parts, measure_text, measure_value, row_names, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END = 1e150


def has_curves(*names: str, baseline: bool = False) -> Callable[[Evaluation], bool]:
    """Return a test whether a row has all of some curves, with their values under chance where these are drawn too."""
    return lambda row: all(
        name in row.curves and bool(row.curves[name].x) and (not baseline or row.curves[name].baseline is not None)
        for name in names
    )


def named_looks(rows: Sequence[Evaluation], measure: str | None = None) -> Iterator[tuple[Evaluation, str, Look]]:
    """Yield each row with its short name, with a measure beside it where one is given, and its look."""
    for number, (row, name) in enumerate(zip(rows, row_names(rows), strict=True)):
        yield row, name if measure is None else join_parts(name, measure_text(row, measure)), look(number)


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


_NAME = 28  # letters of a name below bars
_LEAST = 4  # letters that are left of a part of a name

POINT: dict[str, Any] = {"mec": "white", "mew": 0.4}
THIN: dict[str, Any] = {"lw": 0.6, "alpha": 0.6}
FAINT: dict[str, Any] = {"lw": 0.5, "alpha": 0.35, "zorder": 1}  # where many intervals cross


def measure_scale(name: str) -> float:
    """Factor of a measure on an axis: rates are drawn in percent."""
    return 100.0 if MEASURES[name].unit == "rate" else 1.0


def is_finite(row: Evaluation, name: str) -> bool:
    """Whether a row has a measure as a finite number."""
    value = measure_value(row, name)
    return value is not None and bool(np.isfinite(value))


def label_values(rows: Sequence[Evaluation], label: str) -> list[str]:
    """What each row has under a label, attackers by name alone; an error where no row has it."""
    if not any(label in row.labels for row in rows):
        names = sorted({name for row in rows for name in row.labels})
        raise UsageError(f"no row has the label {label!r}; there is {', '.join(names) or 'none'}")
    return [
        row.about.threat.name if label == "attacker" and row.about.threat is not None else row.labels.get(label, "")
        for row in rows
    ]


def interval_line(
    ax: Axes, measure: MeasureResult, at: float, colour: str, *, scale: float, across: bool, **look: Any
) -> None:
    """Draw the interval of a measure as a thin line, along the horizontal axis if `across`, where it has one."""
    if measure.low is None or measure.high is None or not np.isfinite([measure.low, measure.high]).all():
        return
    span = [scale * measure.low, scale * measure.high]
    ax.plot(*((span, [at] * 2) if across else ([at] * 2, span)), color=colour, **look)


def measure_point(
    ax: Axes,
    row: Evaluation,
    measures: tuple[str, str],
    colour: str,
    marker: str,
    *,
    intervals: Mapping[str, Any] = THIN,
    **look: Any,
) -> tuple[float, float]:
    """Draw two measures of a row as a point with both intervals, and return where it is."""
    scales = [measure_scale(name) for name in measures]
    x, y = (scale * float(row.metrics[name]) for name, scale in zip(measures, scales, strict=True))
    ax.plot([x], [y], marker, color=colour, **{**POINT, "ms": 5.0, **look})
    for name, scale, at, across in zip(measures, scales, (y, x), (True, False), strict=True):
        interval_line(ax, row.metrics[name], at, colour, scale=scale, across=across, **intervals)
    return x, y


def mark_front(
    ax: Axes, places: Sequence[tuple[float, float]], *, more_is_useful: bool, label: str | None = "front"
) -> None:
    """Draw rings around the points of a Pareto front, and the steps that join them."""
    if not places:
        return
    x, y = zip(*sorted(places), strict=True)
    ax.plot(x, y, "o", mfc="none", mec=BLACK, mew=0.7, ms=7.5, label=label, zorder=4)
    ax.step(x, y, where="pre" if more_is_useful else "post", color=BLACK, lw=0.5, alpha=0.6, zorder=1)


def name_ticks(ax: Axes, names: Sequence[str | Sequence[str]]) -> None:
    """Write names below the bars of the horizontal axis, slanted where they would not fit.

    Of a name in several parts the longest are shortened, so that short ones, such as f and m, still tell names apart.
    """
    texts = [shortened(name, _NAME) if isinstance(name, str) else _joined(name) for name in names]
    turned = max(map(len, texts)) * len(texts) > 48
    ax.set_xticks(
        range(len(texts)),
        labels=texts,
        rotation=35 if turned else 0,
        rotation_mode="anchor" if turned else None,
        ha="right" if turned else "center",
        parse_math=False,
    )


def _joined(parts: Sequence[str]) -> str:
    """The parts of a name in one line, the longest of them shortened until all fit."""
    shown = [shortened(part, _NAME) for part in parts if part]  # without control characters
    while sum(map(len, shown)) + len(shown) - 1 > _NAME and max(map(len, shown)) > _LEAST:
        longest = max(range(len(shown)), key=lambda place: len(shown[place]))
        shown[longest] = shortened(shown[longest], len(shown[longest]) - 1)
    return " ".join(shown)

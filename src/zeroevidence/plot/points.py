"""Rows as points and bars of their measures: intervals, labels by colour and marker, the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, MeasureResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.plot.canvas import BLACK
from zeroevidence.plot.names import measure_value, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        there = sorted({name for row in rows for name in row.labels})
        raise UsageError(f"no row has the label {label!r}; there is {', '.join(there) or 'none'}")
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

"""Rows told apart by labels that the reader names: points by colour and marker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.measures import MEASURES
from zeroevidence.plot.canvas import BLACK, BLUE, legend, look
from zeroevidence.plot.names import axis_title, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def measure_scale(name: str) -> float:
    """Rates are drawn in percent."""
    return 100.0 if MEASURES[name].unit == "rate" else 1.0


def label_values(rows: Sequence[Evaluation], label: str) -> list[str]:
    """What each row has under a label, attackers by name alone; an error where no row has it."""
    if not any(label in row.labels for row in rows):
        there = sorted({name for row in rows for name in row.labels})
        raise UsageError(f"no row has the label {label!r}; there is {', '.join(there) or 'none'}")
    return [
        row.about.threat.name if label == "attacker" and row.about.threat is not None else row.labels.get(label, "")
        for row in rows
    ]


def labelled_points(
    ax: Axes, rows: Sequence[Evaluation], measures: tuple[str, str], colour: str | None, marker: str | None
) -> None:
    """Two measures of each row as a point whose colour and marker stand for labels; bars are intervals."""
    paints, shapes = (None if one is None else label_values(rows, one) for one in (colour, marker))
    order = [list(dict.fromkeys(values or ())) for values in (paints, shapes)]
    for place, row in enumerate(rows):
        paint = BLUE if paints is None else look(order[0].index(paints[place])).colour
        shape = "o" if shapes is None else look(order[1].index(shapes[place])).marker
        scales, found = [measure_scale(name) for name in measures], [row.metrics[name] for name in measures]
        at = [scale * float(one) for scale, one in zip(scales, found, strict=True)]
        ax.plot(at[:1], at[1:], shape, color=paint, mec="white", mew=0.4, ms=5.0)
        for side, (scale, one) in enumerate(zip(scales, found, strict=True)):
            if one.low is None or one.high is None or not np.isfinite([one.low, one.high]).all():
                continue
            span, still = [scale * one.low, scale * one.high], [at[1 - side]] * 2
            ax.plot(*((span, still) if side == 0 else (still, span)), color=paint, lw=0.6, alpha=0.6)
    for number, value in enumerate(order[0]):
        ax.plot([], [], "s", color=look(number).colour, ms=5.0, label=shortened(value))
    for number, value in enumerate(order[1]):
        ax.plot([], [], look(number).marker, color=BLACK, mfc="none", ms=5.0, label=shortened(value))
    ax.set(xlabel=axis_title(measures[0]), ylabel=axis_title(measures[1]))
    legend(ax, most_inside=0)

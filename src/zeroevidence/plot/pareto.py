"""Points with intervals on both axes, and the front of those that no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zeroevidence.evaluation import MeasureResult
from zeroevidence.plot.canvas import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def interval_bar(ax: Axes, measure: MeasureResult, still: float, colour: str, *, scale: float, across: bool) -> None:
    """The interval of a measure as a thin line through its point, where there is one."""
    if measure.low is None or measure.high is None or not np.isfinite([measure.low, measure.high]).all():
        return
    span = [scale * measure.low, scale * measure.high]
    ax.plot(*((span, [still] * 2) if across else ([still] * 2, span)), color=colour, lw=0.5, alpha=0.35, zorder=1)


def mark_front(
    ax: Axes, places: Sequence[tuple[float, float]], *, more_is_useful: bool, label: str | None = "front"
) -> None:
    """Rings around the points of a front, and the steps that join them."""
    if not places:
        return
    x, y = zip(*sorted(places), strict=True)
    ax.plot(x, y, "o", mfc="none", mec=BLACK, mew=0.7, ms=7.5, label=label, zorder=4)
    ax.step(x, y, where="pre" if more_is_useful else "post", color=BLACK, lw=0.5, alpha=0.6, zorder=1)


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Of points whose numbers are the better the larger, whether no other is as good in both and better in one.

    Examples
    --------
    >>> on_front([(1.0, 3.0), (2.0, 2.0), (1.0, 2.0)])
    [True, True, False]
    """
    return [not any(_beats(other, one) for other in points) for one in points]


def _beats(other: tuple[float, float], one: tuple[float, float]) -> bool:
    return other != one and all(a >= b for a, b in zip(other, one, strict=True))

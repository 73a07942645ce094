"""Figures of maps: recordings as points in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import legend, look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_GROUPS = 12  # groups with a line of their own in the legend
_HIGHEST = 0.25  # of the height of the figure: densities along the LLR


@figure(
    "Map of voices",
    place=610,
    needs="a two-dimensional map",
    caption="Recordings as points, close together where they sound alike: groups that lie apart can still be told "
    "apart.",
    has=lambda row: bool(row.maps),
    together=False,
    parts=lambda row: tuple(row.maps),
    height=3.0,
)
def map(
    row: Evaluation,
    ax: Axes,
    *,
    name: Annotated[str | None, "Which of several maps to draw; the first unless given."] = None,
) -> None:
    """Two-dimensional map of recordings, groups by colour and marker.

    Where the first coordinate is an LLR, it has an axis with numbers, and along it the densities that the model has.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation import Points
    >>> points = Points((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), ("f", "m", "f"))
    >>> result = replace(ze.evaluate(ze.Scores([2.1, 1.7], [0.9, 0.2])), maps={"embeddings": points})
    >>> ax = ze.plot.map(result)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['f', 'm']
    """
    points = row.maps[name] if name is not None else next(iter(row.maps.values()))
    x, y = np.array(points.x), np.array(points.y)
    labels = np.array(points.label)
    groups = sorted(set(points.label))
    for number, group in enumerate(groups):
        point, chosen = look(number), labels == group
        label = shortened(group) if len(groups) <= _MOST_GROUPS else None
        marks: dict[str, Any] = {
            "color": point.colour,
            "ms": 2.5,
            "mew": 0.0,
            "alpha": 0.7,
            "rasterized": len(x) > 3000,
        }
        ax.plot(x[chosen], y[chosen], point.marker, label=label, **marks)
    ax.set(xticks=[], yticks=[], xlabel="first coordinate", ylabel="second coordinate")
    if points.mu is not None and len(groups) == 2:
        _llr_axis(ax, points.mu, shortened(groups[1]))
    legend(ax, most_inside=3)


def _llr_axis(ax: Axes, mu: float, group: str) -> None:
    """Numbers on the horizontal axis, and along it the densities that the model has for the two groups."""
    from matplotlib.ticker import MaxNLocator

    left, right = ax.get_xlim()
    reach = mu + 3.0 * np.sqrt(2.0 * mu)
    left, right = min(left, -reach), max(right, reach)
    llr = np.linspace(left, right, 400)
    for number, mean in enumerate((-mu, mu)):
        shape = _HIGHEST * np.exp(-((llr - mean) ** 2) / (4.0 * mu))
        line = look(number)
        ax.plot(llr, shape, **line.curve, lw=1.0, transform=ax.get_xaxis_transform())
        ax.fill_between(llr, shape, color=line.colour, alpha=0.15, lw=0.0, transform=ax.get_xaxis_transform())
    bottom, top = ax.get_ylim()
    ax.set(xlim=(left, right), ylim=(bottom - _HIGHEST * (top - bottom), top), xlabel=f"LLR of {group} (nats)")
    ax.xaxis.set_major_locator(MaxNLocator(5))

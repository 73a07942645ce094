"""Figures of maps: recordings as points in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import legend, look
from zeroevidence.plot.registry import figure
from zeroevidence.plot.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_GROUPS = 12  # groups with a line of their own in the legend


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
        seen, chosen = look(number), labels == group
        said = shortened(group) if len(groups) <= _MOST_GROUPS else None
        ax.plot(
            x[chosen],
            y[chosen],
            seen.marker,
            color=seen.colour,
            ms=2.5,
            mew=0.0,
            alpha=0.7,
            label=said,
            rasterized=len(x) > 3000,
        )
    ax.set(xticks=[], yticks=[], xlabel="first coordinate", ylabel="second coordinate")
    legend(ax, most_inside=3)

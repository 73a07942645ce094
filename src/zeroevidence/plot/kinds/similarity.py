"""Figures of similarity matrices: which people sound alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import colour_bar
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 24  # people whose names fit beside the axes


@figure(
    "Who sounds like whom",
    place=410,
    needs="pairs of known speakers (at most 100)",
    caption="How alike any two people sound: a bright diagonal on a dark ground means that all can be told apart. A "
    "cell is white where two people were not compared, as where they were evaluated in different folds.",
    has=lambda row: "similarity" in row.surfaces,
    together=False,
    height=3.1,
)
def similarity(
    row: Evaluation, ax: Axes, *, hide: Annotated[bool, "Number people instead of naming them."] = False
) -> None:
    """Voice similarity matrix: probability, at even odds, that two speakers are the same person.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation import Surface
    >>> matrix = Surface(("ann", "bob"), ("ann", "bob"), ((0.9, 0.2), (0.2, 0.8)))
    >>> result = replace(ze.evaluate(ze.Scores([2.1, 1.7], [0.9, 0.2])), surfaces={"similarity": matrix})
    >>> ax = ze.plot.similarity(result)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['ann', 'bob']
    """
    surface = row.surfaces["similarity"]
    drawn = ax.imshow(np.array(surface.z), cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest")
    for axis, names in ((ax.yaxis, surface.x), (ax.xaxis, surface.y)):
        place = np.arange(len(names))
        if len(names) > _NAMED:
            step = 10 if len(names) <= 60 else 20
            axis.set_ticks(place[step - 1 :: step], labels=[str(number) for number in place[step - 1 :: step] + 1])
            continue
        labels = [str(number + 1) if hide else shortened(str(name), 16) for number, name in enumerate(names)]
        turned = 90 if axis is ax.xaxis and len(labels) * max(map(len, labels)) > 30 else 0
        axis.set_ticks(place, labels=labels, fontsize=5.5, rotation=turned, parse_math=False)
    ax.set(xlabel="speaker of the trial", ylabel="enrolled speaker")
    colour_bar(ax, drawn, "similarity")

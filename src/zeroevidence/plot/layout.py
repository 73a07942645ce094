"""Layout of figures: axes as large as their texts leave room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox, BboxBase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Layout(ConstrainedLayoutEngine):
    """matplotlib's constrained layout; texts of a single pair of axes are measured once where it measures them twice.

    It measures a second time because axes of another length may have other ticks, and a text at a place in the axes
    may then reach less far beyond them, or further. Which ticks there are is found without measuring, so that here
    only axes that hold texts, or whose ticks have changed, are measured again.
    """

    def execute(self, fig: Figure) -> None:
        """Place the axes of a figure."""
        if len(fig.axes) != 1:
            super().execute(fig)
            return
        (ax,), pads = fig.axes, self.get()
        pad = np.array((pads["w_pad"], pads["h_pad"])) / fig.get_size_inches()
        for _ in range(2):
            texts = _around(ax)
            if texts is None:
                return
            place, ticks = ax.get_position(), _ticks(ax)
            around = fig.transFigure.inverted().transform_bbox(texts)
            low, high = pad + place.min - around.min, 1.0 - pad + place.max - around.max
            if (low >= high).any():  # there is room for texts alone
                return
            ax.set_position(Bbox((low, high)))
            ax.set_in_layout(True)  # where the figure gets a colour bar later
            if _ticks(ax) == ticks and not ax.texts:
                return


def _around(ax: Axes) -> BboxBase | None:
    """What axes take with their texts, in pixels; None where they are hidden."""
    legend = ax.get_legend()
    if legend is None or legend.get_bbox_to_anchor() is ax.bbox:
        return ax.get_tightbbox(for_layout_only=True)
    # A legend at an edge moves up and down with the axes, but stays at the left of the figure.
    legend.set_in_layout(False)
    around, below = ax.get_tightbbox(for_layout_only=True), legend.get_window_extent()
    legend.set_in_layout(True)
    if around is None:
        return None
    return Bbox(((around.x0, min(around.y0, below.y0)), (around.x1, max(around.y1, below.y1))))


def _ticks(ax: Axes) -> list[list[float]]:
    return [list(axis.get_majorticklocs()) for axis in (ax.xaxis, ax.yaxis)]

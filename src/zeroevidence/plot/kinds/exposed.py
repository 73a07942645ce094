"""How many people a search exposes, and how many it may expose of people like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import GREY, legend, look, percent_ticks
from zeroevidence.plot.curves import curve_arrays, has_curves
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import joined, row_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@figure(
    "People who are exposed to more than a level",
    place=235,
    needs="a search through several people",
    caption="What share of the measured people is exposed to more than a number of bits on average (thin), and what "
    "share of people like them may be at most, with 95 % confidence (thick).",
    has=has_curves("people_above", "people_above_bound"),
)
def exposed(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Share of people whose mean LID exceeds each level, seen and at most.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.exposed(result)
    >>> ax.get_ylabel()
    'people above (%)'
    """
    levels = np.concatenate([row.curves["people_above"].x for row in rows])
    finite = levels[np.isfinite(levels)]
    left, right = (float(finite.min()), float(finite.max())) if len(finite) else (-1.0, 1.0)
    left, right = min(left, 0.0), max(right, 0.0)
    space = 0.04 * max(right - left, 0.1)
    for number, (row, name) in enumerate(zip(rows, row_names(rows), strict=True)):
        seen = look(number)
        for curve, said, width in (("people_above_bound", "at most", 1.8), ("people_above", "measured", 0.8)):
            level, share = curve_arrays(row.curves[curve])
            x = np.concatenate(([left - space], np.maximum(level, left - space), [right + space]))
            y = np.concatenate(([1.0], share, share[-1:]))
            ax.step(x, y, where="post", color=seen.colour, ls=seen.line, lw=width, label=joined(name, said))
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set(xlabel="mean LID of a person (bits)", ylabel="people above (%)")
    ax.set(xlim=(left - space, right + space), ylim=(-0.02, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=2, inside="lower left")

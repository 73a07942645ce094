"""Figure of the people whom a search exposes: their share, and its upper bound in the population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.curves import curve_arrays, draw_exceedance, exceedance_axes, has_curves, named_looks
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import join_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@figure(
    "People who are exposed to more than a level",
    place=235,
    needs="a search through several people",
    caption="What share of the measured people is exposed to more than a number of bits on average (thin), and what "
    "share of people like them may be at most, at the confidence level of the results (thick).",
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
    span = left - space, right + space
    for row, name, look in named_looks(rows):
        for curve, label, width in (("people_above_bound", "at most", 1.8), ("people_above", "measured", 0.8)):
            level, share = curve_arrays(row.curves[curve])
            level = np.maximum(level, span[0])
            draw_exceedance(ax, level, share, span, look, lw=width, label=join_parts(name, label))
    exceedance_axes(ax, span, xlabel="mean LID of a person (bits)", ylabel="people above (%)")

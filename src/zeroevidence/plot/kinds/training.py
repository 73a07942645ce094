"""Figures of protectors over the people they were fitted on, and over epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import GREY, decimal_ticks, legend, plain_ticks
from zeroevidence.plot.curves import named_looks
from zeroevidence.plot.kind import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVE = "d_ece_over_people"
_MU = "mu_over_epochs"


@figure(
    "Remaining disclosure over the number of people in the fit",
    place=620,
    needs="protectors that were fitted on fewer people too",
    caption="How much of the attribute is left when the protector is fitted on more people: where a line still falls, "
    "more people would help; where it is level, they would not.",
    has=lambda row: _CURVE in row.curves,
)
def over_training(rows: Sequence[Evaluation], ax: Axes) -> None:
    """D_ECE of an attribute over the number of people that the protector was fitted on.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation import Curve
    >>> curve = Curve((8.0, 16.0, 32.0), (0.6, 0.5, 0.4))
    >>> result = replace(ze.evaluate([2.1, 1.7], [0.9, 0.2]), curves={"d_ece_over_people": curve})
    >>> ze.plot.over_training(result).get_xlabel()
    'people that the protector was fitted on'
    """
    for row, name, look in named_looks(rows):
        curve = row.curves[_CURVE]
        ax.plot(curve.x, curve.y, **look.marked_curve, label=name)
        null = row.metrics["d_ece"].null
        if null is not None:
            ax.axhline(null.mean, color=GREY, ls=":", lw=0.9, label="chance" if row is rows[0] else None)
    ax.set_xscale("log", base=2)
    plain_ticks(ax.xaxis)
    ax.set(xlabel="people that the protector was fitted on", ylabel="D_ECE (bits)")
    ax.set_ylim(bottom=0.0)
    legend(ax, most_inside=3)


@figure(
    "Mean evidence of a flow over its training",
    place=630,
    needs="a flow that was trained for these results",
    caption="The flow's estimate of the mean evidence, epoch by epoch: where lines from several starts meet, the start "
    "does not matter.",
    has=lambda row: _MU in row.curves,
)
def over_epochs(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Mean evidence (mu, the mean of the LLR) before training and after each epoch.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation import Curve
    >>> curve = Curve((0.0, 1.0, 2.0), (10.0, 7.0, 6.0))
    >>> result = replace(ze.evaluate([2.1, 1.7], [0.9, 0.2]), curves={"mu_over_epochs": curve})
    >>> ze.plot.over_epochs(result).get_xlabel()
    'epochs'
    """
    for row, name, look in named_looks(rows):
        curve = row.curves[_MU]
        ax.plot(curve.x, curve.y, **look.curve, label=name)
    ax.set_yscale("log")
    decimal_ticks(ax.yaxis)
    ax.set(xlabel="epochs", ylabel="mu (nats)")
    legend(ax, most_inside=4)

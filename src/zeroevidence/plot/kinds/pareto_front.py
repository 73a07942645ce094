"""Pareto front of protectors of attributes at several strengths: disclosure of the attribute against verification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.pareto import FrontPoint, front_points
from zeroevidence.plot.canvas import GREY, legend, look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import axis_title, shortened
from zeroevidence.plot.points import FAINT, POINT, interval_line, mark_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@figure(
    "Privacy against utility",
    place=330,
    needs="protectors at several strengths (`protect evaluate --front`)",
    caption="What the strongest attacker learns about the attribute, against how well speakers are still recognised: "
    "ringed points are the Pareto front, which no other point beats in both.",
    has=lambda row: row.about.strength is not None and row.about.role != "training",
    height=3.2,
    most=None,
)
def front(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    utility: Annotated[Literal["eer", "top1"], "What is on the horizontal axis: EER, or how often the search hits."] = (
        "eer"
    ),
) -> None:
    """D_ECE of the strongest attacker against verification, a line per protector over its strengths.

    Rings and the stepped line mark the Pareto front over all protectors. Bars are confidence intervals where there are
    any; the dotted line is the mean D_ECE under the null.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> from zeroevidence.protect import Roles
    >>> from zeroevidence.protect.tradeoff.strengths import assess_strengths
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> roles = Roles.split(ze.Embeddings(vectors, None, people, {"sex": sex}), "sex")
    >>> options = ze.Options(intervals=0, null=0)
    >>> rows = assess_strengths(roles, "sex", ["leace"], classifiers=["logistic"], options=options)
    >>> ax = ze.plot.front(rows)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('EER (%)', 'D_ECE (bits)')
    """
    points = front_points(rows, utility=utility)
    kinds = list(dict.fromkeys(point.protector for point in points))
    for number, kind in enumerate(kinds):
        strengths = sorted((point for point in points if point.protector == kind), key=lambda point: point.strength)
        line = look(number)
        at = [_place(point, utility) for point in strengths]
        x, y = zip(*at, strict=True)
        ax.plot(x, y, **line.curve, lw=0.9, zorder=2)
        marker, size = ("*", 8.0) if kind == UNPROTECTED else (line.marker, 4.5)
        ax.plot(x, y, marker, color=line.colour, **POINT, ms=size, label=shortened(kind), zorder=3)
        for point, (across, up) in zip(strengths, at, strict=True):
            interval_line(ax, point.utility[utility], up, line.colour, scale=100.0, across=True, **FAINT)
            interval_line(ax, point.attack["d_ece"], across, line.colour, scale=1.0, across=False, **FAINT)
    mark_front(ax, [_place(point, utility) for point in points if point.on_front], more_is_useful=utility != "eer")
    nulls = [point.attack["d_ece"].null for point in points]
    means = [null.mean for null in nulls if null is not None]
    if means:
        ax.axhline(float(np.mean(means)), color=GREY, lw=0.8, ls=":")
    ax.set(xlabel=axis_title(utility), ylabel=axis_title("d_ece"))
    ax.set_ylim(bottom=0.0)
    if utility == "eer":
        _stretch(ax)
    legend(ax, most_inside=3)


def _place(point: FrontPoint, utility: str) -> tuple[float, float]:
    return 100.0 * float(point.utility[utility]), float(point.attack["d_ece"])


def _stretch(ax: Axes) -> None:
    """Error rates up to one per cent on an even scale, larger ones on a logarithmic one: budgets are small."""
    top = max(1.0, ax.get_xlim()[1])
    ax.set_xscale("symlog", linthresh=1.0)
    ticks = [tick for tick in (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0) if tick <= top]
    ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlim(-0.05, top)

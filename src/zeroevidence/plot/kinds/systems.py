"""Figures that set systems side by side by their measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.registry import find_measure
from zeroevidence.plot.canvas import BLUE, GREY, ORANGE, VERMILION, legend, look
from zeroevidence.plot.labelled import labelled_points, measure_scale
from zeroevidence.plot.registry import figure
from zeroevidence.plot.words import axis_title, measured, row_names, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Tried in this order where nobody says which.
_PAIRS = (
    ("cllr_min", "linkability"),
    ("eer", "alid"),
    ("alid", "lid_max"),
    ("tdcf_min", "teer"),
    ("cm_eer", "cm_dcf_min"),
)

_MOST_NAMED = 8  # points with a line of their own in the legend


def _finite(row: Evaluation, name: str) -> bool:
    value = measured(row, name)
    return value is not None and bool(np.isfinite(value))


def _default_pair(row: Evaluation) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(measured(row, name) is not None for name in pair)), None)


def _groups(rows: Sequence[Evaluation]) -> list[str]:
    """A name for each row or, of many rows, the label that puts them into few groups."""
    if len(rows) > _MOST_NAMED:
        for label in ("system", "attacker", "dataset", "trial", "sex"):
            values = [shortened(row.labels.get(label, "")) for row in rows]
            if 1 < len(set(values)) <= _MOST_NAMED:
                return values
    return row_names(rows)


@figure(
    "Measure against measure",
    place=310,
    needs="at least two measures",
    caption="Two ways to measure the same systems: where points leave the common trend, the two see different risks.",
    has=lambda row: _default_pair(row) is not None,
    from_scores=True,
)
def scatter(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    x: Annotated[
        str | None, "The measure on the horizontal axis, by name; one that the results have unless given."
    ] = None,
    y: Annotated[str | None, "The measure on the vertical axis."] = None,
    colour: Annotated[str | None, "The label that colours stand for, such as system."] = None,
    marker: Annotated[str | None, "The label that markers stand for, such as attacker."] = None,
) -> None:
    """Two measures of each result as a point; bars are 95 % intervals where there are any.

    Many results are told apart by system or another label that puts them into few groups.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.scatter([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], x="eer", y="d_ece")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('EER (%)', 'D_ECE (bits)')
    """
    pair = _default_pair(rows[0])
    assert pair is not None
    first, second = x or pair[0], y or pair[1]
    for name in (first, second):
        find_measure(name)
    shown = [row for row in rows if _finite(row, first) and _finite(row, second)]
    if not shown:
        raise UsageError(f"no result has both {first} and {second} as finite numbers")
    if colour is not None or marker is not None:
        labelled_points(ax, shown, (first, second), colour, marker)
        return
    names = _groups(shown)
    order = list(dict.fromkeys(names))
    for number, (row, name) in enumerate(zip(shown, names, strict=True)):
        seen = look(order.index(name))
        said = name if name not in names[:number] else None
        at = [(measure_scale(one), row.metrics[one]) for one in (first, second)]
        values = [scale * float(metric.value) for scale, metric in at]  # type: ignore[arg-type]
        ax.plot(values[:1], values[1:], seen.marker, color=seen.colour, mec="white", mew=0.4, ms=5.0, label=said)
        for side, (scale, metric) in enumerate(at):
            if metric.low is not None and metric.high is not None and np.isfinite([metric.low, metric.high]).all():
                span = [scale * metric.low, scale * metric.high]
                still = [values[1 - side]] * 2
                ax.plot(*((span, still) if side == 0 else (still, span)), color=seen.colour, lw=0.6, alpha=0.6)
    ax.set(xlabel=axis_title(first), ylabel=axis_title(second))
    for axis, scale in ((ax.xaxis, measure_scale(first)), (ax.yaxis, measure_scale(second))):
        _not_too_close(axis, 1e-3 * scale)
    legend(ax, most_inside=3)


def _not_too_close(axis: Any, least: float) -> None:
    """Show at least so much of an axis, without an offset beside it: values that only rounding tells apart are one."""
    axis.get_major_formatter().set_useOffset(False)
    low, high = axis.get_view_interval()
    if high - low < least:
        axis.set_view_interval((low + high - least) / 2.0, (low + high + least) / 2.0, ignore=True)


@figure(
    "Error rate against disclosure",
    place=320,
    needs="a search through several people and its EER",
    caption="The error rate of single comparisons beside what a search discloses: systems with the same error rate can "
    "expose single recordings differently.",
    has=lambda row: all(measured(row, name) is not None for name in ("eer", "alid", "lid_max")),
    height=3.0,
)
def eer_lid(rows: Sequence[Evaluation], ax: Axes) -> None:
    """EER (left axis) beside ALID and LID_max (right axis, bits), with 95 % intervals where there are any.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.eer_lid(result)
    >>> ax.get_ylabel()
    'EER (%)'
    """
    place = np.arange(len(rows))
    right = ax.twinx()
    right.spines["right"].set_visible(True)
    for offset, name, colour, hatch, axes in (
        (-0.27, "eer", GREY, None, ax),
        (0.0, "alid", BLUE, "////", right),
        (0.27, "lid_max", VERMILION, "\\\\\\\\", right),
    ):
        scale = measure_scale(name)
        values = [scale * float(row.metrics[name].value) for row in rows]  # type: ignore[arg-type]
        axes.bar(place + offset, values, 0.25, color=colour, alpha=0.75, hatch=hatch, edgecolor="white", lw=0.0)
        for at, row in zip(place + offset, rows, strict=True):
            metric = row.metrics[name]
            if metric.low is not None and metric.high is not None:
                axes.plot([at, at], [scale * metric.low, scale * metric.high], color="#333333", lw=0.8)
        ax.bar(
            [np.nan], [np.nan], color=colour, alpha=0.75, hatch=hatch, edgecolor="white", lw=0.0, label=axis_title(name)
        )
    ax.axhline(50.0, color=GREY, lw=0.8, ls=":")
    right.axhline(0.0, color=ORANGE, lw=0.6)
    ax.set(ylabel=axis_title("eer"), xlim=(-0.6, len(rows) - 0.4))
    low, high = right.get_ylim()
    high = max(high, 0.1)
    # Both zeros at one height: bars of either axis start from the same line.
    right.set_ylim(min(0.0, low), high)
    share = min(0.0, low) / high
    top = max(52.0, ax.get_ylim()[1])
    ax.set_ylim(share * top, top)
    ax.set_yticks([0, 10, 20, 30, 40, 50])
    right.set_ylabel("disclosure (bits)")
    names = [shortened(name, 28) for name in row_names(rows)]
    turned = max(map(len, names)) * len(rows) > 48
    ax.set_xticks(
        place, labels=names, rotation=35 if turned else 0, ha="right" if turned else "center", parse_math=False
    )
    # Flush right: long names below push the axes to the right, and the legend must not leave the figure.
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2, columnspacing=1.2)

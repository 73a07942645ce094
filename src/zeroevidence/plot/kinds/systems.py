"""Figures that set systems side by side by their measures."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.evaluation import used_labels
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.plot import canvas
from zeroevidence.plot.kind import figure
from zeroevidence.plot.marks import interval_line, is_finite, label_values, measure_point, measure_scale, name_ticks
from zeroevidence.plot.rows import axis_title, measure_value, row_names, shortened

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

_BAR: dict[str, Any] = {"alpha": 0.75, "edgecolor": "white", "lw": 0.0}
_MOST_NAMED = 8  # points with a line of their own in the legend


def _default_pair(row: Evaluation) -> tuple[str, str] | None:
    return next((pair for pair in _PAIRS if all(measure_value(row, name) is not None for name in pair)), None)


def _groups(rows: Sequence[Evaluation]) -> list[str]:
    """Return a name for each row or, of many rows, the value of a label that puts them into few groups."""
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
    most=None,
)
def scatter(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    x: Annotated[
        str | None, "The measure on the horizontal axis, by name; one that the results have unless given."
    ] = None,
    y: Annotated[str | None, "The measure on the vertical axis."] = None,
) -> None:
    """Two measures of each result as a point; bars are confidence intervals where there are any.

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
        MEASURES.find(name)
    usable = [row for row in rows if is_finite(row, first) and is_finite(row, second)]
    if not usable:
        raise UsageError(f"no result has both {first} and {second} as finite numbers")
    ax.set(xlabel=axis_title(first), ylabel=axis_title(second))
    names = _groups(usable)
    order = list(dict.fromkeys(names))
    for number, (row, name) in enumerate(zip(usable, names, strict=True)):
        point, label = canvas.look(order.index(name)), name if name not in names[:number] else None
        measure_point(ax, row, (first, second), point.colour, point.marker, label=label)
    for axis, scale in ((ax.xaxis, measure_scale(first)), (ax.yaxis, measure_scale(second))):
        _not_too_close(axis, 1e-3 * scale)
    canvas.legend(ax, most_inside=3)


def _not_too_close(axis: Any, least: float) -> None:
    """Show at least so much of an axis, without an offset, so that differences due to rounding do not show."""
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
    has=lambda row: all(measure_value(row, name) is not None for name in ("eer", "alid", "lid_max")),
    height=3.0,
    most=None,
    per_row=0.3,
)
def eer_lid(rows: Sequence[Evaluation], ax: Axes) -> None:
    """EER beside ALID and LID_max (bits, on an axis of their own), with intervals where there are any.

    Bars of few results stand, those of many lie, so that their names have room.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.eer_lid(result)
    >>> ax.get_ylabel()
    'EER (%)'
    """
    from matplotlib.transforms import ScaledTranslation

    lying = len(rows) > canvas.ROWS
    along, across = ("y", "x") if lying else ("x", "y")
    place = np.arange(len(rows))
    other = ax.twiny() if lying else ax.twinx()
    other.spines["top" if lying else "right"].set_visible(True)
    for offset, name, colour, hatch, axes in (
        (-0.27, "eer", canvas.GREY, None, ax),
        (0.0, "alid", canvas.BLUE, "////", other),
        (0.27, "lid_max", canvas.VERMILION, "\\\\\\\\", other),
    ):
        scale = measure_scale(name)
        heights = [scale * float(row.metrics[name]) for row in rows]
        (axes.barh if lying else axes.bar)(place + offset, heights, 0.25, color=colour, hatch=hatch, **_BAR)
        for at, row in zip(place + offset, rows, strict=True):
            interval_line(axes, row.metrics[name], at, "#333333", scale=scale, across=lying, lw=0.8)
        ax.bar([np.nan], [np.nan], color=colour, hatch=hatch, label=axis_title(name), **_BAR)
    (ax.axvline if lying else ax.axhline)(50.0, color=canvas.GREY, lw=0.8, ls=":")
    (other.axvline if lying else other.axhline)(0.0, color=canvas.ORANGE, lw=0.6)
    low, high = getattr(other, f"get_{across}lim")()
    high = max(high, 0.1)
    # Both zeros at one place: bars of either axis start from the same line.
    top = max(52.0, getattr(ax, f"get_{across}lim")()[1])
    ax.set(
        **{
            f"{across}label": axis_title("eer"),
            f"{across}lim": (min(0.0, low) / high * top, top),
            f"{across}ticks": [0, 10, 20, 30, 40, 50],
            f"{along}lim": (len(rows) - 0.4, -0.6) if lying else (-0.6, len(rows) - 0.4),
        }
    )
    other.set(**{f"{across}lim": (min(0.0, low), high), f"{across}label": "disclosure (bits)"})
    names = row_names(rows)
    if lying:
        ax.set_yticks(place, labels=[textwrap.fill(shortened(name, 54), 30) for name in names], parse_math=False)
    else:
        name_ticks(ax, names)
    # Flush right: long names push the axes to the right, and the legend must not leave the figure.
    down = ScaledTranslation(0.0, -0.42, canvas.parent_figure(ax).dpi_scale_trans)  # below the title of the lower axis
    ax.legend(
        loc="upper right" if lying else "lower right",
        bbox_to_anchor=(1.0, 0.0 if lying else 1.0),
        bbox_transform=ax.transAxes + down if lying else ax.transAxes,
        ncols=3,
        borderaxespad=0.2,
        columnspacing=1.2,
    )


_GROUPS = ("attacker", "system", "dataset")  # tried in this order where nobody says
_DERIVED = ("enrolment", "trial")  # follow from the attacker
_COLOURS = 7  # as many as can be told apart, and as a legend has room for
_HATCHES = (None, "////", "\\\\\\\\", "....", "xxxx")


@figure(
    "Bars of a measure",
    place=305,
    needs="a measure that is a number",
    caption="One measure of every system, side by side for each attacker: bars of one colour show which system "
    "holds against that attacker.",
    has=lambda row: any(measure_value(row, name) is not None for name in headline_measures()),
    from_scores=True,
    most=None,
)
def bars(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    y: Annotated[str | None, "The measure, by name; the first that the results have unless given."] = None,
    group: Annotated[str | None, "The label that has a bar of its own colour; the attacker where it differs."] = None,
    sort: Annotated[
        str | None,
        "Sort by the bars of this value of the group, such as semi-informed; two letters name the sides that are "
        "compared: oo, oa, aa.",
    ] = None,
) -> None:
    """A bar for each result, with its interval; results that differ in the group's label alone stand together.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> quick = ze.Options(intervals=0, null=0)
    >>> row = ze.evaluate([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], labels={"system": "a"}, options=quick)
    >>> ze.plot.bars(row, y="linkability").get_ylabel()
    'linkability'
    """
    measures = (name for name in headline_measures() if any(measure_value(row, name) is not None for row in rows))
    name = MEASURES.find(y).name if y is not None else next(measures)
    usable = [row for row in rows if is_finite(row, name)]
    if not usable:
        raise UsageError(f"no result has {name} as a finite number")
    differing = (each for each in _GROUPS if 1 < len({row.labels.get(each) for row in usable}) <= _COLOURS)
    label, scale = group or next(differing, None), measure_scale(name)
    places = _places(usable, label)
    values = _distinct(usable, places, label_values(usable, label)) if label is not None else [""] * len(usable)
    order = list(dict.fromkeys(places))
    if sort is not None:
        by_place = _sorting_values(usable, values, places, name, sort)
        order.sort(key=lambda place: (place not in by_place, -by_place.get(place, 0.0)))  # those without a value last
    groups = list(dict.fromkeys(values))
    width = 0.8 / len(groups)
    of_place = {
        place: [value for value in groups if (place, value) in zip(places, values, strict=True)] for place in order
    }
    for number, value in enumerate(groups):
        members = [i for i, member in enumerate(values) if member == value]
        beside = [of_place[places[i]] for i in members]  # bars at one place stand around its middle
        offsets = [width * (bars_at_place.index(value) - (len(bars_at_place) - 1) / 2.0) for bars_at_place in beside]
        at = [order.index(places[i]) + offset for i, offset in zip(members, offsets, strict=True)]
        heights = [scale * float(usable[i].metrics[name]) for i in members]
        colour, hatch = canvas.look(number).colour, _HATCHES[number % len(_HATCHES)]
        title = shortened(value, 40)
        ax.bar(at, heights, width, color=colour, alpha=0.75, hatch=hatch, edgecolor="white", lw=0.0, label=title)
        for i, place in zip(members, at, strict=True):
            interval_line(ax, usable[i].metrics[name], place, "#333333", scale=scale, across=False, lw=0.8)
    name_ticks(ax, order)
    ax.set(ylabel=axis_title(name), xlim=(-0.6, len(order) - 0.4))
    if len(groups) > 1:  # above: names below may be long
        canvas.legend_above(ax)


def _places(rows: Sequence[Evaluation], group: str | None) -> list[tuple[str, ...]]:
    """Where each row stands along the axis: by the labels that differ, but for the group's."""
    derived = _DERIVED if "attacker" in used_labels(rows) else ()
    labels = [label for label in used_labels(rows) if label != group and label not in derived]
    telling = [label for label in labels if len({row.labels.get(label) for row in rows}) > 1] or labels[:1]
    values = {label: label_values(rows, label) for label in telling}
    return [tuple(values[label][i] for label in telling) for i in range(len(rows))]


def _distinct(rows: Sequence[Evaluation], places: Sequence[tuple[str, ...]], values: Sequence[str]) -> list[str]:
    """Values of the group, with the sides that are compared where two rows at one place have the same."""
    pairs = list(zip(places, values, strict=True))
    twice = {value for place, value in pairs if pairs.count((place, value)) > 1}
    return [
        f"{value} {_sides(row.labels)}".rstrip() if value in twice else value
        for row, value in zip(rows, values, strict=True)
    ]


def _sorting_values(
    rows: Sequence[Evaluation], values: Sequence[str], places: Sequence[tuple[str, ...]], name: str, sort: str
) -> dict[tuple[str, ...], float]:
    """The measure of the rows to sort by, by place."""
    chosen = [i for i, row in enumerate(rows) if sort in (values[i], _sides(row.labels))]
    if not chosen:
        choices = sorted({*values, *(_sides(row.labels) for row in rows)} - {""})
        raise UsageError(f"sort: expected one of {', '.join(choices)}, got {sort!r}")
    return {places[i]: float(rows[i].metrics[name]) for i in chosen}


def _sides(labels: Mapping[str, str]) -> str:
    """The initials of what is compared, as challenges write them: oo, oa, aa."""
    return labels.get("enrolment", "")[:1] + labels.get("trial", "")[:1]

"""Bars of any measure, in groups, in the order of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.frames import used_labels
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.plot.canvas import legend_above, look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import axis_title, measure_value, shortened
from zeroevidence.plot.points import interval_line, is_finite, label_values, measure_scale, name_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    >>> row = ze.evaluate([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], intervals=0, null=0, labels={"system": "a"})
    >>> ze.plot.bars(row, y="linkability").get_ylabel()
    'linkability'
    """
    name = MEASURES.find(y).name if y is not None else _first_measure(rows)
    usable = [row for row in rows if is_finite(row, name)]
    if not usable:
        raise UsageError(f"no result has {name} as a finite number")
    label, scale = group or _group(usable), measure_scale(name)
    places = _places(usable, label)
    values = _distinct(usable, places, label_values(usable, label)) if label is not None else [""] * len(usable)
    order = list(dict.fromkeys(places))
    if sort is not None:
        order = _sorted(order, _sorting_values(usable, values, places, name, sort))
    groups = list(dict.fromkeys(values))
    width = 0.8 / len(groups)
    of_place = {
        place: [value for value in groups if (place, value) in zip(places, values, strict=True)] for place in order
    }
    for number, value in enumerate(groups):
        members = [i for i, member in enumerate(values) if member == value]
        at = [order.index(places[i]) + width * _offset(of_place[places[i]], value) for i in members]
        heights = [scale * float(usable[i].metrics[name]) for i in members]
        colour, hatch = look(number).colour, _HATCHES[number % len(_HATCHES)]
        title = shortened(value, 40)
        ax.bar(at, heights, width, color=colour, alpha=0.75, hatch=hatch, edgecolor="white", lw=0.0, label=title)
        for i, place in zip(members, at, strict=True):
            interval_line(ax, usable[i].metrics[name], place, "#333333", scale=scale, across=False, lw=0.8)
    name_ticks(ax, order)
    ax.set(ylabel=axis_title(name), xlim=(-0.6, len(order) - 0.4))
    if len(groups) > 1:  # above: names below may be long
        legend_above(ax)


def _offset(there: Sequence[str], value: str) -> float:
    """How many bars one of those at a place stands beside its middle."""
    return there.index(value) - (len(there) - 1) / 2.0


def _first_measure(rows: Sequence[Evaluation]) -> str:
    return next(name for name in headline_measures() if any(measure_value(row, name) is not None for row in rows))


def _group(rows: Sequence[Evaluation]) -> str | None:
    differing = [label for label in _GROUPS if 1 < len({row.labels.get(label) for row in rows}) <= _COLOURS]
    return differing[0] if differing else None


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
        there = sorted({*values, *(_sides(row.labels) for row in rows)} - {""})
        raise UsageError(f"sort: expected one of {', '.join(there)}, got {sort!r}")
    return {places[i]: float(rows[i].metrics[name]) for i in chosen}


def _sides(labels: Mapping[str, str]) -> str:
    """The initials of what is compared, as challenges write them: oo, oa, aa."""
    return labels.get("enrolment", "")[:1] + labels.get("trial", "")[:1]


def _sorted(order: Sequence[tuple[str, ...]], values: Mapping[tuple[str, ...], float]) -> list[tuple[str, ...]]:
    """The largest first; those without a value last."""
    return sorted(order, key=lambda place: (place not in values, -values.get(place, 0.0)))

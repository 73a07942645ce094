"""Bars of any measure, in groups, in the order of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.frames import used_labels
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.plot.canvas import look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.labelled_points import label_values, measure_scale
from zeroevidence.plot.names import axis_title, measured, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GROUPS = ("attacker", "system", "dataset")  # tried in this order where nobody says
_DERIVED = ("enrolment", "trial")  # of an attacker, and no names of their own
_COLOURS = 7  # as many as can be told apart, and as a legend has room for
_HATCHES = (None, "////", "\\\\\\\\", "....", "xxxx")


@figure(
    "Bars of a measure",
    place=305,
    needs="a measure that is a number",
    caption="One measure of every system, side by side for each attacker: bars of one colour show which system "
    "holds against that attacker.",
    has=lambda row: any(measured(row, name) is not None for name in headline_measures()),
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
    shown = [row for row in rows if row.number(name) is not None and np.isfinite(row.number(name) or 0.0)]
    if not shown:
        raise UsageError(f"no result has {name} as a finite number")
    label = group or _group(shown)
    places = _places(shown, label)
    colours = _distinct(shown, places, label_values(shown, label)) if label is not None else [""] * len(shown)
    order = list(dict.fromkeys(places))
    if sort is not None:
        order = _sorted(order, _sorting_values(shown, colours, places, name, sort))
    kinds = list(dict.fromkeys(colours))
    width = 0.8 / len(kinds)
    for number, kind in enumerate(kinds):
        own = [i for i, colour in enumerate(colours) if colour == kind]
        at = [order.index(places[i]) + (number - (len(kinds) - 1) / 2.0) * width for i in own]
        _bars(ax, [shown[i] for i in own], at, name, width, number, shortened(kind, 40))
    names = [shortened(" ".join(part for part in place if part), 28) for place in order]
    turned = max(map(len, names)) * len(names) > 48
    ax.set_xticks(
        range(len(names)), labels=names, rotation=35 if turned else 0, ha="right" if turned else "center",
        parse_math=False,
    )  # fmt: skip
    ax.set(ylabel=axis_title(name), xlim=(-0.6, len(names) - 0.4))
    if len(kinds) > 1:  # above: names below may be long
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=min(3, len(kinds)), borderaxespad=0.2)


def _bars(
    ax: Axes, rows: Sequence[Evaluation], at: Sequence[float], name: str, width: float, number: int, label: str
) -> None:
    scale, hatch = measure_scale(name), _HATCHES[number % len(_HATCHES)]
    values = [scale * float(row.metrics[name]) for row in rows]
    colour = look(number).colour
    ax.bar(at, values, width, color=colour, alpha=0.75, hatch=hatch, edgecolor="white", lw=0.0, label=label)
    for place, row in zip(at, rows, strict=True):
        low, high = row.metrics[name].low, row.metrics[name].high
        if low is not None and high is not None and np.isfinite([low, high]).all():
            ax.plot([place, place], [scale * low, scale * high], color="#333333", lw=0.8)


def _first_measure(rows: Sequence[Evaluation]) -> str:
    return next(name for name in headline_measures() if any(measured(row, name) is not None for row in rows))


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
    rows: Sequence[Evaluation], colours: Sequence[str], places: Sequence[tuple[str, ...]], name: str, sort: str
) -> dict[tuple[str, ...], float]:
    """The measure of the rows to sort by, by place."""
    chosen = [i for i, row in enumerate(rows) if sort == colours[i] or sort == _sides(row.labels)]
    if not chosen:
        there = sorted({*colours, *(_sides(row.labels) for row in rows)} - {""})
        raise UsageError(f"sort: expected one of {', '.join(there)}, got {sort!r}")
    return {places[i]: float(rows[i].metrics[name]) for i in chosen}


def _sides(labels: Mapping[str, str]) -> str:
    """The initials of what is compared, as challenges write them: oo, oa, aa."""
    return labels.get("enrolment", "")[:1] + labels.get("trial", "")[:1]


def _sorted(order: Sequence[tuple[str, ...]], values: Mapping[tuple[str, ...], float]) -> list[tuple[str, ...]]:
    """The largest first; those without a value last."""
    return sorted(order, key=lambda place: (place not in values, -values.get(place, 0.0)))

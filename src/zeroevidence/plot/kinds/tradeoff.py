"""The figure of protected speech: what attackers learn of it, against what it is still good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.beside import utility_beside
from zeroevidence.measure.measures import MEASURES
from zeroevidence.plot.canvas import GREY, legend, look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.labelled_points import measure_scale
from zeroevidence.plot.names import axis_title, shortened
from zeroevidence.plot.pareto import interval_bar, mark_front, on_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRIVACY = ("alid", "d_ece", "eer")  # tried in this order where nobody says which
_PEOPLE = ("dataset", "split", "sex")


def _useful(row: Evaluation) -> list[str]:
    """Measures of utility that a row has as finite numbers, those of headlines first."""
    found = [name for name, one in MEASURES.items() if one.family == "utility" and _finite(row, name)]
    return sorted(found, key=lambda name: (MEASURES[name].headline is None, MEASURES[name].place))


def _finite(row: Evaluation, name: str) -> bool:
    value = row.number(name)
    return value is not None and bool(np.isfinite(value))


def _both(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Rows of attackers, with the utility of what they attack."""
    return [row for row in utility_beside(rows) if row.about.threat is not None and _useful(row)]


@figure(
    "Privacy against utility of speech",
    place=335,
    needs="attackers on protected speech and its utility, such as a word error rate",
    caption="What the strongest attacker learns of each system's speech, against what that speech is still good for: "
    "ringed points are not beaten by any other.",
    has=lambda row: row.about.speech is not None or (row.about.threat is not None and row.about.question == "identity"),
    whole=lambda rows: bool(_both(rows)),
    height=3.0,
    most=None,
)
def tradeoff(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    x: Annotated[str | None, "The measure of utility on the horizontal axis; WER where there is one."] = None,
    y: Annotated[str | None, "The measure of privacy on the vertical axis; of ALID, D_ECE and EER the first."] = None,
) -> None:
    """What the strongest attacker learns against utility, a point for each system; bars are 95 % intervals.

    Rings and the stepped line mark the front. Groups of people who were attacked apart have markers and a front of
    their own; a star is unprotected speech.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> from zeroevidence.data.threat import ThreatModel
    >>> from zeroevidence.evaluation import About, Evaluation, MeasureResult
    >>> threat = ThreatModel("ignorant", "original", "anonymised")
    >>> attack = Evaluation({"eer": MeasureResult(0.3, "rate")}, labels={"system": "x"}, about=About.against(threat))
    >>> about = About(role="utility", speech="anonymised")
    >>> words = Evaluation({"wer": MeasureResult(0.1, "rate")}, labels={"system": "x"}, about=about)
    >>> ax = ze.plot.tradeoff([attack, words])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('WER (%)', 'EER (%)')
    """
    found = _both(rows)
    first, second = x or _useful(found[0])[0], y or _privacy(found)
    useful, private = MEASURES.find(first), MEASURES.find(second)
    if useful.better == "none" or private.discloses == "none":
        raise UsageError("expected a measure of utility as x and one of privacy as y")
    signs = (1.0 if useful.better == "up" else -1.0, -1.0 if private.discloses == "up" else 1.0)
    found = [row for row in found if _finite(row, first) and _finite(row, second)]
    points = _strongest(found, second, signs[1])
    if not points:
        raise UsageError(f"no result has both {first} and {second} as finite numbers")
    systems = list(dict.fromkeys(system for _, system in points))
    groups = list(dict.fromkeys(group for group, _ in points))
    for number, group in enumerate(groups):
        own = {system: row for (people, system), row in points.items() if people == group}
        colours = {system: look(systems.index(system)).colour for system in own}
        places = _draw(ax, own, (first, second), colours, look(number).marker)
        best = on_front([(signs[0] * across, signs[1] * up) for across, up in places])
        ringed = [at for at, good in zip(places, best, strict=True) if good]
        mark_front(ax, ringed, more_is_useful=useful.better == "up", label="front" if number == 0 else None)
        if len(groups) > 1:
            ax.plot([], [], look(number).marker, color=GREY, mfc="none", ms=5.0, ls="", label=", ".join(group))
    ax.set(xlabel=axis_title(first), ylabel=axis_title(second))
    legend(ax, most_inside=3)


def _draw(
    ax: Axes, rows: Mapping[str, Evaluation], measures: tuple[str, str], colours: Mapping[str, str], marker: str
) -> list[tuple[float, float]]:
    """Systems as points with both intervals, and where they are."""
    scales = measure_scale(measures[0]), measure_scale(measures[1])
    known = ax.get_legend_handles_labels()[1]
    places = []
    for system, row in rows.items():
        one, other = (row[name] for name in measures)
        at = scales[0] * float(one), scales[1] * float(other)
        name, colour = shortened(system), colours[system]
        shape, size = ("*", 8.0) if row.about.role == "control" else (marker, 5.0)
        told = None if name in known else name
        ax.plot(*at, shape, color=colour, mec="white", mew=0.4, ms=size, label=told, ls="", zorder=3)
        interval_bar(ax, one, at[1], colour, scale=scales[0], across=True)
        interval_bar(ax, other, at[0], colour, scale=scales[1], across=False)
        places.append(at)
    return places


def _privacy(rows: Sequence[Evaluation]) -> str:
    """The first of the usual measures that every row has."""
    for name in _PRIVACY:
        if all(_finite(row, name) for row in rows):
            return name
    return _PRIVACY[-1]


def _strongest(rows: Sequence[Evaluation], measure: str, sign: float) -> dict[tuple[tuple[str, ...], str], Evaluation]:
    """For each group of people and system the row of the attacker who learns most."""
    apart = [name for name in _PEOPLE if len({row.labels.get(name, "") for row in rows}) > 1]
    points: dict[tuple[tuple[str, ...], str], Evaluation] = {}
    for row in rows:
        group = tuple(row.labels.get(name, "") for name in apart)
        place = group, UNPROTECTED if row.about.role == "control" else row.labels.get("system", "")
        if place not in points or sign * float(row[measure]) < sign * float(points[place][measure]):
            points[place] = row
    return points

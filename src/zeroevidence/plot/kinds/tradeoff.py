"""Figure of protected speech: disclosure to the strongest attacker against utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.beside import utility_beside
from zeroevidence.evaluation.finding.pareto import on_front
from zeroevidence.measure.measures import MEASURES
from zeroevidence.plot.canvas import GREY, legend, look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import axis_title, shortened
from zeroevidence.plot.points import FAINT, is_finite, mark_front, measure_point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRIVACY = ("alid", "d_ece", "eer")  # tried in this order where nobody says which
_PEOPLE = ("dataset", "split", "sex")


def _useful(row: Evaluation) -> list[str]:
    """Measures of utility that a row has as finite numbers, those of headlines first."""
    names = [name for name, measure in MEASURES.items() if measure.family == "utility" and is_finite(row, name)]
    return sorted(names, key=lambda name: (MEASURES[name].headline is None, MEASURES[name].place))


def _both(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """Rows of attackers, with the utility of what they attack."""
    return [row for row in utility_beside(rows) if row.about.threat is not None and _useful(row)]


@figure(
    "Privacy against utility of speech",
    place=335,
    needs="attackers on protected speech and its utility, such as a word error rate",
    caption="What the strongest attacker learns of each system's speech, against its utility: ringed points are the "
    "Pareto front, which no other point beats in both.",
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
    """Disclosure to the strongest attacker against utility, a point for each system; bars are confidence intervals.

    Rings and the stepped line mark the Pareto front. Groups of people who were attacked separately have markers and a
    front of their own; a star is unprotected speech.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> from zeroevidence.data.threat import ThreatModel
    >>> from zeroevidence.evaluation import About, Evaluation, MeasureResult
    >>> threat = ThreatModel("ignorant", "original", "anonymised")
    >>> attack = Evaluation({"eer": MeasureResult(0.3, "rate")}, labels={"system": "x"}, about=About.against(threat))
    >>> about = About(role="utility", speech="anonymised")
    >>> utility = Evaluation({"wer": MeasureResult(0.1, "rate")}, labels={"system": "x"}, about=about)
    >>> ax = ze.plot.tradeoff([attack, utility])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('WER (%)', 'EER (%)')
    """
    attacks = _both(rows)
    first, second = x or _useful(attacks[0])[0], y or _privacy(attacks)
    useful, private = MEASURES.find(first), MEASURES.find(second)
    if useful.better == "none" or private.discloses == "none":
        raise UsageError("expected a measure of utility as x and one of privacy as y")
    signs = (-1.0 if useful.better == "up" else 1.0, 1.0 if private.discloses == "up" else -1.0)  # less is better
    attacks = [row for row in attacks if is_finite(row, first) and is_finite(row, second)]
    points = _strongest(attacks, second, signs[1])
    if not points:
        raise UsageError(f"no result has both {first} and {second} as finite numbers")
    systems = list(dict.fromkeys(system for _, system in points))
    groups = list(dict.fromkeys(group for group, _ in points))
    for number, group in enumerate(groups):
        members = {system: row for (people, system), row in points.items() if people == group}
        colours = {system: look(systems.index(system)).colour for system in members}
        places = _draw(ax, members, (first, second), colours, look(number).marker)
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
    """Draw systems as points with both intervals, and return where they are."""
    labelled = ax.get_legend_handles_labels()[1]
    places = []
    for system, row in rows.items():
        shape, size = ("*", 8.0) if row.about.role == "control" else (marker, 5.0)
        name = shortened(system)
        look = {"ms": size, "label": None if name in labelled else name, "ls": "", "zorder": 3}
        places.append(measure_point(ax, row, measures, colours[system], shape, intervals=FAINT, **look))
    return places


def _privacy(rows: Sequence[Evaluation]) -> str:
    """The first of the usual measures that every row has."""
    return next((name for name in _PRIVACY if all(is_finite(row, name) for row in rows)), _PRIVACY[-1])


def _strongest(rows: Sequence[Evaluation], measure: str, sign: float) -> dict[tuple[tuple[str, ...], str], Evaluation]:
    """For each group of people and system the row of the attacker who learns most."""
    apart = [name for name in _PEOPLE if len({row.labels.get(name, "") for row in rows}) > 1]
    points: dict[tuple[tuple[str, ...], str], Evaluation] = {}
    for row in rows:
        group = tuple(row.labels.get(name, "") for name in apart)
        place = group, UNPROTECTED if row.about.role == "control" else row.labels.get("system", "")
        if place not in points or sign * float(row[measure]) > sign * float(points[place][measure]):
            points[place] = row
    return points

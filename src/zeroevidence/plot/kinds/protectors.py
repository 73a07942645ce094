"""Figures of protectors: privacy against utility, training, and maps of recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.beside import FrontPoint, Judged, front_points, on_front, utility_beside
from zeroevidence.measure.measures import MEASURES
from zeroevidence.plot.canvas import GREY, decimal_ticks, legend, look
from zeroevidence.plot.kind import figure
from zeroevidence.plot.marks import FAINT, POINT, interval_line, is_finite, mark_front, measure_point, named_looks
from zeroevidence.plot.rows import axis_title, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MU = "mu_over_epochs"
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
    usual = (name for name in _PRIVACY if all(is_finite(row, name) for row in attacks))
    first, second = x or _useful(attacks[0])[0], y or next(usual, _PRIVACY[-1])
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
    judged: Annotated[Judged, "Whom attackers judge: by one vector, all of a person, or the worse of both."] = "either",
) -> None:
    """D_ECE of the strongest attacker against verification, a line per protector over its strengths.

    Rings and the stepped line mark the Pareto front over all protectors. Bars are confidence intervals where there are
    any; the dotted line is the mean D_ECE under the null.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> from zeroevidence.protect import AttackOptions, Roles
    >>> from zeroevidence.protect.strengths import assess_strengths
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> roles = Roles.split(ze.Embeddings(vectors, None, people, {"sex": sex}), "sex")
    >>> options = ze.Options(intervals=0, null=0)
    >>> rows = assess_strengths(roles, "sex", {"leace": {}}, AttackOptions(["logistic"]), options)
    >>> ax = ze.plot.front(rows)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('EER (%)', 'D_ECE (bits)')
    """
    points = front_points(rows, utility=utility, judged=judged)
    if not points:
        raise UsageError(f"no attacker judges a {judged}")
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
    if utility == "eer":  # up to one per cent on an even scale, above on a logarithmic one: budgets are small
        top = max(1.0, ax.get_xlim()[1])
        ax.set_xscale("symlog", linthresh=1.0)
        ticks = [tick for tick in (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0) if tick <= top]
        ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_xlim(-0.05, top)
    legend(ax, most_inside=3)


def _place(point: FrontPoint, utility: str) -> tuple[float, float]:
    return 100.0 * float(point.utility[utility]), float(point.attack["d_ece"])


_MOST_GROUPS = 12  # groups with a line of their own in the legend
_HIGHEST = 0.25  # of the height of the figure: densities along the LLR


@figure(
    "Map of voices",
    place=610,
    needs="a two-dimensional map",
    caption="Recordings as points, close together where they sound alike: groups that lie apart can still be told "
    "apart.",
    has=lambda row: bool(row.maps),
    together=False,
    parts=lambda row: tuple(row.maps),
    height=3.0,
)
def map(
    row: Evaluation,
    ax: Axes,
    *,
    name: Annotated[str | None, "Which of several maps to draw; the first unless given."] = None,
) -> None:
    """Two-dimensional map of recordings, groups by colour and marker.

    Where the first coordinate is an LLR, it has an axis with numbers, and along it the densities that the model has.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation import Points
    >>> points = Points((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), ("f", "m", "f"))
    >>> result = replace(ze.evaluate(ze.Scores([2.1, 1.7], [0.9, 0.2])), maps={"embeddings": points})
    >>> ax = ze.plot.map(result)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['f', 'm']
    """
    points = row.maps[name] if name is not None else next(iter(row.maps.values()))
    x, y = np.array(points.x), np.array(points.y)
    labels = np.array(points.label)
    groups = sorted(set(points.label))
    for number, group in enumerate(groups):
        point, chosen = look(number), labels == group
        label = shortened(group) if len(groups) <= _MOST_GROUPS else None
        marks: dict[str, Any] = {"color": point.colour, "ms": 2.5, "mew": 0.0, "alpha": 0.7}
        ax.plot(x[chosen], y[chosen], point.marker, label=label, rasterized=len(x) > 3000, **marks)
    ax.set(xticks=[], yticks=[], xlabel="first coordinate", ylabel="second coordinate")
    if points.mu is not None and len(groups) == 2:
        _llr_axis(ax, points.mu, shortened(groups[1]))
    legend(ax, most_inside=3)


def _llr_axis(ax: Axes, mu: float, group: str) -> None:
    """Numbers on the horizontal axis, and along it the densities that the model has for the two groups."""
    from matplotlib.ticker import MaxNLocator

    left, right = ax.get_xlim()
    reach = mu + 3.0 * np.sqrt(2.0 * mu)
    left, right = min(left, -reach), max(right, reach)
    llr = np.linspace(left, right, 400)
    for number, mean in enumerate((-mu, mu)):
        shape = _HIGHEST * np.exp(-((llr - mean) ** 2) / (4.0 * mu))
        line = look(number)
        ax.plot(llr, shape, **line.curve, lw=1.0, transform=ax.get_xaxis_transform())
        ax.fill_between(llr, shape, color=line.colour, alpha=0.15, lw=0.0, transform=ax.get_xaxis_transform())
    bottom, top = ax.get_ylim()
    ax.set(xlim=(left, right), ylim=(bottom - _HIGHEST * (top - bottom), top), xlabel=f"LLR of {group} (nats)")
    ax.xaxis.set_major_locator(MaxNLocator(5))


@figure(
    "Mean evidence of a flow over its training",
    place=630,
    needs="a flow that was trained for these results",
    caption="The flow's estimate of the mean evidence, epoch by epoch: where lines from several starts meet, the start "
    "does not matter.",
    has=lambda row: _MU in row.curves,
)
def over_epochs(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    truth: Annotated[float | None, "Draw a line at this mean evidence, where it is known."] = None,
) -> None:
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
    for row, name, line in named_looks(rows):
        curve = row.curves[_MU]
        ax.plot(curve.x, curve.y, **line.curve, label=name)
    if truth is not None:
        ax.axhline(truth, color=GREY, lw=0.9, label=f"true: {truth:g}")
    ax.set_yscale("log")
    decimal_ticks(ax.yaxis)
    ax.set(xlabel="epochs", ylabel="mu (nats)")
    legend(ax, most_inside=4)

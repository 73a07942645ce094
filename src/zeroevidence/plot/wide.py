"""Figures over two dimensions, and of the tandem: similarity matrices, cost curves and surfaces, maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import GREY, VERMILION, figure_of, legend, look
from zeroevidence.plot.kinds import curves, figure
from zeroevidence.plot.pairs import arrays
from zeroevidence.plot.words import joined, names_of, shortened, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 24
_MOST_GROUPS = 12


def _colour_bar(ax: Axes, drawn: Any, label: str) -> Any:
    bar = figure_of(ax).colorbar(drawn, ax=ax, shrink=0.85, aspect=24)
    bar.outline.set_linewidth(0.0)
    bar.set_label(label)
    return bar


@figure(
    "similarity",
    "Who sounds like whom",
    needs="pairs of known speakers (at most 100)",
    caption="How alike each two people sound: a bright diagonal on a dark ground means that all can be told apart.",
    has=lambda row: "similarity" in row.surfaces,
    together=False,
    options=("hide",),
    height=3.1,
)
def similarity(row: Evaluation, ax: Axes, *, hide: bool = False) -> None:
    """Voice similarity matrix: probability, at even odds, that two speakers are one; `hide` numbers the speakers."""
    surface = row.surfaces["similarity"]
    drawn = ax.imshow(np.array(surface.z), cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest")
    for axis, names in ((ax.yaxis, surface.x), (ax.xaxis, surface.y)):
        place = np.arange(len(names))
        if len(names) > _NAMED:
            step = 10 if len(names) <= 60 else 20
            axis.set_ticks(place[step - 1 :: step], labels=[str(number) for number in place[step - 1 :: step] + 1])
            continue
        said = [str(number + 1) if hide else shortened(str(name), 16) for number, name in enumerate(names)]
        turned = 90 if axis is ax.xaxis and len(said) * max(map(len, said)) > 30 else 0
        axis.set_ticks(place, labels=said, fontsize=5.5, rotation=turned, parse_math=False)
    ax.set(xlabel="speaker of the trial", ylabel="enrolled speaker")
    _colour_bar(ax, drawn, "similarity")


@figure(
    "t-dcf",
    "Tandem cost (t-DCF)",
    needs="scores of a verifier behind a countermeasure",
    caption="What wrong decisions cost when a detector of faked voices stands before a verifier, for every setting of "
    "the detector: at the dotted line the detector is of no use.",
    has=curves("t_dcf"),
)
def t_dcf(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Normalised t-DCF over the countermeasure's threshold; the marker is the minimum."""
    ax.axhline(1.0, color=VERMILION, ls=":", lw=1.0)
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        threshold, cost = arrays(row.curves["t_dcf"])
        shown = np.isfinite(threshold) & np.isfinite(cost)
        threshold, cost = threshold[shown], cost[shown]
        seen = look(number)
        ax.plot(threshold, cost, color=seen.colour, ls=seen.line, label=joined(name, written(row, "tdcf_min")))
        if len(cost):
            best = int(cost.argmin())
            ax.plot(threshold[best], cost[best], seen.marker, color=seen.colour, mec="white", mew=0.5, ms=5.0)
    ax.set(xlabel="threshold of the countermeasure", ylabel="normalised t-DCF")
    ax.set_ylim(0.0, min(max(1.1, ax.get_ylim()[1]), 2.0))
    legend(ax, most_inside=2)


@figure(
    "t-dcf-surface",
    "Tandem cost over both thresholds",
    needs="scores of a verifier behind a countermeasure",
    caption="What wrong decisions cost for every setting of the detector of faked voices and of the verifier: the dark "
    "valley is where the two work best together.",
    has=lambda row: "t_dcf" in row.surfaces,
    together=False,
    height=3.0,
)
def t_dcf_surface(row: Evaluation, ax: Axes) -> None:
    """Normalised unconstrained t-DCF over both thresholds, cut off at 1; the cross is the least cost drawn."""
    surface = row.surfaces["t_dcf"]
    cm, asv, cost = (np.array(part, dtype=np.float64) for part in (surface.x, surface.y, surface.z))
    rows, columns = np.isfinite(cm), np.isfinite(asv)
    cm, asv, cost = cm[rows], asv[columns], cost[rows][:, columns]
    if len(cm) < 2 or len(asv) < 2:
        raise UsageError("the surface has fewer than two finite thresholds a side; there is nothing to draw")
    levels = np.linspace(0.0, 1.0, 21)
    drawn = ax.contourf(cm, asv, np.clip(cost, 0.0, 1.0).T, levels=levels, cmap="cividis")
    drawn.set_edgecolor("face")
    i, j = np.unravel_index(int(cost.argmin()), cost.shape)
    ax.plot(cm[i], asv[j], "x", color="white", ms=6.0, mew=1.4, label=f"{written(row, 'tdcf_joint_min')}")
    ax.set(xlabel="threshold of the countermeasure", ylabel="threshold of the verifier")
    bar = _colour_bar(ax, drawn, "normalised t-DCF")
    bar.set_ticks([0.0, 0.25, 0.5, 0.75, 1.0], labels=["0", "0.25", "0.5", "0.75", "≥ 1"])
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, labelcolor="black").legend_handles[
        0
    ].set_color(GREY)  # type: ignore[union-attr]


@figure(
    "map",
    "Map of voices",
    needs="a two-dimensional map",
    caption="Recordings as points, near where they sound alike: groups that lie apart can still be told apart.",
    has=lambda row: bool(row.maps),
    together=False,
    options=("name",),
    height=3.0,
)
def map_of(row: Evaluation, ax: Axes, *, name: str | None = None) -> None:
    """Two-dimensional map, groups by colour and marker; `name` picks one of several maps."""
    if name is not None and name not in row.maps:
        raise UsageError(f"no map is called {name!r}; expected one of {', '.join(row.maps)}")
    points = row.maps[name] if name is not None else next(iter(row.maps.values()))
    x, y = np.array(points.x), np.array(points.y)
    labels = np.array(points.label)
    groups = sorted(set(points.label))
    for number, group in enumerate(groups):
        seen, chosen = look(number), labels == group
        said = shortened(group) if len(groups) <= _MOST_GROUPS else None
        ax.plot(
            x[chosen],
            y[chosen],
            seen.marker,
            color=seen.colour,
            ms=2.5,
            mew=0.0,
            alpha=0.7,
            label=said,
            rasterized=len(x) > 3000,
        )
    ax.set(xticks=[], yticks=[], xlabel="first coordinate", ylabel="second coordinate")
    legend(ax, most_inside=3)

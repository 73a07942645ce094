"""Figures of a tandem of countermeasure and verifier: cost and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import BLACK, GREY, MATED, NONMATED, VERMILION, colour_bar, legend
from zeroevidence.plot.kind import figure
from zeroevidence.plot.marks import draw_density, finite_curve, has_curves, named_looks
from zeroevidence.plot.rows import measure_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDS = "scores of a verifier behind a countermeasure"


@figure(
    "Tandem cost (t-DCF)",
    place=510,
    needs=_NEEDS,
    caption="What wrong decisions cost when a detector of faked voices guards a verifier, for every setting of "
    "the detector: at the dotted line the detector is of no use.",
    has=has_curves("t_dcf"),
)
def t_dcf(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Normalised ASV-constrained t-DCF over the countermeasure's threshold; the marker is the minimum.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> from zeroevidence.data.scores import TandemScores, TrialScores
    >>> from zeroevidence.evaluation.tandem import evaluate_tandem
    >>> scores = TandemScores(
    ...     asv_target=TrialScores([3.1, 2.4, 1.9]),
    ...     asv_nontarget=TrialScores([0.2, -0.4, 1.1]),
    ...     asv_spoof=TrialScores([2.2, 1.5, 0.8]),
    ...     cm_bonafide=TrialScores([2.0, 1.2, 0.7]),
    ...     cm_spoof=TrialScores([0.9, 0.1, -0.6]),
    ... )
    >>> ax = ze.plot.t_dcf(evaluate_tandem(scores, intervals=0))
    >>> ax.get_ylabel()
    'normalised t-DCF (constrained)'
    """
    ax.axhline(1.0, color=VERMILION, ls=":", lw=1.0)
    for row, label, look in named_looks(rows, "tdcf_min"):
        threshold, cost = finite_curve(row.curves["t_dcf"], both=True)
        ax.plot(threshold, cost, **look.curve, label=label)
        if len(cost):
            best = int(cost.argmin())
            ax.plot(threshold[best], cost[best], look.marker, color=look.colour, mec="white", mew=0.5, ms=5.0)
    ax.set(xlabel="threshold of the countermeasure", ylabel="normalised t-DCF (constrained)")
    ax.set_ylim(0.0, min(max(1.1, ax.get_ylim()[1]), 2.0))
    legend(ax, most_inside=2)


@figure(
    "Tandem cost over both thresholds",
    place=520,
    needs=_NEEDS,
    caption="What wrong decisions cost for every setting of the detector of faked voices and of the verifier: the dark "
    "valley is where the two work best together.",
    has=lambda row: "t_dcf" in row.surfaces,
    together=False,
    height=3.0,
)
def t_dcf_surface(row: Evaluation, ax: Axes) -> None:
    """Normalised unconstrained t-DCF over both thresholds, cut off at 1; the cross is the least cost drawn.

    The line is the verifier's fixed threshold, with the least cost along it.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> from zeroevidence.data.scores import TandemScores, TrialScores
    >>> from zeroevidence.evaluation.tandem import evaluate_tandem
    >>> scores = TandemScores(
    ...     asv_target=TrialScores([3.1, 2.4, 1.9]),
    ...     asv_nontarget=TrialScores([0.2, -0.4, 1.1]),
    ...     asv_spoof=TrialScores([2.2, 1.5, 0.8]),
    ...     cm_bonafide=TrialScores([2.0, 1.2, 0.7]),
    ...     cm_spoof=TrialScores([0.9, 0.1, -0.6]),
    ... )
    >>> ax = ze.plot.t_dcf_surface(evaluate_tandem(scores, intervals=0))
    >>> ax.get_ylabel()
    'threshold of the verifier'
    """
    surface = row.surfaces["t_dcf"]
    cm, asv, cost = (np.array(part, dtype=np.float64) for part in (surface.x, surface.y, surface.z))
    rows, columns = np.isfinite(cm), np.isfinite(asv)
    cm, asv, cost = cm[rows], asv[columns], cost[rows][:, columns]
    if len(cm) < 2 or len(asv) < 2:
        raise UsageError("cannot draw a surface with fewer than two finite thresholds on each side")
    drawn = ax.contourf(cm, asv, np.clip(cost, 0.0, 1.0).T, levels=np.linspace(0.0, 1.0, 21), cmap="cividis")
    drawn.set_edgecolor("face")
    i, j = np.unravel_index(int(cost.argmin()), cost.shape)
    ax.plot(cm[i], asv[j], "x", color="white", ms=6.0, mew=1.4, label=measure_text(row, "tdcf_joint_min"))
    if "threshold_asv" in row.curves:
        fixed = row.curves["threshold_asv"].x[0]
        ax.axhline(fixed, color="white", ls="--", lw=1.0, label=measure_text(row, "tdcf_fixed_joint"))
    ax.set(xlabel="threshold of the countermeasure", ylabel="threshold of the verifier")
    bar = colour_bar(ax, drawn, "normalised t-DCF (unconstrained)")
    bar.set_ticks([0.0, 0.25, 0.5, 0.75, 1.0], labels=["0", "0.25", "0.5", "0.75", "≥ 1"])
    marks = ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, labelcolor="black").legend_handles
    for mark in marks:  # white does not show on white
        mark.set_color(GREY)  # type: ignore[union-attr]


_SIDES = {"verifier": "asv", "countermeasure": "cm", "single system": "sasv"}
_LOOKS: dict[str, tuple[str, str, str, str | None]] = {
    "target": ("target", MATED, "-", None),
    "nontarget": ("another speaker", NONMATED, "--", "////"),
    "bonafide": ("bona fide", MATED, "-", None),
    "spoof": ("spoof", VERMILION, "-.", "...."),
}


def _systems(row: Evaluation) -> tuple[str, ...]:
    """Systems of a tandem whose scores of spoofs a row has."""
    return tuple(name for name, side in _SIDES.items() if f"histogram_{side}_spoof" in row.curves)


@figure(
    "Scores of a tandem",
    place=505,
    needs="scores of a countermeasure, or of a verifier of spoofs",
    caption="Scores of the right person, of others and of faked voices: whatever lies to the right of the line is "
    "accepted.",
    has=lambda row: bool(_systems(row)),
    together=False,
    parts=lambda row: _systems(row),
)
def tandem_scores(
    row: Evaluation,
    ax: Axes,
    *,
    name: Annotated[str | None, "Which system to draw: verifier, countermeasure or single system."] = None,
) -> None:
    """Densities of the kinds of trials of one system, its threshold, and the share of each kind that is accepted.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> from zeroevidence.data.scores import TandemScores
    >>> from zeroevidence.evaluation.tandem import evaluate_tandem
    >>> scores = TandemScores.of(cm_bonafide=[2.0, 1.2, 0.7], cm_spoof=[0.9, 0.1, -0.6])
    >>> ax = ze.plot.tandem_scores(evaluate_tandem(scores, intervals=0))
    >>> ax.get_xlabel()
    'score of the countermeasure'
    """
    system = _systems(row)[0] if name is None else name
    side = _SIDES[system]
    kinds = [kind for kind in _LOOKS if f"histogram_{side}_{kind}" in row.curves]
    line = row.curves.get(f"threshold_{side}")
    for place, kind in enumerate(kinds):
        title, colour, dashes, hatch = _LOOKS[kind]
        label = title if line is None else f"{title}, {100.0 * line.y[place]:.3g} % accepted"
        draw_density(ax, row.curves[f"histogram_{side}_{kind}"], colour, dashes, hatch, label)
    if line is not None and np.isfinite(line.x[0]):
        ax.axvline(line.x[0], color=BLACK, lw=1.0, label=f"threshold {line.x[0]:.3g}")
    ax.set(xlabel=f"score of the {system}", ylabel="density")
    legend(ax, most_inside=0)

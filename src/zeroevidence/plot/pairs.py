"""Figures of one-to-one scores: what a single comparison tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, ndtri

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Curve, Evaluation
from zeroevidence.plot.canvas import BLACK, GREY, MATED, NONMATED, VERMILION, legend, look, percent_ticks
from zeroevidence.plot.kinds import curves, figure
from zeroevidence.plot.words import classes_of, joined, names_of, value_of, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END = 1e150
_DET_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)


def arrays(curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Both sides of a curve; finite numbers beyond what axes can span are drawn at their end."""
    x, y = np.array(curve.x), np.array(curve.y)
    return np.where(np.isfinite(x), np.clip(x, -_END, _END), x), np.where(np.isfinite(y), np.clip(y, -_END, _END), y)


def _zebra(row: Evaluation) -> str:
    """Expected disclosure, worst case and tag in short, as ZEBRA writes them."""
    numbers = [value_of(row, name) for name in ("d_ece", "worst_case")]
    tag = row.metrics["tag"].value if "tag" in row.metrics else "-"
    return f"({', '.join('-' if value is None else f'{value:.3g}' for value in numbers)}, {tag})"


@figure(
    "ece",
    "Evidence profile (ECE)",
    needs="scores of pairs",
    caption="How uncertain the attacker remains, whatever they believed before: the deeper a line lies below that of "
    "zero evidence, the more these voices give away.",
    has=curves("ece", baseline=True),
    options=("x",),
)
def ece(rows: Sequence[Evaluation], ax: Axes, *, x: str = "log-odds") -> None:
    """Empirical cross-entropy over the prior, with expected disclosure D_ECE, worst case and tag.

    `x` is ``log-odds``, or ``prior``: over the prior probability itself the area is D_ECE to scale.
    """
    if x not in ("log-odds", "prior"):
        raise UsageError(f"unknown axis {x!r} of an evidence profile; expected log-odds or prior")

    def across(values: Sequence[float]) -> FloatArray:
        return expit(np.array(values)) if x == "prior" else np.array(values)

    first = rows[0].curves["ece"]
    assert first.baseline is not None
    ax.plot(across(first.x), first.baseline, color=BLACK, lw=1.0, label="zero evidence")
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        curve, seen = row.curves["ece"], look(number)
        ax.plot(across(curve.x), curve.y, color=seen.colour, ls=seen.line, label=f"{name} {_zebra(row)}")
        if len(rows) == 1:
            assert curve.baseline is not None
            ax.fill_between(across(curve.x), curve.y, curve.baseline, color=seen.colour, alpha=0.15, lw=0.0)
            if "ece_actual" in row.curves:
                actual = row.curves["ece_actual"]
                ax.plot(across(actual.x), actual.y, color=GREY, ls=":", label="scores taken as LLRs")
    one, _ = classes_of(rows)
    what = "a mated pair" if one == "mated" else one
    ax.set_xlabel(f"prior probability of {what}" if x == "prior" else f"prior log-odds of {what} (natural log)")
    ax.set_ylabel("empirical cross-entropy (bits)")
    ax.set_xlim((0.0, 1.0) if x == "prior" else (first.x[0], first.x[-1]))
    ax.set_ylim(0.0, 1.05)
    legend(ax, most_inside=0, title="(D_ECE in bits, log10 of the worst case, tag)")


@figure(
    "histogram",
    "Score distributions",
    needs="scores of pairs",
    caption="Scores of pairs of recordings of the same person and of different people: where the two hills overlap, "
    "the attacker cannot tell them apart.",
    has=curves("histogram_target", "histogram_nontarget"),
    together=False,
)
def histogram(row: Evaluation, ax: Axes) -> None:
    """Densities of mated and non-mated scores on common bins."""
    _densities(row, ax)
    ax.set_ylabel("density")
    ax.set_ylim(0.0, 1.35 * ax.get_ylim()[1])
    ax.plot([], [], " ", label=written(row, "eer"))
    legend(ax, inside="upper right")


def _densities(row: Evaluation, ax: Axes) -> None:
    one, other = classes_of([row])
    for name, label, colour, line, hatch in (
        ("nontarget", other, NONMATED, "--", "////"),
        ("target", one, MATED, "-", None),
    ):
        centre, density = arrays(row.curves[f"histogram_{name}"])
        edges = edges_of(centre)
        count = row.counts.get(name)
        said = label if count is None else f"{label} ({count:,})".replace(",", "\u2009")
        ax.stairs(density, edges, fill=True, facecolor=colour, alpha=0.18, hatch=hatch, edgecolor=colour, lw=0.0)
        ax.stairs(density, edges, color=colour, ls=line, lw=1.0, label=said)
    ax.set_xlabel("score")


def edges_of(centres: FloatArray) -> FloatArray:
    """Edges of even bins around centres; a single one is 1 wide."""
    width = centres[1] - centres[0] if len(centres) > 1 else 1.0
    return np.append(centres - width / 2.0, centres[-1] + width / 2.0)


@figure(
    "det",
    "Detection error trade-off (DET)",
    needs="scores of pairs",
    caption="How often the attacker misses a match against how often they claim a false one, for every threshold: the "
    "closer to the dotted diagonal, the closer to guessing.",
    has=curves("det"),
    height=3.1,
)
def det(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Miss rate over false-alarm rate on normal deviate axes; the marker is the equal error rate."""
    lowest = 0.5
    for row in rows:
        rates = np.concatenate(arrays(row.curves["det"]))
        inside = rates[(rates > 0.0) & (rates < 1.0)]
        lowest = min(lowest, *np.minimum(inside, 1.0 - inside)) if len(inside) else lowest
    lowest = max(1e-5, min(0.02, lowest / 2.0))
    low, high = ndtri(lowest), ndtri(1.0 - lowest)
    ax.plot([low, high], [high, low], color=GREY, ls=":", lw=0.8, label="guessing")
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        false_alarm, miss = arrays(row.curves["det"])
        seen = look(number)
        x, y = (np.clip(ndtri(np.clip(rate, 0.0, 1.0)), low, high) for rate in (false_alarm, miss))
        ax.plot(x, y, color=seen.colour, ls=seen.line, label=joined(name, written(row, "eer")))
        error = value_of(row, "eer")
        if error is not None:
            at = np.clip(ndtri(error), low, high)
            ax.plot([at], [at], seen.marker, color=seen.colour, mec="white", mew=0.5)
    ticks = [rate for rate in _DET_TICKS if lowest <= rate <= 1.0 - lowest]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ndtri(ticks), labels=[f"{100 * rate:g}" for rate in ticks])
    ax.set(xlim=(low, high), ylim=(low, high), xlabel="false-alarm rate (%)", ylabel="miss rate (%)", aspect="equal")
    legend(ax, most_inside=3, inside="upper right")


@figure(
    "tippett",
    "Tippett plot",
    needs="scores of pairs",
    caption="What share of pairs yields evidence of at least a given strength: right of zero it speaks for the same "
    "person, left of it against.",
    has=curves("tippett_target", "tippett_nontarget"),
)
def tippett(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Share of oracle-calibrated LRs above each strength, mated pairs solid and non-mated ones dashed."""
    finite = np.concatenate([x[np.isfinite(x)] for row in rows for x in [np.array(row.curves["tippett_target"].x)]])
    reach = 1.15 * max(1.0, *np.abs(finite)) if len(finite) else 1.0
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        seen = look(number)
        for kind, line in (("target", "-"), ("nontarget", "--")):
            strength, above = arrays(row.curves[f"tippett_{kind}"])
            # A block of infinite LLR lies beyond the axis: the line begins or ends at the share without it.
            first = above[0] if strength[0] == -np.inf else 1.0
            finite_steps = np.isfinite(strength)
            x = np.concatenate(([-reach], strength[finite_steps], [reach]))
            y = np.concatenate(([first], above[finite_steps]))
            said = joined(name, written(row, "cllr_min")) if kind == "target" else None
            ax.step(x, np.append(y, y[-1]), where="post", color=seen.colour, ls=line, label=said)
    ax.axvline(0.0, color=GREY, lw=0.6, ls=":")
    ax.set(xlabel="log10 LR after PAV", ylabel="share above (%)", xlim=(-reach, reach), ylim=(-0.02, 1.02))
    percent_ticks(ax.yaxis)
    for line, said in zip(("-", "--"), classes_of(rows), strict=True):
        ax.plot([], [], color=GREY, ls=line, label=said)
    legend(ax, most_inside=0)


@figure(
    "pav",
    "From score to evidence (PAV)",
    needs="scores of pairs",
    caption="What a score of the attacker's system is worth as evidence: above zero it speaks for the same person, "
    "below zero against.",
    has=curves("pav"),
)
def pav(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Oracle-calibrated LLR over the score; carets mark steps to infinity at the ends."""
    finite = np.concatenate([y[np.isfinite(y)] for row in rows for y in [np.array(row.curves["pav"].y)]])
    reach = 1.25 * max(1.0, *np.abs(finite)) if len(finite) else 1.0
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        score, llr = arrays(row.curves["pav"])
        seen, shown = look(number), np.isfinite(score)
        score, llr = score[shown], llr[shown]
        label = joined(name, written(row, "cllr_min"))
        ax.step(score, np.clip(llr, -reach, reach), where="post", color=seen.colour, ls=seen.line, label=label)
        for end, at, marker in ((-np.inf, 0, "v"), (np.inf, -1, "^")):
            if len(llr) and llr[at] == end:
                ax.plot([score[at]], [np.clip(end, -reach, reach)], marker, color=seen.colour, ms=4, clip_on=False)
    ax.axhline(0.0, color=GREY, lw=0.6, ls=":")
    ax.set(xlabel="score", ylabel="LLR after PAV (natural log)", ylim=(-reach, reach))
    legend(ax, most_inside=1, inside="upper left")  # several systems may fill every corner


@figure(
    "linkability",
    "Local linkability",
    needs="scores of pairs",
    caption="Which scores give a person away: where the red line rises towards 1, a score as high as that links two "
    "recordings to one person.",
    has=curves("local_linkability", "histogram_target", "histogram_nontarget"),
    together=False,
)
def linkability(row: Evaluation, ax: Axes) -> None:
    """Local linkability D(s), on the right axis, over the densities of mated and non-mated scores."""
    _densities(row, ax)
    ax.set_ylabel("density")
    ax.set_ylim(0.0, 1.45 * ax.get_ylim()[1])
    score, local = arrays(row.curves["local_linkability"])
    ends = edges_of(np.array(row.curves["histogram_target"].x))[[0, -1]]
    shown = np.isfinite(score)
    right = ax.twinx()
    right.set_zorder(ax.get_zorder() + 1)
    right.patch.set_visible(False)
    x, y = np.append(score[shown], max(ends[1], score[shown][-1])), np.append(local[shown], local[shown][-1])
    right.step(x, y, where="post", color=VERMILION, ls="-", lw=1.2)
    right.set(ylim=(0.0, 1.45), yticks=[0.0, 0.5, 1.0], ylabel="local linkability D(s)")
    right.yaxis.label.set_color(VERMILION)
    right.tick_params(axis="y", colors=VERMILION)
    right.spines["right"].set_visible(True)
    ax.plot([], [], color=VERMILION, label=joined("D(s)", written(row, "linkability")))
    ax.set_xlim(*ends)
    legend(ax, inside="upper left")

"""Figures of one-to-one scores: evidence of single comparisons, and which people sound alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from zeroevidence._scipy import expit, ndtri
from zeroevidence._typing import FloatArray
from zeroevidence.evaluation import Curve, Evaluation
from zeroevidence.measure.pairs.zebra import LN10, tag_odds
from zeroevidence.plot.canvas import BLACK, GREY, MATED, NONMATED, VERMILION, colour_bar, legend, percent_ticks
from zeroevidence.plot.kind import figure
from zeroevidence.plot.marks import bin_edges, curve_arrays, draw_density, finite_curve, has_curves, named_looks
from zeroevidence.plot.rows import are_ratios, class_names, join_parts, measure_text, measure_value, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_pair_figure = partial(figure, needs="target and non-target scores", from_scores=True)
_MOST_BITS = 3.0  # of a profile that misleads
_DET_TICKS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
_DET_MIDDLE = 0.2, 0.6  # rates that axes have in any case


def _zebra(row: Evaluation) -> str:
    """Expected disclosure, worst case and tag in short, as ZEBRA writes them."""
    numbers = [measure_value(row, name) for name in ("d_ece", "worst_case")]
    tag = row.metrics["tag"].value if "tag" in row.metrics else "-"
    return f"({', '.join('-' if value is None else f'{value:.3g}' for value in numbers)}, {tag})"


@_pair_figure(
    "Evidence profile (ECE)",
    place=110,
    caption="How uncertain the attacker remains, for every prior: the further a line lies below that of zero evidence, "
    "the more these recordings disclose.",
    has=has_curves("ece", baseline=True),
)
def ece(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    x: Annotated[
        Literal["log-odds", "prior"],
        "What to draw the profile over: prior log-odds, or the prior probability, where the shaded area is D_ECE to "
        "scale.",
    ] = "log-odds",
    actual: Annotated[bool, "Draw the profile of the scores taken as LLRs also where they mislead."] = False,
) -> None:
    """Empirical cross-entropy over the prior, with expected disclosure D_ECE, worst case and tag.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.ece([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1])
    >>> ax.get_ylabel()
    'empirical cross-entropy (bits)'
    """

    def across(values: Sequence[float]) -> FloatArray:
        if x == "log-odds":
            return np.array(values) / LN10
        return np.asarray(expit(np.array(values)))

    first = rows[0].curves["ece"]
    assert first.baseline is not None
    ax.plot(across(first.x), first.baseline, color=BLACK, lw=1.0, label="zero evidence")
    for row, name, look in named_looks(rows):
        curve = row.curves["ece"]
        ax.plot(across(curve.x), curve.y, **look.curve, label=f"{name} {_zebra(row)}")
        if len(rows) == 1:
            assert curve.baseline is not None
            ax.fill_between(across(curve.x), curve.y, curve.baseline, color=look.colour, alpha=0.15, lw=0.0)
        if actual or (len(rows) == 1 and (row.number("d_ece_actual") or 0.0) >= 0.0):
            _actual(row, ax, across, look.colour if len(rows) > 1 else GREY, f"{name}, " if len(rows) > 1 else "")
    target, _ = class_names(rows)
    event = {"mated": "a mated pair", "same-source": "the same source"}.get(target, target)
    ax.set_xlabel(f"prior probability of {event}" if x == "prior" else f"log10 of the prior odds of {event}")
    ax.set_ylabel("empirical cross-entropy (bits)")
    ax.set_xlim((0.0, 1.0) if x == "prior" else (first.x[0] / LN10, first.x[-1] / LN10))
    worst = [max(row.curves["ece_actual"].y) for row in rows if actual and "ece_actual" in row.curves]
    ax.set_ylim(0.0, min(1.05 * max(1.0, *worst, 0.0), _MOST_BITS))
    odds, tags = tag_odds(), {str(row.metrics["tag"].value) for row in rows if "tag" in row.metrics}
    for tag in sorted(tags & set(odds)):
        ax.plot([], [], " ", label=f"{tag}: {odds[tag]}")
    legend(ax, most_inside=0, title="(D_ECE in bits, log10 of the worst case, tag)")


def _actual(row: Evaluation, ax: Axes, across: Callable[[Sequence[float]], FloatArray], colour: str, name: str) -> None:
    """Draw the profile of LLRs that were calibrated on other people, or of the scores taken as LLRs."""
    if "ece_actual" not in row.curves:
        return
    curve = row.curves["ece_actual"]
    llr = row.setup.llr
    method = (
        "scores taken as LLRs" if llr is None else "LLRs as given" if llr.is_given else "calibrated on other people"
    )
    ax.plot(across(curve.x), curve.y, color=colour, ls=":", label=name + method)


@_pair_figure(
    "Score distributions",
    place=120,
    caption="Scores of pairs of recordings of the same person and of different people: where the two hills overlap, "
    "the attacker cannot tell them apart.",
    has=has_curves("histogram_target", "histogram_nontarget"),
    together=False,
)
def histogram(row: Evaluation, ax: Axes) -> None:
    """Densities of mated and non-mated scores over the same bins.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.histogram([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1])
    >>> ax.get_xlabel()
    'score'
    """
    _densities(row, ax, room=1.35)
    ax.plot([], [], " ", label=measure_text(row, "eer"))
    legend(ax, inside="upper right")


def _score_scale(rows: Sequence[Evaluation]) -> float:
    """What scores are divided by on their axis: likelihood ratios are powers of ten there."""
    return LN10 if are_ratios(rows) else 1.0


def _score_title(rows: Sequence[Evaluation]) -> str:
    return "log10 LR" if are_ratios(rows) else "score"


def _divided(values: Sequence[float], by: float) -> tuple[float, ...]:
    return tuple(value / by for value in values)


def _densities(row: Evaluation, ax: Axes, *, room: float) -> None:
    """Draw the densities of both classes, with `room` times their height for the legend."""
    target, nontarget = class_names([row])
    looks = ("nontarget", nontarget, NONMATED, "--", "////"), ("target", target, MATED, "-", None)
    for name, title, colour, line, hatch in looks:
        count = row.counts.get(name)
        label = title if count is None else f"{title} ({count:,})".replace(",", "\u2009")
        curve = row.curves[f"histogram_{name}"]
        scale = _score_scale([row])
        draw_density(ax, Curve(_divided(curve.x, scale), _divided(curve.y, 1.0 / scale)), colour, line, hatch, label)
    ax.set(xlabel=_score_title([row]), ylabel="density")
    ax.set_ylim(0.0, room * ax.get_ylim()[1])


@_pair_figure(
    "Detection error trade-off (DET)",
    place=130,
    caption="How often the attacker misses a match against how often they claim a false one, for every threshold: the "
    "closer to the dotted diagonal, the closer to guessing.",
    has=has_curves("det"),
    height=3.1,
)
def det(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Miss rate over false-alarm rate on normal deviate axes; the marker is the equal error rate.

    Lines and axes end at the lowest rates that are not zero: nothing is known of rarer errors.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.det([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1])
    >>> ax.get_xlabel()
    'false-alarm rate (%)'
    """
    curves = [curve_arrays(row.curves["det"]) for row in rows]
    spans = [_det_span(np.concatenate(rates)) for rates in zip(*curves, strict=True)]
    ends = ndtri((min(low for low, _ in spans), max(high for _, high in spans)))
    ax.plot(ends, -ends, color=GREY, ls=":", lw=0.8, label="guessing")
    for (row, label, look), (x, y) in zip(named_looks(rows, "eer"), curves, strict=True):
        seen = (x > 0.0) & (x < 1.0) & (y > 0.0) & (y < 1.0)
        ax.plot(ndtri(x[seen]), ndtri(y[seen]), **look.curve, label=label)
        error = measure_value(row, "eer")
        if error is not None and 0.0 < error < 1.0:
            ax.plot(*[[ndtri(error)]] * 2, look.marker, color=look.colour, mec="white", mew=0.5)
    for axis, (low, high) in zip((ax.xaxis, ax.yaxis), spans, strict=True):
        ticks = [rate for rate in _DET_TICKS if low <= rate <= high]
        axis.set_ticks(ndtri(ticks), labels=[f"{100 * rate:g}" for rate in ticks])
    limits = [tuple(ndtri(span)) for span in spans]
    ax.set(xlim=limits[0], ylim=limits[1], xlabel="false-alarm rate (%)", ylabel="miss rate (%)", aspect="equal")
    legend(ax, most_inside=3, inside="upper right")


def _det_span(rates: FloatArray) -> tuple[float, float]:
    """The lowest and the highest rate between 0 and 1; some of the middle where there is none."""
    seen = rates[(rates > 0.0) & (rates < 1.0)]
    return float(seen.min(initial=_DET_MIDDLE[0])), float(seen.max(initial=_DET_MIDDLE[1]))


def _reach(curves: Sequence[Sequence[float]], room: float) -> float:
    """How far an axis goes on either side of zero: `room` times the largest finite value, 1 without any."""
    values = np.abs(np.concatenate([np.asarray(curve, dtype=np.float64) for curve in curves]))
    finite = values[np.isfinite(values)]
    return room * max(1.0, float(finite.max())) if len(finite) else 1.0


@_pair_figure(
    "Tippett plot",
    place=140,
    caption="What share of pairs yields evidence of at least a given strength: to the right of zero it speaks for the "
    "same person, to the left against.",
    has=has_curves("tippett_target", "tippett_nontarget"),
)
def tippett(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Share of LRs above each strength, oracle-calibrated unless scores are LLRs: same source solid, others dashed.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.tippett([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1])
    >>> ax.get_xlabel()
    'log10 LR after PAV'
    """
    reach = _reach([row.curves["tippett_target"].x for row in rows], 1.15)
    llrs = all(row.setup.llr is not None for row in rows)
    names = class_names(rows, evidence=True)
    for row, label, look in named_looks(rows, "cllr" if llrs else "cllr_min"):
        misleading = [f"{rate} of {name}" for rate, name in zip(_misleading_rates(row), names, strict=False)]
        if misleading and len(rows) > 1:
            label = f"{label}, misleading {' and '.join(misleading)}"
        for kind, line in (("target", "-"), ("nontarget", "--")):
            curve = row.curves[f"tippett_{kind}"]
            # A block of infinite LLR lies beyond the axis: the line begins or ends at the share without it.
            first = curve.y[0] if curve.x[0] == -np.inf else 1.0
            strength, above = finite_curve(curve)
            x, y = np.concatenate(([-reach], strength, [reach])), np.append(first, above)
            named = label if kind == "target" else None
            ax.step(x, np.append(y, y[-1]), where="post", color=look.colour, ls=line, label=named)
    ax.axvline(0.0, color=GREY, lw=0.6, ls=":")
    xlabel = "log10 LR" if llrs else "log10 LR after PAV"
    ax.set(xlabel=xlabel, ylabel="share above (%)", xlim=(-reach, reach), ylim=(-0.02, 1.02))
    percent_ticks(ax.yaxis)
    for line, label, rate in zip(("-", "--"), names, _misleading_rates(rows[0]) or ("", ""), strict=True):
        ax.plot([], [], color=GREY, ls=line, label=f"{label} ({rate} misleading)" if rate and len(rows) == 1 else label)
    legend(ax, most_inside=0)


def _misleading_rates(row: Evaluation) -> tuple[str, ...]:
    """The rates of misleading evidence of both classes of LLRs; nothing for other scores."""
    rates = [measure_value(row, f"misleading_{kind}") for kind in ("target", "nontarget")]
    return tuple(f"{100.0 * rate:.3g} %" for rate in rates if rate is not None)


@_pair_figure(
    "From score to evidence (PAV)",
    place=150,
    caption="What a score of the attacker's system is worth as evidence: above zero it speaks for the same person, "
    "below zero against.",
    has=has_curves("pav"),
)
def pav(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Oracle-calibrated LR over the score, as a power of ten; carets mark ends that go to infinity.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.pav([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1])
    >>> ax.get_ylabel()
    'log10 LR after PAV'
    """
    reach = _reach([_divided(row.curves["pav"].y, LN10) for row in rows], 1.25)
    for row, label, look in named_looks(rows, "cllr_min"):
        score, llr = finite_curve(row.curves["pav"])
        score, llr = score / _score_scale(rows), llr / LN10
        ax.step(score, np.clip(llr, -reach, reach), where="post", **look.curve, label=label)
        for end, at, marker in ((-np.inf, 0, "v"), (np.inf, -1, "^")):
            if len(llr) and llr[at] == end:
                ax.plot([score[at]], [np.clip(end, -reach, reach)], marker, color=look.colour, ms=4, clip_on=False)
    ax.axhline(0.0, color=GREY, lw=0.6, ls=":")
    ax.set(xlabel=_score_title(rows), ylabel="log10 LR after PAV", ylim=(-reach, reach))
    if are_ratios(rows):  # calibrated ones stay as they are
        ax.axline((0.0, 0.0), slope=1.0, color=GREY, lw=0.6, ls=":", label="calibrated")
    legend(ax, most_inside=1, inside="upper left")  # several systems may fill every corner


@_pair_figure(
    "Local linkability",
    place=160,
    caption="Which scores link two recordings to one person: where the red line rises towards 1, scores of that size "
    "come from mated pairs only.",
    has=has_curves("local_linkability", "histogram_target", "histogram_nontarget"),
    together=False,
)
def linkability(row: Evaluation, ax: Axes) -> None:
    """Local linkability D(s), on the right axis, over the densities of mated and non-mated scores.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> ax = ze.plot.linkability([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1])
    >>> ax.figure.axes[1].get_ylabel()
    'local linkability D(s)'
    """
    _densities(row, ax, room=1.45)
    score, local = finite_curve(row.curves["local_linkability"])
    score = score / _score_scale([row])
    ends = bin_edges(np.array(row.curves["histogram_target"].x) / _score_scale([row]))[[0, -1]]
    right = ax.twinx()
    right.set_zorder(ax.get_zorder() + 1)
    right.patch.set_visible(False)
    x, y = np.append(score, max(ends[1], score[-1])), np.append(local, local[-1])
    right.step(x, y, where="post", color=VERMILION, ls="-", lw=1.2)
    right.set(ylim=(0.0, 1.45), yticks=[0.0, 0.5, 1.0], ylabel="local linkability D(s)")
    right.yaxis.label.set_color(VERMILION)
    right.tick_params(axis="y", colors=VERMILION)
    right.spines["right"].set_visible(True)
    ax.plot([], [], color=VERMILION, label=join_parts("D(s)", measure_text(row, "linkability")))
    ax.set_xlim(*ends)
    legend(ax, inside="upper left")


_NAMED = 24  # people whose names fit beside the axes


@figure(
    "Who sounds like whom",
    place=410,
    needs="pairs of known speakers (at most 100)",
    caption="How alike any two people sound: a bright diagonal on a dark ground means that all can be told apart. A "
    "cell is white where two people were not compared, as where they were evaluated in different folds.",
    has=lambda row: "similarity" in row.surfaces,
    together=False,
    height=3.1,
)
def similarity(
    row: Evaluation, ax: Axes, *, hide: Annotated[bool, "Number people instead of naming them."] = False
) -> None:
    """Voice similarity matrix: probability, at even odds, that two speakers are the same person.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation import Surface
    >>> matrix = Surface(("ann", "bob"), ("ann", "bob"), ((0.9, 0.2), (0.2, 0.8)))
    >>> result = replace(ze.evaluate(ze.Scores([2.1, 1.7], [0.9, 0.2])), surfaces={"similarity": matrix})
    >>> ax = ze.plot.similarity(result)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['ann', 'bob']
    """
    surface = row.surfaces["similarity"]
    drawn = ax.imshow(np.array(surface.z), cmap="cividis", vmin=0.0, vmax=1.0, interpolation="nearest")
    for axis, names in ((ax.yaxis, surface.x), (ax.xaxis, surface.y)):
        place = np.arange(len(names))
        if len(names) > _NAMED:
            step = 10 if len(names) <= 60 else 20
            axis.set_ticks(place[step - 1 :: step], labels=[str(number) for number in place[step - 1 :: step] + 1])
            continue
        labels = [str(number + 1) if hide else shortened(str(name), 16) for number, name in enumerate(names)]
        turned = 90 if axis is ax.xaxis and len(labels) * max(map(len, labels)) > 30 else 0
        axis.set_ticks(place, labels=labels, fontsize=5.5, rotation=turned, parse_math=False)
    ax.set(xlabel="speaker of the trial", ylabel="enrolled speaker")
    colour_bar(ax, drawn, "similarity")

"""Figures of a search: what one recording tells about who of many people spoke."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import BLUE, GREY, VERMILION, legend, legend_below, look, percent_ticks, plain_ticks
from zeroevidence.plot.kinds import curves, figure
from zeroevidence.plot.pairs import arrays, edges_of
from zeroevidence.plot.words import joined, names_of, shortened, value_of, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PEOPLE = 30
_OVER_IDENTITIES = ("link_probability", "singling_out")
_OVER_UTTERANCES = ("alid", "lid_max", "link_probability", "singling_out")
_FUSIONS = {"sum": "independent", "fitted": "fitted", "mean": "averaged"}


@figure(
    "posterior",
    "Belief in the true person",
    needs="a search through several people",
    caption="How sure the attacker is of the right person, recording by recording from the least to the most exposed: "
    "above the dotted line they do better than guessing.",
    has=curves("posterior"),
)
def posterior(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Posterior probability of the true identity over sorted trials, against chance."""
    drawn: set[Any] = set()
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        curve, seen = row.curves["posterior"], look(number)
        share, probability = arrays(curve)
        ax.plot(share, probability, color=seen.colour, ls=seen.line, label=joined(name, written(row, "pdr")))
        if curve.baseline is not None and curve.baseline not in drawn:
            low, high = min(curve.baseline), max(curve.baseline)
            said = f"chance {low:.2g}" if low == high else "prior"
            ax.plot(share, curve.baseline, color=VERMILION, ls=":", lw=1.0, label=said)
            drawn.add(curve.baseline)
    ax.set_yscale("log")
    plain_ticks(ax.yaxis)
    ax.set(xlabel="trials, least to most exposed (%)", ylabel="probability of the true identity", xlim=(0.0, 1.0))
    ax.set_ylim(top=1.2)
    percent_ticks(ax.xaxis)
    legend(ax, most_inside=2)


@figure(
    "lid-histogram",
    "Disclosure per recording",
    needs="a search through several people",
    caption="How many bits each recording tells about who spoke: right of zero it points to the right person, left of "
    "zero it misleads.",
    has=curves("lid_histogram"),
    together=False,
)
def lid_histogram(row: Evaluation, ax: Axes) -> None:
    """Distribution of Local Information Disclosure over trials."""
    centre, share = arrays(row.curves["lid_histogram"])
    edges = edges_of(centre)
    colours = np.where(centre > 0.0, BLUE, "#9A9A9A")
    ax.bar(centre, share, width=np.diff(edges), color=colours, edgecolor="white", lw=0.3)
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    mean = value_of(row, "alid")
    if mean is not None:
        ax.axvline(mean, color=VERMILION, ls="--", lw=1.0, label=written(row, "alid"))
    ax.plot([], [], " ", label=written(row, "lid_max"))
    ax.set(xlabel="LID (bits)", ylabel="trials (%)")
    ax.margins(y=0.15)
    percent_ticks(ax.yaxis)
    legend(ax)


@figure(
    "lid-ccdf",
    "Recordings that disclose more than a level",
    needs="a search through several people",
    caption="What share of recordings gives away more than a number of bits: the further right a line reaches, the "
    "more the most exposed recordings disclose.",
    has=curves("lid_ccdf"),
)
def lid_ccdf(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Complementary distribution of Local Information Disclosure."""
    left = min(min(row.curves["lid_ccdf"].x) for row in rows)
    right = max(max(row.curves["lid_ccdf"].x) for row in rows)
    left, right = (value if np.isfinite(value) else end for value, end in ((left, -10.0), (right, 10.0)))
    space = 0.04 * max(right - left, 0.1)
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        level, share = arrays(row.curves["lid_ccdf"])
        seen = look(number)
        x = np.concatenate(([left - space], level, [right + space]))
        label = joined(name, written(row, "lid_max"))
        y = np.concatenate(([1.0], share, share[-1:]))
        ax.step(x, y, where="post", color=seen.colour, ls=seen.line, label=label)
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set(xlabel="LID (bits)", ylabel="trials above (%)", xlim=(left - space, right + space), ylim=(-0.02, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=2, inside="lower left")


def _rank_axis(ax: Axes, most: float) -> None:
    if most > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    ax.set_xlim(0.9 if most > 30 else 0.5, most + 0.5)


@figure(
    "cmc",
    "Rank of the true person (CMC)",
    needs="a search through several people",
    caption="How often the true person is among the attacker's first guesses, against guessing blindly (dotted).",
    has=curves("cmc"),
)
def cmc(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Cumulative match characteristic: share of trials whose true identity is among the first k."""
    drawn: set[Any] = set()
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        curve, seen = row.curves["cmc"], look(number)
        ax.plot(curve.x, curve.y, color=seen.colour, ls=seen.line, label=joined(name, written(row, "top1")))
        if curve.baseline is not None and curve.baseline not in drawn:
            said = None if drawn else "chance"
            ax.plot(curve.x, curve.baseline, color=VERMILION, ls=":", lw=1.0, label=said)
            drawn.add(curve.baseline)
    _rank_axis(ax, max(row.curves["cmc"].x[-1] for row in rows))
    ax.set(xlabel="rank", ylabel="true identity among the first (%)", ylim=(0.0, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=2, inside="lower right")


@figure(
    "rank-disclosure",
    "Disclosure by rank",
    needs="a search through several people",
    caption="What standing at a place in the attacker's list tells about the true person, in bits: a flat line at zero "
    "means that the order of the list says nothing.",
    has=curves("rank_disclosure"),
)
def rank_disclosure(rows: Sequence[Evaluation], ax: Axes) -> None:
    """log2(N gamma_k) over the rank k of the true identity; ranks where no trial stands are left out."""
    ax.axhline(0.0, color=VERMILION, ls=":", lw=1.0, label="chance")
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        rank, bits = arrays(row.curves["rank_disclosure"])
        seen = look(number)
        label = joined(name, written(row, "mean_rank_disclosure"))
        ax.plot(rank, bits, color=seen.colour, ls=seen.line, marker=seen.marker, ms=2.5, lw=0.9, label=label)
    _rank_axis(ax, max(row.counts.get("identities", row.curves["rank_disclosure"].x[-1]) for row in rows))
    ax.set(xlabel="rank of the true identity", ylabel="disclosure (bits)")
    legend(ax, most_inside=2)


def _chosen(measure: str | None, known: Sequence[str]) -> str | None:
    if measure is not None and measure not in known:
        raise UsageError(f"unknown measure {measure!r} of this figure; expected one of {', '.join(known)}")
    return measure


@figure(
    "over-identities",
    "Risk over the number of people",
    needs="a search through several people",
    caption="How the risk of being linked or singled out changes with the number of people that the attacker searches "
    "through; dotted lines are chance.",
    has=lambda row: any(f"{name}_over_identities" in row.curves for name in _OVER_IDENTITIES),
    options=("y",),
)
def over_identities(rows: Sequence[Evaluation], ax: Axes, *, y: str | None = None) -> None:
    """Link probability over the number of identities, of one result singling out too; `y` picks one of the two."""
    picked = _chosen(y, _OVER_IDENTITIES)
    measures = (picked,) if picked else _OVER_IDENTITIES[: 2 if len(rows) == 1 else 1]
    drawn: set[Any] = set()
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        for line, measure in zip(("-", "--"), measures, strict=False):
            curve = row.curves.get(f"{measure}_over_identities")
            if curve is None:
                continue
            seen = look(number)
            said = name if line == "-" else None
            ax.plot(curve.x, curve.y, color=seen.colour, ls=line, marker=seen.marker, ms=3.0, label=said)
            if curve.baseline is not None and curve.baseline not in drawn:
                ax.plot(curve.x, curve.baseline, color=GREY, ls=":", lw=0.9, label=None if drawn else "chance")
                drawn.add(curve.baseline)
    for line, measure in zip(("-", "--"), measures, strict=False):
        if any(f"{measure}_over_identities" in row.curves for row in rows):
            ax.plot([], [], color=GREY, ls=line, label=measure.replace("_", " "))
    ax.set_xscale("log", base=2)
    plain_ticks(ax.xaxis)
    ax.set(xlabel="enrolled identities", ylabel="share of trials (%)", ylim=(0.0, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=3)


def _has_utterances(row: Evaluation) -> bool:
    return any(f"alid_over_utterances_{fusion}" in row.curves for fusion in _FUSIONS)


@figure(
    "over-utterances",
    "Risk over the number of recordings",
    needs="a search with several recordings of one person",
    caption="What the attacker learns from several recordings of the same unknown person. A line that falls means that "
    "taking recordings as independent misleads the attacker.",
    has=_has_utterances,
    options=("y",),
)
def over_utterances(rows: Sequence[Evaluation], ax: Axes, *, y: str | None = None) -> None:
    """ALID (or `y`: lid_max, link_probability, singling_out) over the utterances of one speaker put together.

    Disclosures are shown for each way of putting them together, for several results for the first that all have:
    scores summed as independent, scaled by a factor fitted on development data, averaged.
    """
    measure = _chosen(y, _OVER_UTTERANCES) or "alid"
    rate = measure in ("link_probability", "singling_out")
    shared = [f for f in _FUSIONS if all(f"{measure}_over_utterances_{f}" in row.curves for row in rows)]
    endings = [""] if rate else [f"_{fusion}" for fusion in (shared[:1] if len(rows) > 1 else shared)]
    if not endings:
        raise UsageError(f"these results were not put together in the same way; draw {measure} of one at a time")
    for number, (row, name) in enumerate(zip(rows, names_of(rows), strict=True)):
        for place, ending in enumerate(endings):
            curve = row.curves.get(f"{measure}_over_utterances{ending}")
            if curve is None:
                continue
            seen = look(number + place)
            said = _FUSIONS[ending[1:]] if len(endings) > 1 else name
            ax.plot(curve.x, curve.y, color=seen.colour, ls=seen.line, marker=seen.marker, ms=3.0, label=said)
            if curve.baseline is not None and number == 0:
                ax.plot(curve.x, curve.baseline, color=GREY, ls=":", lw=0.9, label="chance")
    ax.set_xscale("log", base=2)
    plain_ticks(ax.xaxis)
    title = {"alid": "ALID (bits)", "lid_max": "LID_max (bits)"}.get(measure, f"{measure.replace('_', ' ')} (%)")
    how = f" ({_FUSIONS[endings[0][1:]]})" if len(endings) == 1 and not rate else ""
    ax.set(xlabel=f"utterances put together{how}", ylabel=title)
    if rate:
        ax.set_ylim(0.0, 1.03)
        percent_ticks(ax.yaxis)
    else:
        ax.axhline(0.0, color=GREY, lw=0.8, ls=":")
    legend(ax, most_inside=3)


@figure(
    "people",
    "Risk per person",
    needs="a search through several people",
    caption="How much recordings of each person disclose, on average (dot) and at most (end of the line): the people "
    "at the top are the most exposed.",
    has=lambda row: row.people is not None and bool(row.people.speaker),
    together=False,
    options=("hide",),
    height=3.6,
)
def people(row: Evaluation, ax: Axes, *, hide: bool = False) -> None:
    """Mean and largest disclosure of each speaker, the most exposed on top; filled where most trials are linked.

    Of many speakers the first thirty are shown; `hide` numbers them instead of naming them.
    """
    assert row.people is not None
    risk = row.people
    shown = min(len(risk.speaker), _MOST_PEOPLE)
    place = np.arange(shown)
    names = [f"person {number + 1}" for number in place] if hide else list(risk.speaker[:shown])
    mean, most = np.array(risk.alid[:shown]), np.array(risk.lid_max[:shown])
    linked = np.array(risk.linked[:shown])
    ax.hlines(place, mean, most, color=GREY, lw=0.8)
    ax.plot(most, place, "|", color=GREY, ms=5.0, label="largest")
    for often, face, said in ((False, "white", "mean"), (True, BLUE, "mean (mostly linked)")):
        chosen = (linked > 0.5) == often
        if chosen.any():
            ax.plot(mean[chosen], place[chosen], "o", color=BLUE, mfc=face, ms=4.0, label=said)
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set_yticks(place, labels=[shortened(name) for name in names], fontsize=6.0, parse_math=False)
    ax.set(ylim=(shown - 0.4, -0.6), xlabel="LID (bits)")
    total = row.counts.get("speakers", len(risk.speaker))
    if shown < len(risk.speaker):
        ax.set_ylabel(f"the {shown} most exposed of {max(total, len(risk.speaker))}")
    legend_below(ax, columns=3)

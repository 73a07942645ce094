"""Figures of a search through enrolled identities: disclosure per trial, rank, number of identities, people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.search.rank import LISTED_RECORDINGS
from zeroevidence.plot.canvas import BLUE, GREY, VERMILION, legend, legend_below, percent_ticks, plain_ticks
from zeroevidence.plot.kind import figure
from zeroevidence.plot.marks import (
    bin_edges,
    curve_arrays,
    draw_chance,
    draw_exceedance,
    exceedance_axes,
    has_curves,
    named_looks,
)
from zeroevidence.plot.rows import measure_text, measure_value, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PEOPLE = 30
_NEEDS = "a search through several people"
_search_figure = partial(figure, needs=_NEEDS)
OverIdentities = Literal["link_probability", "singling_out"]
OverUtterances = Literal["alid", "top1", "lid_max", "link_probability", "singling_out"]
_MOST_BANDS = 3  # intervals that can be told apart


@_search_figure(
    "Disclosure per recording",
    place=220,
    caption="How many bits each recording discloses about who spoke: to the right of zero it points to the right "
    "person, to the left it misleads.",
    has=has_curves("lid_histogram"),
    together=False,
)
def lid_histogram(row: Evaluation, ax: Axes) -> None:
    """Distribution of Local Information Disclosure over trials.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.lid_histogram(result)
    >>> ax.get_xlabel()
    'LID (bits)'
    """
    centre, share = curve_arrays(row.curves["lid_histogram"])
    edges = bin_edges(centre)
    colours = np.where(centre > 0.0, BLUE, "#9A9A9A")
    ax.bar(centre, share, width=np.diff(edges), color=colours, edgecolor="white", lw=0.3)
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    mean = measure_value(row, "alid")
    if mean is not None:
        ax.axvline(mean, color=VERMILION, ls="--", lw=1.0, label=measure_text(row, "alid"))
    ax.plot([], [], " ", label=measure_text(row, "lid_max"))
    ax.set(xlabel="LID (bits)", ylabel="trials (%)")
    ax.margins(y=0.15)
    percent_ticks(ax.yaxis)
    legend(ax)


@_search_figure(
    "Recordings that disclose more than a level",
    place=230,
    caption="What share of recordings discloses more than a number of bits: the further right a line reaches, the more "
    "the most exposed recordings disclose.",
    has=has_curves("lid_ccdf"),
)
def lid_ccdf(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Share of trials whose Local Information Disclosure exceeds each level.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.lid_ccdf(result)
    >>> ax.get_ylabel()
    'trials above (%)'
    """
    left = min(min(row.curves["lid_ccdf"].x) for row in rows)
    right = max(max(row.curves["lid_ccdf"].x) for row in rows)
    left, right = (value if np.isfinite(value) else end for value, end in ((left, -10.0), (right, 10.0)))
    space = 0.04 * max(right - left, 0.1)
    span = left - space, right + space
    for row, label, look in named_looks(rows, "lid_max"):
        draw_exceedance(ax, *curve_arrays(row.curves["lid_ccdf"]), span, look, label=label)
    exceedance_axes(ax, span, xlabel="LID (bits)", ylabel="trials above (%)")


def _rank_axis(ax: Axes, most: float) -> None:
    if most > 30:
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
    else:
        ax.set_xticks(range(1, int(most) + 1, -(-int(most) // 10)))  # ranks are whole numbers
    ax.set_xlim(0.9 if most > 30 else 0.5, most + 0.5)


@_search_figure(
    "Rank of the true person (CMC)",
    place=240,
    caption="How often the true person is among the attacker's first guesses, against guessing blindly (dotted).",
    has=has_curves("cmc"),
)
def cmc(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Cumulative match characteristic: share of trials whose true identity is among the first k.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.cmc(result)
    >>> ax.get_xlabel()
    'rank'
    """
    drawn: set[Any] = set()
    for row, label, look in named_looks(rows, "top1"):
        curve = row.curves["cmc"]
        ax.plot(curve.x, curve.y, **look.curve, label=label)
        draw_chance(ax, curve, drawn)
    _rank_axis(ax, max(row.curves["cmc"].x[-1] for row in rows))
    ax.set(xlabel="rank", ylabel="true identity among the first (%)", ylim=(0.0, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=2, inside="lower right")


@_search_figure(
    "Disclosure by rank",
    place=250,
    caption="What each rank in the attacker's list discloses about the true person, in bits: a flat line at zero means "
    "that the order of the list carries no information.",
    has=has_curves("rank_disclosure"),
)
def rank_disclosure(rows: Sequence[Evaluation], ax: Axes) -> None:
    """log2(N gamma_k) over the rank k of the true identity; ranks without a trial are left out.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.rank_disclosure(result)
    >>> ax.get_xlabel()
    'rank of the true identity'
    """
    ax.axhline(0.0, color=VERMILION, ls=":", lw=1.0, label="chance")
    for row, label, look in named_looks(rows, "mean_rank_disclosure"):
        rank, bits = curve_arrays(row.curves["rank_disclosure"])
        ax.plot(rank, bits, **look.curve, marker=look.marker, ms=2.5, lw=0.9, label=label)
    _rank_axis(ax, max(row.counts.get("identities", row.curves["rank_disclosure"].x[-1]) for row in rows))
    ax.set(xlabel="rank of the true identity", ylabel="disclosure (bits)")
    legend(ax, most_inside=2)


@_search_figure(
    "Risk over the number of people",
    place=260,
    caption="How the risk of being linked or singled out changes with the number of people that the attacker searches "
    "through; dotted lines are chance.",
    has=lambda row: any(f"{name}_over_identities" in row.curves for name in get_args(OverIdentities)),
)
def over_identities(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    y: Annotated[
        OverIdentities | None, "The measure to draw; unless given, both of one result, and link_probability of several."
    ] = None,
) -> None:
    """Link probability and singling out over the number of enrolled identities.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.over_identities(result)
    >>> ax.get_xlabel()
    'enrolled identities'
    """
    measures = get_args(OverIdentities)[: 2 if len(rows) == 1 else 1] if y is None else (y,)
    drawn: set[Any] = set()
    for row, name, look in named_looks(rows):
        for line, measure in zip(("-", "--"), measures, strict=False):
            curve = row.curves.get(f"{measure}_over_identities")
            if curve is None:
                continue
            ax.plot(curve.x, curve.y, **{**look.marked_curve, "ls": line}, label=name if line == "-" else None)
            draw_chance(ax, curve, drawn, colour=GREY, width=0.9)
    for line, measure in zip(("-", "--"), measures, strict=False):
        if any(f"{measure}_over_identities" in row.curves for row in rows):
            ax.plot([], [], color=GREY, ls=line, label=measure.replace("_", " "))
    ax.set_xscale("log", base=2)
    plain_ticks(ax.xaxis)
    ax.set(xlabel="enrolled identities", ylabel="share of trials (%)", ylim=(0.0, 1.03))
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=3)


@figure(
    "Risk over the number of recordings",
    place=270,
    needs="a search with several recordings of the same person",
    caption="What the attacker learns from several recordings of the same unknown person. Recordings of one person are "
    "alike, so each further one discloses less than the first.",
    has=lambda row: row.recordings is not None and len(row.recordings.held) > 1,
)
def over_utterances(
    rows: Sequence[Evaluation], ax: Axes, *, y: Annotated[OverUtterances, "The measure to draw."] = "alid"
) -> None:
    """Disclosure, or another measure, over the number of recordings of one person that the attacker holds.

    The dependence between recordings of one person was fitted on other people. Bands are confidence intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> scores = np.tile(3 * np.eye(4) + np.arange(4), (2, 1))
    >>> result = ze.evaluate(ze.ScoreMatrix(scores, [0, 1, 2, 3] * 2))
    >>> ax = ze.plot.over_utterances(result)
    >>> ax.get_ylabel()
    'ALID (bits)'
    """
    drawn: set[float] = set()
    for row, name, look in named_looks(rows):
        curves = row.recordings
        assert curves is not None
        ax.plot(curves.held, getattr(curves, y), **look.marked_curve, label=name)
        low, high = (getattr(curves, f"{y}_{end}", None) for end in ("low", "high"))
        if low is not None and high is not None and len(rows) <= _MOST_BANDS:
            ax.fill_between(curves.held, low, high, color=look.colour, alpha=0.15, lw=0.0)
        chance = MEASURES[y].chance
        guessed = None if chance is None else chance(row.counts)
        if guessed is not None and guessed not in drawn:
            ax.axhline(guessed, color=GREY, ls=":", lw=0.9, label=None if drawn else "chance")
            drawn.add(guessed)
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted({k for row in rows if row.recordings is not None for k in row.recordings.held}))
    ax.minorticks_off()
    plain_ticks(ax.xaxis)
    rate = MEASURES[y].unit == "rate"
    ax.set(xlabel="recordings of the same person", ylabel=f"{MEASURES[y].title} ({'%' if rate else 'bits'})")
    if rate:
        ax.set_ylim(0.0, 1.03)
        percent_ticks(ax.yaxis)
    else:
        ax.axhline(0.0, color=GREY, lw=0.8, ls=":")
    legend(ax, most_inside=3)


@_search_figure(
    "Link probability over seconds of speech",
    place=275,
    caption="How often each person is put to the right name, over the mean length of the person's recordings; dotted: "
    "guessing.",
    has=lambda row: row.people is not None and row.people.seconds is not None,
    together=False,
)
def link_over_seconds(row: Evaluation, ax: Axes) -> None:
    """Share of linked trials of each speaker over their mean length.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> from zeroevidence.evaluation.people import with_seconds
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> result = with_seconds(result, dict(zip(result.trials.trial.tolist(), [1.5, 2.0, 4.0, 3.0])))
    >>> ax = ze.plot.link_over_seconds(result)
    >>> ax.get_xlabel()
    'mean length of recordings (s)'
    """
    assert row.people is not None
    assert row.people.seconds is not None
    ax.plot(row.people.seconds, row.people.linked, "o", color=BLUE, ms=4.0, alpha=0.6)
    ax.axhline(1.0 / row.counts["identities"], color=GREY, lw=0.8, ls=":")
    ax.set(xlabel="mean length of recordings (s)", ylabel="linked (%)", ylim=(-0.03, 1.03))
    percent_ticks(ax.yaxis)


@_search_figure(
    "Risk per person",
    place=280,
    caption="How much the recordings of each person disclose, on average (dot) and at most (end of the line): the "
    f"people at the top are the most exposed. People with fewer than {LISTED_RECORDINGS} recordings have no name.",
    has=lambda row: row.people is not None and bool(row.people.speaker),
    together=False,
    height=3.6,
)
def people(
    row: Evaluation, ax: Axes, *, hide: Annotated[bool, "Number people instead of naming them."] = False
) -> None:
    """Mean and largest disclosure of each speaker, the most exposed on top; filled where most trials are linked.

    Of many speakers the first thirty are shown.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.people(result)
    >>> ax.get_xlabel()
    'LID (bits)'
    """
    assert row.people is not None
    risk = row.people
    count = min(len(risk.speaker), _MOST_PEOPLE)
    place = np.arange(count)
    names = [
        f"person {number + 1}" if hide or risk.trials[number] < LISTED_RECORDINGS else risk.speaker[number]
        for number in range(count)
    ]
    mean, most, linked = (np.array(values[:count]) for values in (risk.alid, risk.lid_max, risk.linked))
    ax.hlines(place, mean, most, color=GREY, lw=0.8)
    ax.plot(most, place, "|", color=GREY, ms=5.0, label="largest")
    for mostly, face, label in ((False, "white", "mean"), (True, BLUE, "mean (mostly linked)")):
        chosen = (linked > 0.5) == mostly
        if chosen.any():
            ax.plot(mean[chosen], place[chosen], "o", color=BLUE, mfc=face, ms=4.0, label=label)
    ax.axvline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set_yticks(place, labels=[shortened(name) for name in names], fontsize=6.0, parse_math=False)
    ax.set(ylim=(count - 0.4, -0.6), xlabel="LID (bits)")
    total = row.counts.get("speakers", len(risk.speaker))
    if count < len(risk.speaker):
        ax.set_ylabel(f"the {count} most exposed of {max(total, len(risk.speaker))}")
    legend_below(ax, columns=3)


@_search_figure(
    "People who are exposed to more than a level",
    place=235,
    caption="What share of the measured people is exposed to more than a number of bits on average (thin), and what "
    "share of people like them may be at most, at the confidence level of the results (thick).",
    has=has_curves("people_above"),
)
def exposed(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Share of people whose mean LID exceeds each level, seen and at most.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.exposed(result)
    >>> ax.get_ylabel()
    'people above (%)'
    """
    levels = np.concatenate([row.curves["people_above"].x for row in rows])
    finite = levels[np.isfinite(levels)]
    left, right = (float(finite.min()), float(finite.max())) if len(finite) else (-1.0, 1.0)
    left, right = min(left, 0.0), max(right, 0.0)
    space = 0.04 * max(right - left, 0.1)
    span = left - space, right + space
    lines = {"people_above_bound": ("at most", 1.8), "people_above": ("measured", 0.8)}
    for row, name, look in named_looks(rows):
        for curve, (_, width) in lines.items():
            if curve not in row.curves:
                continue
            level, share = curve_arrays(row.curves[curve])
            level = np.maximum(level, span[0])
            label = name if curve == "people_above" else None
            draw_exceedance(ax, level, share, span, look, lw=width, label=label)
    for curve, (text, width) in lines.items():
        if any(curve in row.curves for row in rows):
            ax.plot([], [], color=GREY, lw=width, label=text)
    exceedance_axes(ax, span, xlabel="mean LID of a person (bits)", ylabel="people above (%)")

"""Figures of a search: belief in the true person, and how it depends on what was believed before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import GREY, VERMILION, legend, look, percent_ticks, plain_ticks
from zeroevidence.plot.curves import curve_arrays, has_curves
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import joined, measured, row_names, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POSTERIOR_BINS = 20
_NEEDS = "a search through several people"


@figure(
    "Belief in the true person",
    place=210,
    needs=_NEEDS,
    caption="How sure the attacker is of the right person, recording by recording from the least to the most exposed: "
    "above the dotted line they do better than guessing.",
    has=has_curves("posterior"),
)
def posterior(
    rows: Sequence[Evaluation],
    ax: Axes,
    *,
    form: Annotated[
        Literal["sorted", "histogram"], "Trials from the least to the most exposed, or a histogram of them."
    ] = "sorted",
) -> None:
    """Posterior probability of the true identity over sorted trials or as a histogram, against chance.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.posterior(result)
    >>> ax.get_ylabel()
    'probability of the true identity'
    """
    if form == "histogram":
        _posterior_histogram(rows, ax)
        return
    drawn: set[Any] = set()
    for number, (row, name) in enumerate(zip(rows, row_names(rows), strict=True)):
        curve, seen = row.curves["posterior"], look(number)
        share, probability = curve_arrays(curve)
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


def _posterior_histogram(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Share of trials around each probability of the true identity, and what guessing gives."""
    top = min(1.0, 1.05 * max(max(row.curves["posterior"].y) for row in rows))
    edges = np.linspace(0.0, top, _POSTERIOR_BINS + 1)
    guesses: set[float] = set()
    for number, (row, name) in enumerate(zip(rows, row_names(rows), strict=True)):
        curve, seen = row.curves["posterior"], look(number)
        share, probability = curve_arrays(curve)
        # each point stands for the trials since the one before
        held = np.histogram(np.clip(probability, 0.0, top), edges, weights=np.diff(share, prepend=0.0))[0]
        said = joined(name, written(row, "pdr"))
        if len(rows) == 1:
            ax.stairs(held, edges, fill=True, facecolor=seen.colour, alpha=0.25, lw=0.0)
        ax.stairs(held, edges, color=seen.colour, ls=seen.line, lw=1.0, label=said)
        guesses |= set(curve.baseline or ()) if len(set(curve.baseline or ())) == 1 else set()
    for guess in sorted(guesses):
        ax.axvline(guess, color=VERMILION, ls=":", lw=1.0, label=f"chance, 1/{round(1.0 / guess)}")
    ax.set(xlabel="probability of the true identity", ylabel="trials (%)", xlim=(0.0, top))
    ax.set_ylim(bottom=0.0)
    percent_ticks(ax.yaxis)
    legend(ax, most_inside=0)


@figure(
    "Disclosure over prior beliefs",
    place=238,
    needs=_NEEDS,
    caption="What a recording tells on average an attacker who suspected the right person before, from not at all to "
    "surely: who is sure already learns nothing more.",
    has=has_curves("lid_over_priors"),
)
def lid_over_priors(rows: Sequence[Evaluation], ax: Axes) -> None:
    """ALID over the prior log-odds of the true identity; dots are at one in the number of identities.

    Examples
    --------
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> result = ze.evaluate(ze.ScoreMatrix(3 * np.eye(4) + np.arange(4), [0, 1, 2, 3]))
    >>> ax = ze.plot.lid_over_priors(result)
    >>> ax.get_ylabel()
    'ALID (bits)'
    """
    for number, (row, name) in enumerate(zip(rows, row_names(rows), strict=True)):
        log_odds, bits = curve_arrays(row.curves["lid_over_priors"])
        seen, said = look(number), joined(name, written(row, "lid_prior_free"))
        ax.plot(log_odds, bits, color=seen.colour, ls=seen.line, label=said)
        at, mean = -np.log(row.counts.get("identities", 1) - 1.0 or 1.0), measured(row, "alid")
        if mean is not None and log_odds[0] <= at <= log_odds[-1]:
            ax.plot([at], [mean], seen.marker, color=seen.colour, mec="white", mew=0.4, ms=5.0)
    ax.axhline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set(xlabel="prior log-odds of the true person (natural log)", ylabel="ALID (bits)")
    legend(ax, most_inside=0)

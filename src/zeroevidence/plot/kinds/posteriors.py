"""Figures of a search: posterior probability of the true identity, and disclosure over prior odds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import GREY, VERMILION, decimal_ticks, legend, percent_ticks
from zeroevidence.plot.curves import curve_arrays, draw_chance, has_curves, named_looks
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import join_parts, measure_text, measure_value

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
    for row, name, look in named_looks(rows):
        curve = row.curves["posterior"]
        share, probability = curve_arrays(curve)
        ax.plot(share, probability, **look.curve, label=join_parts(name, measure_text(row, "pdr")))
        levels = set(curve.baseline or ())
        draw_chance(ax, curve, drawn, label=f"chance {min(levels):.2g}" if len(levels) == 1 else "prior")
    ax.set_yscale("log")
    ax.set(xlabel="trials, least to most exposed (%)", ylabel="probability of the true identity", xlim=(0.0, 1.0))
    ax.set_ylim(top=1.2)
    decimal_ticks(ax.yaxis)
    percent_ticks(ax.xaxis)
    legend(ax, most_inside=2)


def _posterior_histogram(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Draw the share of trials around each probability of the true identity, and chance."""
    top = min(1.0, 1.05 * max(max(row.curves["posterior"].y) for row in rows))
    edges = np.linspace(0.0, top, _POSTERIOR_BINS + 1)
    guesses: set[float] = set()
    for row, name, look in named_looks(rows):
        curve = row.curves["posterior"]
        share, probability = curve_arrays(curve)
        # each point stands for the trials since the one before
        trials = np.histogram(np.clip(probability, 0.0, top), edges, weights=np.diff(share, prepend=0.0))[0]
        if len(rows) == 1:
            ax.stairs(trials, edges, fill=True, facecolor=look.colour, alpha=0.25, lw=0.0)
        ax.stairs(trials, edges, **look.curve, lw=1.0, label=join_parts(name, measure_text(row, "pdr")))
        levels = set(curve.baseline or ())
        guesses |= levels if len(levels) == 1 else set()
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
    caption="What an attacker learns on average from a recording, over the prior probability of the right person: who "
    "is sure already learns nothing more.",
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
    for row, name, look in named_looks(rows):
        log_odds, bits = curve_arrays(row.curves["lid_over_priors"])
        ax.plot(log_odds, bits, **look.curve, label=join_parts(name, measure_text(row, "lid_prior_free")))
        at, mean = -np.log(row.counts.get("identities", 1) - 1.0 or 1.0), measure_value(row, "alid")
        if mean is not None and log_odds[0] <= at <= log_odds[-1]:
            ax.plot([at], [mean], look.marker, color=look.colour, mec="white", mew=0.4, ms=5.0)
    ax.axhline(0.0, color=GREY, lw=0.8, ls=":")
    ax.set(xlabel="prior log-odds of the true person (natural log)", ylabel="ALID (bits)")
    legend(ax, most_inside=0)

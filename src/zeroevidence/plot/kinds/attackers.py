"""Figures of attackers: what each achieves, and how much they believe in the true person."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.evaluation.finding.facts import SystemAttackers
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.measure.search.rank import guessing_rate
from zeroevidence.plot import canvas
from zeroevidence.plot.kind import figure
from zeroevidence.plot.marks import curve_arrays, draw_chance, has_curves, named_looks
from zeroevidence.plot.rows import measure_value, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 30  # letters of a name beside the axes
_MOST_BARS = 9  # more systems show the attacker that counts alone
_MOST_SYSTEMS = 12
_TITLE, _GAP = 0.7, 0.2  # bars that the name of a system, and the room below its bars, take as much room as


@dataclass(frozen=True, slots=True)
class _Scale:
    """What bars show: a measure in percent, and what guessing gives."""

    measure: str
    most: float  # of the measure, which is 100 %
    title: str

    def share(self, value: float | None) -> float | None:
        return None if value is None else 100.0 * value / self.most


_NAMES = _Scale("top1", 1.0, "recordings given the right name (%)")
_DOUBT = _Scale("d_ece", D_ECE_MAX, "doubt about who speaks that is removed (%)")


def _scale(rows: Sequence[Evaluation]) -> _Scale:
    return _NAMES if all(row.is_search for row in rows) else _DOUBT


def _drawable(row: Evaluation) -> bool:
    """Whether the row says how well people are recognised, by an attacker or on a bound."""
    is_attack = row.about.question == "identity" and row.about.role in ("attack", "control", "floor")
    return is_attack and row.number("d_ece") is not None


def _shown(rows: Sequence[Evaluation]) -> list[SystemAttackers]:
    """The systems with their best attackers; of many systems the attacker that counts alone."""
    systems = list(findings(rows)[0].systems)
    if sum(len(system.best) for system in systems) > _MOST_BARS:
        systems = [replace(system, best=(system.counting,)) for system in systems[:_MOST_SYSTEMS]]
    return systems


def _height(rows: Sequence[Evaluation]) -> float:
    systems = _shown(rows)
    titles = sum(len(system.best) > 1 for system in systems) if len(systems) > 1 else 0
    return 0.9 + 0.42 * (sum(len(system.best) for system in systems) + (_TITLE + _GAP) * titles)


@figure(
    "What each attacker achieves",
    place=5,
    needs="attackers on people's identity",
    caption="Each bar is one attacker of a kind, from least to most knowledge: the one that did best on other people, "
    "or on these where no others were tried. Of many systems it is the attacker that counts. The thin line is the "
    "interval for people like these. At the dotted line an attacker only guesses; at a solid line the protection "
    "changes nothing.",
    has=_drawable,
    most=None,
    from_scores=True,
    height_of=_height,
)
def attackers(rows: Sequence[Evaluation], ax: Axes) -> None:
    """A bar for one attacker of each kind, with its interval, and lines for guessing and unprotected speech.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> row = ze.evaluate([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], options=ze.Options(intervals=0, null=0))
    >>> ze.plot.attackers(row).get_xlabel()
    'doubt about who speaks that is removed (%)'
    """
    systems, scale = _shown(rows), _scale(rows)
    several = len(systems) > 1
    ticks: list[tuple[float, str]] = []
    place = 0.0
    for number, system in enumerate(systems):
        titled = several and len(system.best) > 1
        if titled:
            name = _system(rows[system.counting])
            ax.annotate(name, (0.0, place - 0.05), (2.0, 0.0), textcoords="offset points", va="center", weight="bold")
            place += _TITLE
        top = place
        for i in system.best:
            _bar(ax, rows[i], place, scale, counts=i == system.counting)
            ticks.append((place, f"who {_who(rows[i])}" if titled or not several else _system(rows[i])))
            place += 1.0
        _lines(ax, rows, system, (top - 0.45, place - 0.55), labelled=number == 0)
        place += _GAP if titled else 0.0
    ax.set(xlim=(0.0, 124.0), ylim=(place - 0.4 - (_GAP if titled else 0.0), -0.6), xlabel=scale.title)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.set_yticks([at for at, _ in ticks], [textwrap.fill(text, _LINE) for _, text in ticks])
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        canvas.legend_below(ax, columns=2)


def _bar(ax: Axes, row: Evaluation, place: float, scale: _Scale, *, counts: bool) -> None:
    result = row.metrics[scale.measure]
    share = scale.share(max(float(result), 0.0)) or 0.0
    ax.barh(place, share, 0.62, color=canvas.BLUE if counts else canvas.SKY, alpha=0.9 if counts else 0.75, lw=0.0)
    ends = [scale.share(end) for end in (result.low, result.high)]
    if ends[0] is not None and ends[1] is not None:
        ax.plot([max(ends[0], 0.0), ends[1]], [place, place], color="#333333", lw=0.9, solid_capstyle="butt")
    weight = "bold" if counts else "normal"
    ax.text(104.0, place, f"{share:.3g} %", va="center", ha="left", fontsize=7.0, weight=weight)


def _lines(
    ax: Axes, rows: Sequence[Evaluation], system: SystemAttackers, span: tuple[float, float], *, labelled: bool
) -> None:
    """Guessing, and the same people without protection."""
    scale = _scale(rows)
    guess = 100.0 * guessing_rate(rows[system.counting].counts) if scale is _NAMES else 0.0
    plain = None if system.control is None else scale.share(rows[system.control].number(scale.measure))
    for share, style, colour, label in (
        (guess, ":", canvas.GREY, "guessing"),
        (plain, "-", canvas.BLACK, "without protection"),
    ):
        if share is not None:
            ax.plot([share, share], span, ls=style, lw=1.3, color=colour, label=label if labelled else None)


def _system(row: Evaluation) -> str:
    return shortened(row.labels.get("system", "") or "these scores", 40)


def _who(row: Evaluation) -> str:
    """The attacker in words."""
    threat = row.about.threat
    if threat is None:
        return "attacker behind these scores"
    if row.about.role == "control":
        return "without protection"
    if row.about.role == "floor":
        return "noise"
    title = ATTACKERS[threat.name].title if threat.name in ATTACKERS else shortened(threat.name, 60)
    return f"{title} (adapter network)" if threat.adapter else title


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
    for row, label, look in named_looks(rows, "pdr"):
        curve = row.curves["posterior"]
        share, probability = curve_arrays(curve)
        ax.plot(share, probability, **look.curve, label=label)
        levels = set(curve.baseline or ())
        draw_chance(ax, curve, drawn, label=f"chance {min(levels):.2g}" if len(levels) == 1 else "prior")
    ax.set_yscale("log")
    ax.set(xlabel="trials, least to most exposed (%)", ylabel="probability of the true identity", xlim=(0.0, 1.0))
    ax.set_ylim(top=1.2)
    canvas.decimal_ticks(ax.yaxis)
    canvas.percent_ticks(ax.xaxis)
    canvas.legend(ax, most_inside=2)


def _posterior_histogram(rows: Sequence[Evaluation], ax: Axes) -> None:
    """Draw the share of trials around each probability of the true identity, and chance."""
    top = min(1.0, 1.05 * max(max(row.curves["posterior"].y) for row in rows))
    edges = np.linspace(0.0, top, _POSTERIOR_BINS + 1)
    guesses: set[float] = set()
    for row, label, look in named_looks(rows, "pdr"):
        curve = row.curves["posterior"]
        share, probability = curve_arrays(curve)
        # each point stands for the trials since the one before
        trials = np.histogram(np.clip(probability, 0.0, top), edges, weights=np.diff(share, prepend=0.0))[0]
        if len(rows) == 1:
            ax.stairs(trials, edges, fill=True, facecolor=look.colour, alpha=0.25, lw=0.0)
        ax.stairs(trials, edges, **look.curve, lw=1.0, label=label)
        levels = set(curve.baseline or ())
        guesses |= levels if len(levels) == 1 else set()
    for guess in sorted(guesses):
        ax.axvline(guess, color=canvas.VERMILION, ls=":", lw=1.0, label=f"chance, 1/{round(1.0 / guess)}")
    ax.set(xlabel="probability of the true identity", ylabel="trials (%)", xlim=(0.0, top))
    ax.set_ylim(bottom=0.0)
    canvas.percent_ticks(ax.yaxis)
    canvas.legend(ax, most_inside=0)


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
    for row, label, look in named_looks(rows, "lid_prior_free"):
        log_odds, bits = curve_arrays(row.curves["lid_over_priors"])
        ax.plot(log_odds, bits, **look.curve, label=label)
        at, mean = -np.log(row.counts.get("identities", 1) - 1.0 or 1.0), measure_value(row, "alid")
        if mean is not None and log_odds[0] <= at <= log_odds[-1]:
            ax.plot([at], [mean], look.marker, color=look.colour, mec="white", mew=0.4, ms=5.0)
    ax.axhline(0.0, color=canvas.GREY, lw=0.8, ls=":")
    ax.set(xlabel="prior log-odds of the true person (natural log)", ylabel="ALID (bits)")
    canvas.legend(ax, most_inside=0)

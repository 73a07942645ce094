"""What the best attacker of each kind achieves, beside guessing and unprotected speech."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zeroevidence.attack.attackers.attacker import ATTACKERS
from zeroevidence.evaluation import Evaluation, findings
from zeroevidence.evaluation.finding.by_knowledge import SystemAttackers, attackers_by_system
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.plot.canvas import BLACK, BLUE, GREY, SKY, legend_below
from zeroevidence.plot.kind import figure
from zeroevidence.plot.names import shortened

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
    about = row.about
    return (
        about.question == "identity"
        and about.role in ("attack", "control", "floor")
        and row.number("d_ece") is not None
    )


def _shown(rows: Sequence[Evaluation]) -> list[SystemAttackers]:
    """The systems with their best attackers; of many systems the attacker that counts alone."""
    systems = attackers_by_system(rows, findings(rows)[0])
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
    caption="Each bar is the best attacker of a kind, from least to most knowledge; of several systems, the one that "
    "counts of each. The thin line is the interval for people like these. At the dotted line an attacker only guesses; "
    "at a solid line the protection changes nothing.",
    has=_drawable,
    most=None,
    from_scores=True,
    height_of=_height,
)
def attackers(rows: Sequence[Evaluation], ax: Axes) -> None:
    """A bar for the best attacker of each kind, with its interval, and lines for guessing and unprotected speech.

    Examples
    --------
    >>> import zeroevidence as ze
    >>> row = ze.evaluate([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], intervals=0, null=0)
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
        _lines(ax, rows, system, scale, (top - 0.45, place - 0.55), labelled=number == 0)
        place += _GAP if titled else 0.0
    ax.set(xlim=(0.0, 124.0), ylim=(place - 0.4 - (_GAP if titled else 0.0), -0.6), xlabel=scale.title)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.set_yticks([at for at, _ in ticks], [textwrap.fill(text, _LINE) for _, text in ticks])
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        legend_below(ax, columns=2)


def _bar(ax: Axes, row: Evaluation, place: float, scale: _Scale, *, counts: bool) -> None:
    result = row.metrics[scale.measure]
    share = scale.share(max(float(result), 0.0)) or 0.0
    ax.barh(place, share, 0.62, color=BLUE if counts else SKY, alpha=0.9 if counts else 0.75, lw=0.0)
    ends = [scale.share(end) for end in (result.low, result.high)]
    if ends[0] is not None and ends[1] is not None:
        ax.plot([max(ends[0], 0.0), ends[1]], [place, place], color="#333333", lw=0.9, solid_capstyle="butt")
    weight = "bold" if counts else "normal"
    ax.text(104.0, place, f"{share:.3g} %", va="center", ha="left", fontsize=7.0, weight=weight)


def _lines(
    ax: Axes,
    rows: Sequence[Evaluation],
    system: SystemAttackers,
    scale: _Scale,
    span: tuple[float, float],
    *,
    labelled: bool,
) -> None:
    """Guessing, and the same people without protection."""
    guess = 100.0 / rows[system.counting].counts["identities"] if scale is _NAMES else 0.0
    plain = None if system.control is None else scale.share(rows[system.control].number(scale.measure))
    for share, style, colour, label in (
        (guess, ":", GREY, "guessing"),
        (plain, "-", BLACK, "without protection"),
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

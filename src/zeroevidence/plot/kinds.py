"""The table of figures: what each is called, needs and says, and the frame that every one is drawn in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import HEIGHT, need_matplotlib, new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rows = Evaluation | Sequence[Evaluation]


class Draws(Protocol):
    """A figure: results in, Axes out; drawn on the Axes given, or on new ones."""

    def __call__(self, evaluations: Rows, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of figure."""

    name: str
    title: str
    needs: str  # in words
    caption: str  # one sentence for a reader who is no specialist
    function: Draws
    has: Callable[[Evaluation], bool]
    together: bool  # whether several rows share one pair of axes
    options: tuple[str, ...] = ()
    height: float = HEIGHT


KINDS: dict[str, Kind] = {}


def curves(*names: str, baseline: bool = False) -> Callable[[Evaluation], bool]:
    """A test whether a row has all of some curves, with what chance gives where that is drawn too."""
    return lambda row: all(
        name in row.curves and bool(row.curves[name].x) and (not baseline or row.curves[name].baseline is not None)
        for name in names
    )


def figure(
    name: str,
    title: str,
    *,
    needs: str,
    caption: str,
    has: Callable[[Evaluation], bool],
    together: bool = True,
    options: tuple[str, ...] = (),
    height: float = HEIGHT,
) -> Callable[[Callable[..., None]], Draws]:
    """Enter a painter (rows and Axes in, nothing out) into the table of figures, and make it a function of results."""

    def enter(paint: Callable[..., None]) -> Draws:
        @wraps(paint)
        def draw(evaluations: Rows, *, ax: Axes | None = None, **given: Any) -> Axes:
            rows = rows_with(name, evaluations)
            unknown = sorted(set(given) - set(options))
            if unknown:
                raise UsageError(f"a figure of kind {name} has no option {unknown[0]!r}")
            if not together and len(rows) > 1:
                raise UsageError(f"a figure of kind {name} shows one result, got {len(rows)}; draw one at a time")
            need_matplotlib()
            with style():
                axes = new_axes(ax, height)
                paint(rows if together else rows[0], axes, **given)
            return axes

        KINDS[name] = Kind(name, title, needs, caption, draw, has, together, options, height)
        return draw

    return enter


def available(evaluation: Evaluation) -> list[str]:
    """Names of the figures that can be drawn of a result, in the order of the table."""
    return [name for name, kind in KINDS.items() if kind.has(evaluation)]


def find(name: str) -> Kind:
    """The kind of that name."""
    try:
        return KINDS[name]
    except KeyError:
        raise UsageError(f"unknown kind of figure {name!r}; expected one of {', '.join(KINDS)}") from None


def rows_with(name: str, evaluations: Rows) -> list[Evaluation]:
    """The results that have what a kind of figure needs; an error that says which kinds there are if none has."""
    given = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    kind = find(name)
    rows = [row for row in given if kind.has(row)]
    if not rows:
        found = [other for other in KINDS if any(other in available(row) for row in given)]
        there = f"it has what these need: {', '.join(found)}" if found else "it has what no figure needs"
        raise UsageError(f"a figure of kind {name} needs {kind.needs}, which this result lacks; {there}")
    return rows

"""The registry of figures: what each kind is called, needs and says, and the function that draws it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import ArrayLike

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot import kinds
from zeroevidence.plot.canvas import HEIGHT, need_matplotlib, new_axes, style
from zeroevidence.plot.painter import FigureOption, Painter, public_doc, public_signature, publish, read_options
from zeroevidence.plot.rows import Results, as_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Has = Callable[[Evaluation], bool]
Parts = Callable[[Evaluation], Sequence[str]]
Whole = Callable[[Sequence[Evaluation]], bool]


class FigureFunction(Protocol):
    """A figure: results in, Axes out; drawn on the Axes given, or on new ones."""

    __name__: str

    def __call__(
        self,
        results: Results | ArrayLike,
        nontarget: ArrayLike | None = None,
        *,
        ax: Axes | None = None,
        **options: Any,
    ) -> Axes:
        """Draw."""


@dataclass(frozen=True, slots=True)
class FigureKind:
    """One kind of figure.

    Examples
    --------
    >>> from zeroevidence.plot import KINDS
    >>> KINDS["ece"].together, KINDS["ece"].from_scores
    (True, True)
    """

    name: str
    title: str
    place: int  # in the table; low numbers come first
    needs: str  # in words
    caption: str  # one sentence for a reader who is no specialist
    paint: Painter
    function: FigureFunction
    has: Has
    together: bool  # whether several rows share one pair of axes
    from_scores: bool  # whether target and non-target scores are enough
    options: Mapping[str, FigureOption]
    parts: Parts | None  # names of what a row may have several of, each with a panel of its own
    height: float  # in inches
    most: int | None  # rows that can be told apart on one pair of axes; more get panels
    per_row: float  # inches that a figure grows by each row
    whole: Whole | None  # what all rows together must have, beside what each has

    def of(self, rows: Sequence[Evaluation]) -> list[Evaluation]:
        """Those of rows that the figure can be drawn of; none where together they lack something."""
        found = [row for row in rows if self.has(row)]
        return found if self.whole is None or self.whole(found) else []

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise `UsageError` for an option that this kind does not take, or not with that value."""
        for name, value in options.items():
            if name not in self.options:
                takes = f"it takes {', '.join(self.options)}" if self.options else "it takes none"
                raise UsageError(f"the figure {self.name!r} has no option {name!r}; {takes}")
            self.options[name].check(value)


KINDS: dict[str, FigureKind] = {}
_MOST = 7  # as many colours as can be told apart
_TAKEN = frozenset({"results", "nontarget", "ax", "kind", "width", "format"})  # parameters that every kind has


def figure(
    title: str,
    *,
    place: int,
    needs: str,
    caption: str,
    has: Has,
    together: bool = True,
    from_scores: bool = False,
    parts: Parts | None = None,
    height: float = HEIGHT,
    most: int | None = _MOST,
    per_row: float = 0.0,
    whole: Whole | None = None,
) -> Callable[[Painter], FigureFunction]:
    """Enter a painter into the registry, and make it a function that draws results.

    The kind has the name of the painter, with hyphens, and the painter's keyword-only parameters as options.

    Parameters
    ----------
    title, needs, caption
        Words for tables and pages: a heading, what a result must have, one sentence on how to read the figure.
    place
        Where the kind stands in the table; low numbers come first.
    has
        Whether a result has what the figure needs.
    together
        Whether the painter takes several rows; if not, it takes one.
    from_scores
        Whether an evaluation of two arrays of scores has what the figure needs.
    parts
        For a kind that draws one of several things in a result: their names, which its option ``name`` picks from.
    height
        In inches, for a figure one column wide.
    most
        How many rows can be told apart on one pair of axes: more are put into panels, by a label that they share. None
        for a figure that takes any number.
    per_row
        In inches, what a figure of many rows grows by each of them.
    whole
        For a figure of rows that belong together: whether these rows have all it needs.
    """

    def enter(paint: Painter) -> FigureFunction:
        options = read_options(paint)

        def draw(
            results: Results | ArrayLike,
            nontarget: ArrayLike | None = None,
            *,
            ax: Axes | None = None,
            **given: Any,
        ) -> Axes:
            return _drawn(kind, results, nontarget, ax, given)

        signature = public_signature(options, from_scores=from_scores)
        doc = public_doc(paint, options, needs=needs, together=together, from_scores=from_scores)
        publish(draw, paint, signature, doc)
        name = paint.__name__.replace("_", "-")
        kind = FigureKind(
            name,
            title,
            place,
            needs,
            caption,
            paint,
            draw,
            has,
            together,
            from_scores,
            options,
            parts,
            height,
            most,
            per_row,
            whole,
        )
        _enter(kind)
        return draw

    return enter


def _enter(kind: FigureKind) -> None:
    """Put a kind at its place, whatever the order in which modules are imported."""
    if kind.name in KINDS:
        raise ValueError(f"there are two kinds of figures called {kind.name!r}")
    if taken := _TAKEN & set(kind.options):
        raise ValueError(f"an option of {kind.name!r} cannot be called {min(taken)!r}")
    ordered = sorted([*KINDS.values(), kind], key=lambda one: (one.place, one.name))
    KINDS.clear()
    KINDS.update({one.name: one for one in ordered})


def discover() -> None:
    """Import every module of `kinds`, so that the registry is complete."""
    for module in pkgutil.iter_modules(kinds.__path__, f"{kinds.__name__}."):
        importlib.import_module(module.name)


def _drawn(kind: FigureKind, results: Any, nontarget: Any, ax: Axes | None, options: Mapping[str, Any]) -> Axes:
    kind.check(options)
    if nontarget is not None and not kind.from_scores:
        raise UsageError(f"the figure {kind.name!r} cannot be drawn from two arrays of scores; it needs {kind.needs}")
    need_matplotlib()
    rows = rows_with(kind.name, as_rows(results, nontarget), options.get("name"))
    if not kind.together and len(rows) > 1:
        raise UsageError(f"the figure {kind.name!r} shows one result, got {len(rows)}; draw them one at a time")
    with style():
        axes = new_axes(ax, kind.height)
        kind.paint(rows if kind.together else rows[0], axes, **options)
    return axes


def available(results: Results) -> list[str]:
    """Names of the figures that can be drawn of a result, or of at least one of several, in the order of the table.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0, labels={"system": "mine"})
    >>> "det" in available(result), "cmc" in available(result)
    (True, False)
    """
    rows = as_rows(results)
    return [name for name, kind in KINDS.items() if kind.of(rows)]


def find(name: str) -> FigureKind:
    """The kind of that name."""
    try:
        return KINDS[name]
    except KeyError:
        raise UsageError(f"unknown kind of figure {name!r}; expected one of {', '.join(KINDS)}") from None


def rows_with(name: str, results: Results, part: str | None = None) -> list[Evaluation]:
    """The results that have what a kind of figure needs; an error that lists the possible figures if none has.

    For a kind that draws one of several things in a result, `part` is which.
    """
    given = as_rows(results)
    kind = find(name)
    rows = kind.of(given)
    if not rows:
        found = available(given)
        subject = "this result does" if len(given) == 1 else "these results do"
        there = f"figures that can be drawn: {', '.join(found)}" if found else "no figure can be drawn"
        raise UsageError(f"the figure {name!r} needs {kind.needs}, which {subject} not have; {there}")
    if kind.parts is None or part is None:
        return rows
    parts = dict.fromkeys(one for row in rows for one in kind.parts(row))
    if part not in parts:
        raise UsageError(f"name: expected one of {', '.join(parts)}, got {part!r}")
    return [row for row in rows if part in kind.parts(row)]

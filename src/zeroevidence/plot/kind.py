"""Kinds of figures: what each is called, needs and shows, and the painter that draws it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints

from numpy.typing import ArrayLike

from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.plot.canvas import HEIGHT, need_matplotlib, new_axes, style
from zeroevidence.plot.rows import Results, as_rows
from zeroevidence.registry import Registry

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Painter = Callable[..., None]

_TYPE_NAMES = {bool: "True or False", int: "a whole number", float: "a number", str: "a string"}
_WIDTH = 110


@dataclass(frozen=True, slots=True)
class FigureOption:
    """One option of a kind of figure."""

    name: str
    annotation: Any
    default: Any
    meaning: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, () where they are not fixed."""
        return next((get_args(part) for part in self._parts if get_origin(part) is Literal), ())

    @property
    def type(self) -> type:
        """Type of its values, None left aside."""
        return type(self.choices[0]) if self.choices else next(part for part in self._parts if part is not type(None))

    @property
    def _parts(self) -> tuple[Any, ...]:
        """The members of a union, or the annotation itself."""
        fixed = get_origin(self.annotation) is Literal
        return (self.annotation,) if fixed else get_args(self.annotation) or (self.annotation,)

    def check(self, value: object) -> None:
        """Raise `UsageError` for a value that the annotation does not allow."""
        if value is self.default:
            return
        if self.choices:
            if value not in self.choices:
                raise UsageError(f"{self.name}: expected one of {', '.join(self.choices)}, got {value!r}")
        elif not isinstance(value, (int, float) if self.type is float else self.type):
            raise UsageError(f"{self.name}: expected {_TYPE_NAMES.get(self.type, self.type.__name__)}, got {value!r}")


_MOST = 7  # as many colours as can be told apart
_COMMON_PARAMETERS = frozenset({"results", "nontarget", "ax", "kind", "width", "format"})  # of every kind


class FigureFunction(Protocol):
    """A figure: results in, Axes out; drawn on the Axes passed in, or on new ones."""

    __name__: str

    def __call__(
        self, results: Results | ArrayLike, nontarget: ArrayLike | None = ..., *, ax: Axes | None = ..., **options: Any
    ) -> Axes:
        """Draw."""


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """One kind of figure.

    Parameters
    ----------
    paint
        Draws rows on Axes. The kind has the painter's name, with hyphens, and its keyword-only parameters as options.
    title
        Heading in tables and pages.
    place
        Sort key in the table of kinds; low numbers come first.
    needs
        What a result must have, in words.
    caption
        One sentence on how to read the figure, for a reader who is no specialist.
    has
        Whether a result has what the figure needs.
    together
        Whether the painter takes several rows; if not, it takes one.
    from_scores
        Whether an evaluation of two arrays of scores has what the figure needs.
    parts
        For a kind that draws one of several parts of a result: their names, which its option ``name`` picks from.
    height
        In inches, for a figure one column wide.
    height_of
        The same for a figure whose height depends on its rows.
    most
        How many rows can be told apart on one pair of axes: more are put into panels, by a label that they share. None
        for a figure that takes any number.
    per_row
        In inches, by how much a figure of many rows grows with each of them.
    whole
        For a figure of rows that belong together: whether these rows have all it needs.

    Examples
    --------
    >>> from zeroevidence.plot import KINDS
    >>> KINDS["ece"].together, KINDS["ece"].from_scores
    (True, True)
    """

    paint: Painter
    title: str
    place: int
    needs: str
    caption: str
    has: Callable[[Evaluation], bool]
    together: bool = True
    from_scores: bool = False
    parts: Callable[[Evaluation], Sequence[str]] | None = None
    height: float = HEIGHT
    height_of: Callable[[Sequence[Evaluation]], float] | None = None
    most: int | None = _MOST
    per_row: float = 0.0
    whole: Callable[[Sequence[Evaluation]], bool] | None = None

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.paint.__name__.replace("_", "-")

    @cached_property
    def options(self) -> Mapping[str, FigureOption]:
        """Options of the painter by name, in the order of its signature."""
        parameters = [
            item for item in inspect.signature(self.paint).parameters.values() if item.kind is item.KEYWORD_ONLY
        ]
        # Only of these: the annotation of the Axes cannot be looked up without matplotlib.
        annotated = SimpleNamespace(__annotations__={item.name: item.annotation for item in parameters})
        hints = get_type_hints(annotated, self.paint.__globals__, include_extras=True)
        options = {}
        for parameter in parameters:
            hint = hints[parameter.name]
            annotation, meaning = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, "")
            options[parameter.name] = FigureOption(parameter.name, annotation, parameter.default, meaning)
        return options

    @cached_property
    def function(self) -> FigureFunction:
        """The public function that draws results, with the painter's name, options and documentation."""

        def draw(results: Any, nontarget: Any = None, *, ax: Axes | None = None, **options: Any) -> Axes:
            self.check(options)
            if nontarget is not None and not self.from_scores:
                raise UsageError(
                    f"the figure {self.name!r} cannot be drawn from two arrays of scores; it needs {self.needs}"
                )
            need_matplotlib()
            rows = rows_with(self.name, as_rows(results, nontarget), options.get("name"))
            if not self.together and len(rows) > 1:
                raise UsageError(f"the figure {self.name!r} shows one result, got {len(rows)}; draw them one at a time")
            with style():
                axes = new_axes(ax, self.height)
                self.paint(rows if self.together else rows[0], axes, **options)
            return axes

        signature = inspect.Signature([item for item, _ in self._parameters()], return_annotation="Axes")
        draw.__name__ = draw.__qualname__ = self.paint.__name__
        draw.__module__ = self.paint.__module__
        draw.__signature__ = signature  # type: ignore[attr-defined]
        draw.__doc__ = self._documentation()
        draw.__annotations__ = {item.name: item.annotation for item in signature.parameters.values()}
        draw.__annotations__["return"] = signature.return_annotation
        return draw

    def _parameters(self) -> list[tuple[inspect.Parameter, str]]:
        """The parameters of the public function, each with its meaning."""
        either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        annotation = "Evaluation | Sequence[Evaluation]" + " | ArrayLike" * self.from_scores
        results = "A result of `evaluate`" + ", or several to share the axes" * self.together
        scores = "; or target scores, together with `nontarget`" * self.from_scores
        parameters = [(inspect.Parameter("results", either, annotation=annotation), f"{results}{scores}.")]
        if self.from_scores:
            nontarget = inspect.Parameter("nontarget", either, default=None, annotation="ArrayLike | None")
            meaning = "Non-target scores: a list, or an array of NumPy, polars, pandas or torch."
            parameters.append((nontarget, meaning))
        axes = inspect.Parameter("ax", keyword, default=None, annotation="Axes | None")
        parameters.append((axes, "Axes to draw on; a new figure, one column of a paper wide, unless given."))
        for option in self.options.values():
            item = inspect.Parameter(option.name, keyword, default=option.default, annotation=option.annotation)
            parameters.append((item, option.meaning))
        return parameters

    def _documentation(self) -> str:
        """The painter's docstring with what is needed, the parameters, and the examples at the end."""
        description, _, examples = inspect.cleandoc(self.paint.__doc__ or "").partition("\n\nExamples\n--------\n")
        lines = [description, "", f"Needs {self.needs}.", "", "Parameters", "----------"]
        for item, meaning in self._parameters():
            lines += [item.name, textwrap.fill(meaning, _WIDTH, initial_indent="    ", subsequent_indent="    ")]
        lines += ["", "Returns", "-------", "Axes", "    The Axes drawn on."]
        if examples:
            lines += ["", "Examples", "--------", examples.rstrip()]
        return "\n".join(lines) + "\n"

    def of(self, rows: Sequence[Evaluation]) -> list[Evaluation]:
        """Return the rows that the figure can be drawn of; none where together they lack something."""
        usable = [row for row in rows if self.has(row)]
        return usable if self.whole is None or self.whole(usable) else []

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise `UsageError` for an option that this kind does not take, or not with that value."""
        for name, value in options.items():
            if name not in self.options:
                takes = f"it takes {', '.join(self.options)}" if self.options else "it takes none"
                raise UsageError(f"the figure {self.name!r} has no option {name!r}; {takes}")
            self.options[name].check(value)


KINDS: Registry[FigureKind] = Registry(
    "kind of figure", package="zeroevidence.plot.kinds", order=lambda kind: (kind.place, kind.name)
)


def figure(title: str, **properties: Any) -> Callable[[Painter], FigureFunction]:
    """Register the painter below it as a `FigureKind` with these properties; it becomes the function that draws."""

    def register(paint: Painter) -> FigureFunction:
        kind = FigureKind(paint=paint, title=title, **properties)
        if taken := _COMMON_PARAMETERS & set(kind.options):
            raise ValueError(f"an option of {kind.name!r} cannot be called {min(taken)!r}")
        return KINDS.add(kind).function

    return register


def available(results: Results) -> list[str]:
    """Names of the figures that can be drawn of a result, or of at least one of several, in the order of the table.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> quick = Options(intervals=0, null=0)
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], labels={"system": "mine"}, options=quick)
    >>> "det" in available(result), "cmc" in available(result)
    (True, False)
    """
    rows = as_rows(results)
    return [name for name, kind in KINDS.items() if kind.of(rows)]


def rows_with(name: str, results: Results, part: str | None = None) -> list[Evaluation]:
    """Return the results that have what a kind of figure needs; an error lists the possible figures if none has.

    For a kind that draws one of several parts of a result, `part` names it.
    """
    candidates = as_rows(results)
    kind = KINDS.find(name)
    rows = kind.of(candidates)
    if not rows:
        possible = available(candidates)
        subject = "this result does" if len(candidates) == 1 else "these results do"
        alternatives = f"figures that can be drawn: {', '.join(possible)}" if possible else "no figure can be drawn"
        raise UsageError(f"the figure {name!r} needs {kind.needs}, which {subject} not have; {alternatives}")
    if kind.parts is None or part is None:
        return rows
    parts = dict.fromkeys(choice for row in rows for choice in kind.parts(row))
    if part not in parts:
        raise UsageError(f"name: expected one of {', '.join(parts)}, got {part!r}")
    return [row for row in rows if part in kind.parts(row)]

"""Options of a painter, and the signature and documentation of its figure.

A painter draws rows on Axes: ``paint(rows, ax, *, option=default)``. Its keyword-only parameters are the options of the
figure, annotated with their type and meaning: ``Annotated[Literal["a", "b"], "Which of the two to draw."]``.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from zeroevidence.errors import UsageError

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


def read_options(paint: Painter) -> dict[str, FigureOption]:
    """The options of a painter by name, in the order of its signature."""
    parameters = [item for item in inspect.signature(paint).parameters.values() if item.kind is item.KEYWORD_ONLY]
    # Only of these: the annotation of the Axes cannot be looked up without matplotlib.
    annotated = SimpleNamespace(__annotations__={item.name: item.annotation for item in parameters})
    hints = get_type_hints(annotated, paint.__globals__, include_extras=True)
    options = {}
    for parameter in parameters:
        hint = hints[parameter.name]
        annotation, meaning = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, "")
        options[parameter.name] = FigureOption(parameter.name, annotation, parameter.default, meaning)
    return options


def publish(
    function: Any,
    paint: Painter,
    options: Mapping[str, FigureOption],
    *,
    needs: str,
    together: bool,
    from_scores: bool,
) -> None:
    """Give the function that draws results the name of its painter, and a signature and documentation of its own."""
    function.__name__ = function.__qualname__ = paint.__name__
    function.__module__ = paint.__module__
    signature = function.__signature__ = _signature(options, from_scores=from_scores)
    function.__doc__ = _documentation(paint, options, needs=needs, together=together, from_scores=from_scores)
    function.__annotations__ = {item.name: item.annotation for item in signature.parameters.values()}
    function.__annotations__["return"] = signature.return_annotation


def _signature(options: Mapping[str, FigureOption], *, from_scores: bool) -> inspect.Signature:
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    results = "Evaluation | Sequence[Evaluation]"
    annotation = f"{results} | ArrayLike" if from_scores else results
    parameters = [inspect.Parameter("results", either, annotation=annotation)]
    if from_scores:
        parameters.append(inspect.Parameter("nontarget", either, default=None, annotation="ArrayLike | None"))
    parameters.append(inspect.Parameter("ax", keyword, default=None, annotation="Axes | None"))
    parameters += [
        inspect.Parameter(option.name, keyword, default=option.default, annotation=option.annotation)
        for option in options.values()
    ]
    return inspect.Signature(parameters, return_annotation="Axes")


def _documentation(
    paint: Painter, options: Mapping[str, FigureOption], *, needs: str, together: bool, from_scores: bool
) -> str:
    """The painter's docstring with what is needed, the parameters, and the examples at the end."""
    description, _, examples = inspect.cleandoc(paint.__doc__ or "").partition("\n\nExamples\n--------\n")
    results = "A result of `evaluate`, or several to share the axes" if together else "A result of `evaluate`"
    parameters = {
        "results": f"{results}; or target scores, together with `nontarget`." if from_scores else f"{results}."
    }
    if from_scores:
        parameters["nontarget"] = "Non-target scores: a list, or an array of NumPy, polars, pandas or torch."
    parameters["ax"] = "Axes to draw on; a new figure, one column of a paper wide, unless given."
    parameters |= {option.name: option.meaning for option in options.values()}
    lines = [description, "", f"Needs {needs}.", "", "Parameters", "----------"]
    for name, meaning in parameters.items():
        lines += [name, textwrap.fill(meaning, _WIDTH, initial_indent="    ", subsequent_indent="    ")]
    lines += ["", "Returns", "-------", "Axes", "    The Axes drawn on."]
    if examples:
        lines += ["", "Examples", "--------", examples.rstrip()]
    return "\n".join(lines) + "\n"

"""Where results go, in which format, and which of them decide the exit code."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from zeroevidence.cli.declare import Decorator, options_of, shared
from zeroevidence.cli.printing import echo, echo_lines
from zeroevidence.data.writing import refuse_existing, write_file
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, MeasureResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import FORMATS, render

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_MEASURED = r"([a-z_0-9]+)|bound\(\s*([a-z_0-9]+)\s*\)"
_FORM = re.compile(rf"\s*(?:{_MEASURED})\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")


def find_measures(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of measures, None where there are none; an unknown one is refused."""
    return tuple(MEASURES.find(name).name for name in names) or None


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go and in which format; an existing file is refused before any work.

    Parameters
    ----------
    format
        The format.
    path
        The file, None for standard output.
    overwrite
        Whether existing files are replaced.
    measures
        The measures to show, None for the usual ones.
    estimate
        Whether tables show the values corrected for few people.
    signatures
        Whether text tables end in the signatures of their rows.
    verbose
        Whether text holds everything.
    explain
        Whether text says what measures mean.
    """

    format: str = shared("--output-format", default=FORMATS[0])
    path: str | None = shared("--output", "standard output unless given", metavar="FILE")
    overwrite: bool = shared("--overwrite")
    measures: tuple[str, ...] | None = shared(
        "--measure", "JSON holds all [default: the usual ones]", parse=find_measures
    )
    estimate: bool = shared("--estimate")
    signatures: bool = shared("--signatures")
    verbose: bool = shared("--verbose", "all measures, and what flags say")
    explain: bool = shared("--explain")

    def __post_init__(self) -> None:
        self.reserve(self.path)

    def reserve(self, *paths: str | None) -> None:
        """Refuse further files that exist."""
        for path in paths:
            refuse_existing(path, self.overwrite)

    def emit(self, text: str) -> None:
        """Print a text, or write it to the file."""
        if self.path is None:
            echo_lines(text, rendered=self.format == "text")
        else:
            write_file(self.path, text, overwrite=self.overwrite)
            print_written(self.path)

    @property
    def shown(self) -> dict[str, Any]:
        """What tables of results show, as arguments of the functions that write these."""
        return {name: getattr(self, name) for name in ("measures", "estimate", "signatures")}

    def render(self, rows: Sequence[Evaluation]) -> str:
        """Return results in the format."""
        return render(rows, self.format, **self.shown, verbose=self.verbose, explain=self.explain)


def output_options(*names: str, formats: Sequence[str] = FORMATS, **changes: Any) -> Decorator:
    """Return the options -f, -o, --overwrite and those of other fields of `Output`, passed on as `output`.

    Parameters
    ----------
    names
        The other fields.
    formats
        The formats; the first is the default.
    changes
        As in `options_of`.
    """
    format_changes = {"type": click.Choice(formats), "default": formats[0], "callback": _choose_format}
    return options_of(Output, "output", "format", "path", "overwrite", *names, format=format_changes, **changes)


def _choose_format(context: click.Context, parameter: click.Parameter, format: str) -> str:
    """Return the format that is given, or else the one that the name of the file ends in."""
    ending = Path(context.params.get("output") or "").suffix.removeprefix(".")
    wanted = {"tex": "latex"}.get(ending, ending)
    is_given = context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
    return format if is_given or wanted not in FORMATS else wanted


@dataclass(frozen=True, slots=True)
class Gate:
    """A result as a condition of a build: a measure, or its limit for people like these, compared with a number.

    Parameters
    ----------
    name
        The measure.
    comparison
        ``>``, ``<``, ``>=`` or ``<=``.
    limit
        What it is compared with.
    on_bound
        Whether the bound of the measure is compared, and not its value.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], options=Options(intervals=0, null=0))
    >>> Gate.parse("eer>0.25").failures([result])
    ['gate failed: eer = 0.333333 > 0.25']
    >>> Gate.parse("eer<0.1").failures([result])
    []
    """

    name: str
    comparison: str
    limit: float
    on_bound: bool = False

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read ``name>limit`` or ``bound(name)>limit`` (or <, >=, <=)."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(
                f"--fail-if {text!r}: expected a measure or its bound, a comparison and a number, as 'lid_max>1.0' or "
                "'bound(d_ece)>0.5'"
            )
        value_of, bound_of, comparison, number = match.groups()
        name = MEASURES.find(value_of or bound_of).name
        try:
            return cls(name, comparison, float(number), bound_of is not None)
        except ValueError:
            raise UsageError(f"--fail-if {text!r}: {number!r} is not a number") from None

    @property
    def judged(self) -> str:
        """What is compared, as it was written."""
        return f"bound({self.name})" if self.on_bound else self.name

    def failures(self, rows: Sequence[Evaluation]) -> list[str]:
        """One line per row in which the condition holds, or whose numbers do not mean what they seem to.

        A row without the measure cannot pass unseen, nor can one with a fault, such as scores that point the wrong way.
        """
        lines = []
        for row in rows:
            name = row.labels.get("system", "")
            whose = f"{name}: " if name else ""
            number = self._number(row, name or "this result")
            if _OPERATORS[self.comparison](number, self.limit):
                lines.append(f"gate failed: {whose}{self.judged} = {number:.6g} {self.comparison} {self.limit:g}")
                continue
            faults = [flag.code for flag in row.flags if flag.severity == "fault"]
            if faults:
                lines.append(f"gate failed: {whose}{self.judged} cannot be judged because of {', '.join(faults)}")
        return lines

    def _number(self, row: Evaluation, whose: str) -> float:
        """The value or bound of a row; a row that lacks it is refused."""
        result = row.metrics.get(self.name)
        if result is None or result.value != result.value:
            raise UsageError(f"--fail-if: {whose} has no {self.name}")
        if result.number is None:
            raise UsageError(f"--fail-if: {self.name} is not a single number")
        if not self.on_bound:
            return result.number
        if result.bound is None or isnan(result.bound):
            raise UsageError(f"--fail-if: {whose} has no {self.judged}: {_why_unbounded(row, self.name, result)}")
        return result.bound


def _why_unbounded(row: Evaluation, name: str, result: MeasureResult) -> str:
    """Why a measure of a row has no bound."""
    if MEASURES[name].discloses == "none":
        return "the measure has no side on which an attacker learns more"
    if MEASURES[name].interval is None and result.low is None:
        return "the measure has no limit for other people, as a maximum has none"
    few = next((flag for flag in row.flags if flag.code == "no-intervals"), None)
    if few is not None:
        return few.sentence.rstrip(".")
    if row.setup.intervals is None:
        return "it was computed without intervals; expected --intervals of at least 2"
    return "its interval has no bound" if result.low is not None else "this measure has no interval here"


@dataclass(frozen=True, slots=True)
class Gates:
    """Conditions under which a command fails."""

    conditions: tuple[Gate, ...] = shared("--fail-if", default=(), parse=lambda texts: tuple(map(Gate.parse, texts)))

    def judge(self, rows: Sequence[Evaluation]) -> None:
        """Print the conditions that hold, and exit with 1 if any does."""
        failures = [line for gate in self.conditions for line in gate.failures(rows)]
        for line in failures:
            echo(line, err=True)
        if failures:
            sys.exit(1)


def print_written(path: str | Path) -> None:
    """Print that a file was written."""
    echo(f"wrote {path}", err=True)

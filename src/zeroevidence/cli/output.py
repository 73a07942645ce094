"""Where results go, in which format, and which of them decide the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.declare import Decorator, options_of, shared
from zeroevidence.cli.printing import echo, echo_lines
from zeroevidence.data.writing import refuse_existing
from zeroevidence.data.writing import write_atomically as write_silently
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.gate import Gate
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import FORMATS, render

if TYPE_CHECKING:
    import polars as pl


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
    """

    format: str = shared("--output-format", default=FORMATS[0])
    path: str | None = shared("--output", "standard output unless given", metavar="FILE")
    overwrite: bool = shared("--overwrite")
    measures: tuple[str, ...] | None = shared(
        "--measure", "JSON holds all [default: the usual ones]", parse=find_measures
    )
    estimate: bool = shared("--estimate")
    signatures: bool = shared("--signatures")

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
            write_text(text, self.path)

    def render(self, rows: Sequence[Evaluation]) -> str:
        """Return results in the format."""
        return render(rows, self.format, signatures=self.signatures, measures=self.measures, estimate=self.estimate)


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
    format_changes = {"type": click.Choice(formats), "default": formats[0]}
    return options_of(Output, "output", "format", "path", "overwrite", *names, format=format_changes, **changes)


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


def write_text(text: str, path: str | Path) -> None:
    """Write a text to a file."""
    write_atomically(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def write_frame(frame: pl.DataFrame, path: str) -> None:
    """Write a table as Parquet where the name of the file says so, as CSV otherwise."""
    from zeroevidence.report.people import write_table

    write_table(frame, path)
    print_written(path)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically, and print its name."""
    write_silently(path, write)
    print_written(path)


def print_written(path: str | Path) -> None:
    """Print that a file was written."""
    echo(f"wrote {path}", err=True)

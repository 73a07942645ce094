"""Options that say where results go and in which format, and the writing of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import Decorator, option_group
from zeroevidence.cli.printing import echo, echo_lines
from zeroevidence.data.writing import refuse_existing
from zeroevidence.data.writing import write_atomically as write_silently
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import FORMATS, render

if TYPE_CHECKING:
    import polars as pl

    from zeroevidence.evaluation import Evaluation


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
    signatures
        Whether text tables end in the signatures of their rows.
    measures
        The measures to show, None for the usual ones.
    estimate
        Whether tables show the values corrected for few people.
    """

    format: str
    path: str | None
    overwrite: bool
    signatures: bool = False
    measures: tuple[str, ...] | None = None
    estimate: bool = False

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


def _find_measures(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of measures, None where there are none; an unknown one is refused."""
    return tuple(MEASURES.find(name).name for name in names) or None


def measure_option(detail: str = "JSON holds all [default: the usual ones]") -> Decorator:
    """Return the option --measure, passed on as `measures`."""
    return shared.measure(detail, name="measures", callback=_find_measures)


def output_to(*more: Decorator, formats: Sequence[str] = FORMATS) -> Decorator:
    """Return the options -f, -o, --overwrite and others, passed on as `output`; the first format is the default."""
    return option_group(
        "output",
        Output,
        shared.output_format(name="format", type=click.Choice(formats), default=formats[0]),
        shared.output("standard output unless given", name="path", metavar="FILE"),
        shared.overwrite(),
        *more,
    )


output_options = output_to(shared.signatures())
table_options = output_to(measure_option(), shared.signatures())
evaluation_options = output_to(measure_option(), shared.estimate(), shared.signatures())


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

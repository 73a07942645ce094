"""Where results go: standard output, or a file that is written whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options.declare import Decorator, grouped
from zeroevidence.data.files.writing import refuse_existing
from zeroevidence.data.files.writing import write_atomically as written_whole
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import FORMATS, render

if TYPE_CHECKING:
    import polars as pl

    from zeroevidence.evaluation import Evaluation
    from zeroevidence.uncertainty.resampling.draws import Progress

__all__ = [
    "Output",
    "emit",
    "emit_table",
    "measure_option",
    "output_options",
    "overwrite_option",
    "refuse_existing",
    "signatures_option",
    "table_options",
    "terminal_progress",
    "write_atomically",
]


@dataclass(frozen=True, slots=True)
class Output:
    """In which format results are wanted, and where; a file that is in the way is refused before any work.

    Parameters
    ----------
    format
        The format.
    path
        The file, None for standard output.
    overwrite
        Whether files that exist are replaced.
    signatures
        Whether text tables end in the lines that make their numbers reproducible.
    measures
        The measures to show, None for the usual ones.
    """

    format: str
    path: str | None
    overwrite: bool
    signatures: bool = False
    measures: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self.reserve(self.path)

    def reserve(self, *paths: str | None) -> None:
        """Refuse further files that are in the way."""
        for path in paths:
            refuse_existing(path, self.overwrite)

    def emit(self, text: str) -> None:
        """Print, or write to the file."""
        emit(text, self.path)

    def rendered(self, rows: Sequence[Evaluation]) -> str:
        """Results in the format."""
        return render(rows, self.format, signatures=self.signatures, measures=self.measures)


overwrite_option = click.option("--overwrite", is_flag=True, help="Replace the output file if it exists.")
signatures_option = click.option(
    "--signatures", is_flag=True, help="Print the signature of each row below text tables."
)


def _known_measures(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names, refused where one is unknown; None where there are none."""
    return tuple(MEASURES.find(name).name for name in names) or None


measure_option = click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    callback=_known_measures,
    help="Measure to show; repeat for several [default: the usual ones]. JSON holds all.",
)


def output_to(*more: Decorator, formats: Sequence[str] = FORMATS, help: str = "Output format.") -> Decorator:
    """The options ``-f``, ``-o``, ``--overwrite`` and more, handed over as `output`; the first format is usual."""
    return grouped(
        "output",
        _output,
        click.option(
            "-f", "--output-format", type=click.Choice(formats), default=formats[0], show_default=True, help=help
        ),
        click.option("-o", "--output", "path", metavar="FILE", help="Write to FILE instead of standard output."),
        overwrite_option,
        *more,
    )


def _output(
    output_format: str,
    path: str | None,
    overwrite: bool,
    signatures: bool = False,
    measures: tuple[str, ...] | None = None,
) -> Output:
    return Output(output_format, path, overwrite, signatures, measures)


output_options = output_to(signatures_option)
table_options = output_to(measure_option, signatures_option)


def terminal_progress(what: str, units: str = "replicates") -> Progress | None:
    """A line on the terminal that counts what is done; nothing where standard error is not one."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        end = "\r" if done < total else "\r\033[K"
        click.echo(f"\r{what}: {done} of {total} {units}{end}", err=True, nl=False)

    return show


def emit(text: str, output: str | None) -> None:
    """Print, or write to a file."""
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(Path(output), lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def emit_table(frame: pl.DataFrame, output: str) -> None:
    """Write a table as Parquet where the name says so, as CSV otherwise."""
    from zeroevidence.report.trial_tables import write_table

    write_table(frame, output)
    wrote(output)


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write atomically, and say so."""
    written_whole(path, write)
    wrote(path)


def wrote(path: str | Path) -> None:
    """Say what was written."""
    click.echo(f"wrote {path}", err=True)

"""Options that say where results go and in which format, and the writing of files."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeroevidence.cli.options import shared
from zeroevidence.cli.options.declare import Decorator, option_group
from zeroevidence.cli.printing import echo, echo_lines, echo_progress
from zeroevidence.data.writing import refuse_existing
from zeroevidence.data.writing import write_atomically as write_silently
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import FORMATS, render

if TYPE_CHECKING:
    import polars as pl

    from zeroevidence.evaluation import Evaluation
    from zeroevidence.uncertainty.groups import Progress


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


class _Minutes:
    """What a command is doing, and the times at which it began and was last shown."""

    def __init__(self) -> None:
        self.since = self.began = self.shown = time.monotonic()
        self.state = ""

    def passed(self) -> bool:
        """Return whether a minute has passed since this was last true."""
        now = time.monotonic()
        if now - self.since < _MINUTE:
            return False
        self.since = now
        return True


_MINUTE = 60.0  # seconds
_SECOND = 1.0
_QUIET = 3.0  # seconds without progress after which a terminal shows the time
_minutes = _Minutes()


def _minutes_of_command() -> _Minutes:
    """Return the state of the command that is running, that of the process where there is none."""
    context = click.get_current_context(silent=True)
    if context is None:
        return _minutes
    minutes: _Minutes = context.meta.setdefault(__name__, _Minutes())
    return minutes


@contextmanager
def working(what: str) -> Iterator[None]:
    """Print what a command does, and again while its parts print nothing.

    A terminal shows in one line for how long it has been working; elsewhere there is at least one line a minute.

    Parameters
    ----------
    what
        What it does, such as "auditing speech"; without names of files, which messages about them have.
    """
    echo(what, err=True)
    minutes, done = _minutes_of_command(), threading.Event()
    minutes.state = what
    watcher = threading.Thread(target=_watch, args=(minutes, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(minutes: _Minutes, done: threading.Event) -> None:
    """Print what a command is doing whenever nothing else was printed for a while."""
    printed = False
    while not done.wait(_SECOND):
        seconds = time.monotonic() - minutes.began
        if not sys.stderr.isatty():
            if minutes.passed():
                echo(f"{minutes.state} ({seconds / _MINUTE:.0f} min so far)", err=True)
        elif time.monotonic() - minutes.shown >= _QUIET:
            echo_progress(f"{minutes.state} ({seconds:.0f} s so far)", last=False)
            printed = True
    if printed:
        echo_progress("", last=True)


def terminal_progress(what: str, units: str = "replicates") -> Progress:
    """Return a function that counts finished work in a line of the terminal; elsewhere it prints a line a minute."""
    minutes = _minutes_of_command()

    def show(done: int, total: int) -> None:
        text = minutes.state = f"{what}: {done} of {total} {units}"
        minutes.shown = time.monotonic()
        if sys.stderr.isatty():
            echo_progress(text, last=done >= total)
        elif minutes.passed():
            echo(text, err=True)

    return show


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

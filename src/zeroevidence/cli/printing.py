"""Printing, without control characters from names of files and people: results, progress and problems."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager

import click

from zeroevidence.data.printable import printable
from zeroevidence.errors import InputError, OutputError, Problem


def echo(text: object, *, err: bool = False, heading: str = "") -> None:
    """Print one line without control characters; a name with a line end in it does not begin another.

    Parameters
    ----------
    text
        The line.
    err
        Whether it goes to standard error.
    heading
        Stands before the line, in bold.
    """
    before, line = (printable(part).replace("\n", "\ufffd") for part in (heading, str(text)))
    _print(f"{click.style(before, bold=True)}{line}" if before else line, err=err)


def echo_lines(text: str, *, rendered: bool = False) -> None:
    """Print several lines to standard output.

    Parameters
    ----------
    text
        The lines, as they are: their last has its own end.
    rendered
        Whether this is text of a report, whose names are escaped already, and which may have colours.
    """
    as_it_is = rendered or not sys.stdout.isatty()  # programs read what files would hold
    _print(text if as_it_is else printable(text), nl=False)


def echo_usage(error: click.ClickException) -> None:
    """Print what click says about wrong arguments."""
    text = io.StringIO()
    error.show(text)
    _print(printable(text.getvalue()), err=True, nl=False)


def echo_progress(text: str, *, last: bool) -> None:
    """Print a line of the terminal that the next one replaces; the last one vanishes."""
    end = "\r\033[K" if last else "\r"
    _print(f"\r{printable(text)}{end}", err=True, nl=False)


def _print(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text; results that cannot be printed are an error, but messages that cannot change no exit code."""
    try:
        click.echo(text, err=err, nl=nl)
    except OSError as error:
        discard(2 if err else 1)
        if not err:
            raise OutputError(error) from None


def discard(stream: int) -> None:
    """Discard what is still to be printed to a stream; Python would try again at exit, and exit with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def prepare_streams() -> None:
    """Let standard output take every character: UTF-8 where the locale is ASCII, a question mark in other encodings."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            ascii_only = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="replace")


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


def terminal_progress(title: str, units: str) -> Callable[[int, int], None]:
    """Return a function that counts finished work in a line of the terminal; elsewhere it prints a line a minute."""
    minutes = _minutes_of_command()

    def show(done: int, total: int) -> None:
        text = minutes.state = f"{title}: {done} of {total} {units}"
        minutes.shown = time.monotonic()
        if sys.stderr.isatty():
            echo_progress(text, last=done >= total)
        elif minutes.passed():
            echo(text, err=True)

    return show


_MOST_ALIKE = 10  # complaints that differ in places and values alone, and are printed one by one
_VALUES = re.compile(r"'(?:[^'\\]|\\.)*'|[0-9]+")


def print_problems(problems: Sequence[object], limit: int, path: str | None = None, *, noun: str = "") -> int:
    """Print problems up to a limit, or that a file has none, and return how many there are.

    Of complaints that are alike in all but their lines and values, and more than ten, the first is printed with their
    number.
    """
    groups: dict[Hashable, list[object]] = {}
    for problem in problems:
        groups.setdefault(_kind(problem), []).append(problem)
    lines = list[tuple[str, int]]()  # with the number of problems that each stands for
    for problem in problems:
        alike = groups[_kind(problem)]
        if len(alike) <= _MOST_ALIKE:
            lines.append((str(problem), 1))
        elif problem is alike[0]:
            lines.append((f"{problem} (and {len(alike) - 1} more like it{_last(alike)})", len(alike)))
    for line, _ in lines[:limit]:
        echo(line)
    shown = sum(number for _, number in lines[:limit])
    if len(problems) > shown:
        echo(f"... and {len(problems) - shown} more{noun} (--limit)")
    if not problems and path is not None:
        echo(f"{path}: ok")
    return len(problems)


def _kind(problem: object) -> Hashable:
    """Return what problems have in common that differ in their lines and values alone."""
    if not isinstance(problem, Problem):
        return str(problem)
    return problem.path, _VALUES.sub("", problem.reason)


def _last(problems: Sequence[object]) -> str:
    """Return where the last of some problems is, where it has a line."""
    last = problems[-1]
    return f", up to line {last.line}" if isinstance(last, Problem) and last.line is not None else ""


def exit_if_problems(count: int) -> None:
    """Exit with the code of bad input if there are problems."""
    if count:
        echo(f"{count} problem{'s' if count > 1 else ''} found", err=True)
        sys.exit(InputError.exit_code)

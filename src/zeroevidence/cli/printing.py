"""Printing, without control characters from names of files and people."""

from __future__ import annotations

import codecs
import io
import sys

import click

from zeroevidence.data.printable import printable


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
    click.echo(f"{click.style(before, bold=True)}{line}" if before else line, err=err)


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
    click.echo(text if as_it_is else printable(text), nl=False)


def echo_usage(error: click.ClickException) -> None:
    """Print what click says about wrong arguments."""
    text = io.StringIO()
    error.show(text)
    click.echo(printable(text.getvalue()), err=True, nl=False)


def echo_progress(text: str, *, last: bool) -> None:
    """Print a line of the terminal that the next one replaces; the last one vanishes."""
    end = "\r\033[K" if last else "\r"
    click.echo(f"\r{printable(text)}{end}", err=True, nl=False)


def prepare_streams() -> None:
    """Let standard output take every character: UTF-8 where the locale is ASCII, a question mark in other encodings."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            ascii_only = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="replace")

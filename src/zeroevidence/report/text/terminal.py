"""Paragraphs for a terminal: as wide as it is, wrapped between words, plain where the output is no terminal.

Nothing is wider than the terminal but signatures, which must stay whole to be of use.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from zeroevidence.data.printable import printable
from zeroevidence.evaluation.rows.flags import Severity
from zeroevidence.report.layout.flags import RaisedFlag
from zeroevidence.report.layout.formatting import one_line

PLAIN_WIDTH = 100  # where the output is no terminal and COLUMNS does not say otherwise
UNBROKEN = "\u00a0"  # a blank at which lines are not broken
_JOINTS = re.compile(r"(?<=[+/_:,-])(?=[^\W\d_])")  # a word begins behind them, so that numbers stay whole
_NARROWEST = 40  # no table is readable in less; a terminal that is narrower breaks lines itself
_STYLES: dict[Severity, str] = {"fault": "red", "warning": "yellow", "note": "dim"}


def terminal_console() -> Console:
    """A console that writes into memory: with colours where the output is a terminal, plain characters elsewhere."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _plain_width()
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=max(width, _NARROWEST),
        no_color="NO_COLOR" in os.environ or not terminal,
        highlight=False,
    )


def _plain_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else PLAIN_WIDTH


def console_text(console: Console) -> str:
    """The text that a console from `terminal_console` holds, without blanks at the ends of lines."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def wrap(text: str, width: int) -> list[str]:
    """Lines that are at most `width` wide, broken at line ends and between words; longer words break at their joints.

    Examples
    --------
    >>> wrap("a weak attack is no privacy", 10)
    ['a weak', 'attack is', 'no privacy']
    >>> wrap("mcadams:0.8+pitch:2", 12)
    ['mcadams:0.8+', 'pitch:2']
    """
    lines = (line for part in text.split("\n") for line in _filled(_words(part, width), " ", width))
    return [line.replace(UNBROKEN, " ") for line in lines]


def _words(text: str, width: int) -> Iterator[str]:
    for word in text.split(" "):
        if cell_len(word) > width:
            parts = (part for piece in split_at_joints(word) for part in chop_cells(piece, width))
            yield from _filled(parts, "", width)
        elif word:
            yield word


def split_at_joints(word: str) -> list[str]:
    """The parts of a name between which it may be broken: after signs that join words."""
    return _JOINTS.split(word)


def _filled(parts: Iterable[str], separator: str, width: int) -> list[str]:
    """Parts in lines, as many in each as fit."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}{separator}{part}" if lines[-1] else part
        if lines[-1] and cell_len(longer) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


def print_line(console: Console, text: str, style: str = "") -> None:
    """Print a line, however long."""
    console.print(Text(printable(text), style=style), soft_wrap=True)


def print_paragraph(console: Console, text: str, *, style: str = "", first: str = "", indent: int = 0) -> None:
    """Print a paragraph: `first` stands before its first line, blanks before the others."""
    for number, line in enumerate(wrap(printable(text), console.width - max(indent, cell_len(first)))):
        print_line(console, f"{'' if number else first:<{indent}}{line}", style)


def print_labels(console: Console, labels: Mapping[str, str]) -> None:
    """Print ``name: value`` of each label, broken between labels rather than within."""
    parts = (line for name, value in labels.items() for line in wrap(one_line(f"{name}: {value}"), console.width))
    for line in _filled(parts, "  ", console.width) if labels else ():
        print_line(console, line, "bold")


def print_flags(console: Console, flags: Sequence[RaisedFlag]) -> None:
    """Print warnings."""
    for raised in flags:
        severity = raised.flag.severity
        text = f"{raised.name}: {raised.flag.sentence}"
        print_paragraph(console, text, style=_STYLES[severity], first=severity, indent=len("warning") + 2)


def print_signatures(console: Console, signatures: Sequence[str], *, each: bool, joint: str = "") -> None:
    """Print signatures, each in one line so that it can be copied.

    Parameters
    ----------
    console
        Where to.
    signatures
        One for each result.
    each
        Whether several signatures are printed one by one.
    joint
        What stands for several of them otherwise.
    """
    if each or len(signatures) == 1:
        for signature in signatures:
            print_line(console, signature, "dim")
    elif joint:
        print_paragraph(console, f"{joint} (all: --signatures)", style="dim")
    elif signatures:
        print_paragraph(console, f"--signatures shows the {len(signatures)} signatures", style="dim")

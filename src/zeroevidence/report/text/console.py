"""Lines for a terminal: as wide as it is, wrapped between words, plain where the output is no terminal."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

from zeroevidence.evaluation.rows.printable import printable

PLAIN_WIDTH = 100  # where the output is no terminal and COLUMNS does not say otherwise
UNBROKEN = "\u00a0"  # a blank at which lines are not broken
_JOINTS = re.compile(r"(?<=[+/_:,-])(?=[^\W\d_])")  # behind them a word begins, so that numbers stay whole
_NARROWEST = 40  # no table is readable in less; a terminal that is narrower breaks lines itself


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
    wanted = os.environ.get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else PLAIN_WIDTH


def written(console: Console) -> str:
    """What a console from `terminal_console` holds, without blanks at the ends of lines."""
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def wrapped(text: str, width: int) -> list[str]:
    """Lines that are at most `width` wide, broken at line ends and between words; longer words break at their joints.

    Examples
    --------
    >>> wrapped("a weak attack is no privacy", 10)
    ['a weak', 'attack is', 'no privacy']
    >>> wrapped("mcadams:0.8+pitch:2", 12)
    ['mcadams:0.8+', 'pitch:2']
    """
    lines = (line for part in text.split("\n") for line in _flowing(_words(part, width), " ", width))
    return [line.replace(UNBROKEN, " ") for line in lines]


def _words(text: str, width: int) -> Iterator[str]:
    for word in text.split(" "):
        if cell_len(word) > width:
            parts = (part for joint in joints(word) for part in chop_cells(joint, width))
            yield from _flowing(parts, "", width)
        elif word:
            yield word


def joints(word: str) -> list[str]:
    """The parts of a name between which it may be broken: after signs that join words."""
    return _JOINTS.split(word)


def _flowing(parts: Iterable[str], between: str, width: int) -> list[str]:
    """Parts in lines, as many in each as fit."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}{between}{part}" if lines[-1] else part
        if lines[-1] and cell_len(longer) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


def say(console: Console, text: str, *, style: str = "", first: str = "", indent: int = 0) -> None:
    """Print a paragraph: `first` stands before its first line, blanks before the others."""
    for number, line in enumerate(wrapped(printable(text), console.width - max(indent, cell_len(first)))):
        _line(console, Text(f"{' ' * indent if number else first:<{indent}}{line}", style=style))


def say_labels(console: Console, labels: dict[str, str]) -> None:
    """Print ``name: value`` of each label, broken between labels rather than within."""
    told = (line for name, value in labels.items() for line in wrapped(f"{name}: {value}", console.width))
    if labels:
        say_lines(console, (Text(line, style="bold") for line in _flowing(told, "  ", console.width)))


def say_lines(console: Console, lines: Iterable[Text]) -> None:
    """Print lines that were made to fit."""
    for line in lines:
        _line(console, line)


def say_signatures(console: Console, signatures: Sequence[str], *, all_of_them: bool, joint: str = "") -> None:
    """Print signatures, each in one line so that it can be copied; of several, unless asked, what leads to them."""
    if all_of_them or len(signatures) == 1:
        say_lines(console, (Text(printable(one), style="dim") for one in signatures))
    elif joint:
        say(console, f"{joint} (all: --signatures)", style="dim")
    elif signatures:
        say(console, f"--signatures shows the {len(signatures)} signatures", style="dim")


def _line(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True)

"""Tables and paragraphs on a terminal, plain where the output is none.

Numbers and intervals stay whole, names break between words, and names of more than 20 letters at their joints. A table
that is too wide even so is turned, its rows becoming columns; columns for which there is no room then continue in
further tables below. So nothing is shortened and nothing is left out. An interval stands beside its value where the
whole table has room for that, and below it elsewhere; so do sentences on rows. Nothing is wider than the terminal but
signatures, which must stay whole to be of use.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from rich.box import Box
from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from zeroevidence.data.printable import printable
from zeroevidence.evaluation.rows.flags import Severity
from zeroevidence.report.layout import UNBROKEN, RaisedFlag, one_line
from zeroevidence.report.table import Sheet, Table, Tables

PLAIN_WIDTH = 100  # where the output is no terminal and COLUMNS does not say otherwise
_JOINTS = re.compile(r"(?<=[+/_:,-])(?=[^\W\d_])")  # a word begins behind them, so that numbers stay whole
_NARROWEST = 40  # no table is readable in less; a terminal that is narrower breaks lines itself
_STYLES: dict[Severity, str] = {"fault": "red", "warning": "yellow", "note": "dim"}


def terminal_console() -> Console:
    """A console that writes into memory: with colours where the output is a terminal, plain characters elsewhere."""
    terminal = sys.stdout.isatty()
    columns = os.environ.get("COLUMNS", "")
    plain_width = int(columns) if columns.isdecimal() and int(columns) > 0 else PLAIN_WIDTH
    width = shutil.get_terminal_size().columns if terminal else plain_width
    return Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=max(width, _NARROWEST),
        no_color="NO_COLOR" in os.environ or not terminal,
        highlight=False,
    )


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


def _print_line(console: Console, text: str, style: str = "") -> None:
    """Print a line, however long."""
    console.print(Text(printable(text), style=style), soft_wrap=True)


def _print_paragraph(console: Console, text: str, *, style: str = "", first: str = "", indent: int = 0) -> None:
    """Print a paragraph: `first` stands before its first line, blanks before the others."""
    for number, line in enumerate(wrap(printable(text), console.width - max(indent, cell_len(first)))):
        _print_line(console, f"{'' if number else first:<{indent}}{line}", style)


def _print_signatures(console: Console, content: Tables, *, each: bool) -> None:
    """Print signatures, each in one line so that it can be copied; unless `each` is asked for, what stands for many."""
    signatures = content.signatures
    if each or len(signatures) == 1:
        for signature in signatures:
            _print_line(console, signature, "dim")
    elif content.joint:
        _print_paragraph(console, f"{content.joint} (all: --signatures)", style="dim")
    elif signatures:
        _print_paragraph(console, f"--signatures shows the {len(signatures)} signatures", style="dim")


_GAP = 2
_LONG = 20  # letters of a name that may be broken at its joints
_SENTENCE = 60  # width from which sentences stand beside the numbers
_RULES = Box("    \n    \n    \n    \n ── \n    \n    \n    \n")  # a rule below headings, and no other lines
_UNITS = re.compile(r" (?=%)|(?<=\[)[^\]]*(?=\])")  # blanks at which headings are not broken


def tables_to_text(content: Tables, *, signatures: bool = False) -> str:
    """Return tables with what stands around them; each of several `signatures` only where asked to."""
    console = terminal_console()
    for block in content.blocks:
        if isinstance(block, Table):
            _print_table(console, block)
        elif isinstance(block, RaisedFlag):
            severity, text = block.flag.severity, f"{block.name}: {block.flag.sentence}"
            _print_paragraph(console, text, style=_STYLES[severity], first=severity, indent=len("warning") + 2)
        elif isinstance(block, str):
            _print_paragraph(console, block or " ", indent=len(block) - len(block.lstrip(" ")))
        elif block:  # labels, broken between them rather than within
            parts = (
                line for name, value in block.items() for line in wrap(one_line(f"{name}: {value}"), console.width)
            )
            for line in _filled(parts, "  ", console.width):
                _print_line(console, line, "bold")
    _print_signatures(console, content, each=signatures)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def _widths(sheet: Sheet, *, whole: bool) -> list[int]:
    """The room that each column needs, with whole names or with names broken.

    Headings above numbers are broken between words in either case.
    """
    widths = []
    for place, column in enumerate(zip(*sheet.rows, strict=True)):
        needed = [
            max(map(cell_len, cell.split("\n")))
            if sheet.is_number(row, place) or (whole and (sheet.turned or row >= sheet.n_head))
            else max(map(cell_len, _unbreakable(cell)))
            for row, cell in enumerate(column)
        ]
        widths.append(max(needed))
    return widths


def _unbreakable(name: str) -> list[str]:
    """The parts of a name that stand in one line: its words, and of a long word the parts between its joints."""
    parts = (split_at_joints(word) if cell_len(word) > _LONG else [word] for word in name.split(" "))
    return [part for word_parts in parts for part in word_parts]


def _print_table(console: Console, table: Table) -> None:
    """Print a table by the rule above, and a blank line after it."""
    sheet = Sheet.of(table).numbered(table.numbers)
    headings = tuple(_UNITS.sub(lambda match: match[0].replace(" ", UNBROKEN), text) for text in sheet.rows[0])
    title, sentences, beside = table.title, _sentences(table), False
    for part, widths in _fitting(replace(sheet, rows=(headings, *sheet.rows[1:])), console.width):
        if title:
            _print_paragraph(console, title, style="bold")
            console.print()
            title = f"{table.title}, continued"
        room = console.width - _total(widths) - _GAP
        beside = bool(sentences) and not part.turned and room >= _SENTENCE
        if beside:
            texts = ("what it means", *(sentence for _, sentence in sentences))
            rows = tuple((*row, text) for row, text in zip(part.rows, texts, strict=True))
            _draw(console, replace(part, rows=rows), [*widths, room], n_right=len(widths))
        else:
            _draw(console, part, widths, n_right=len(widths))
        console.print()
    if sentences and not beside:
        for name, sentence in sentences:
            for number, line in enumerate(wrap(f"{name}: {sentence}", console.width - _GAP) if sentence else ()):
                _print_line(console, f"{' ' * _GAP if number else ''}{line}", "dim")
        console.print()


def _sentences(table: Table) -> list[tuple[str, str]]:
    """The name of each row with the sentence on it, the same once; none where no row has one."""
    pairs = [(row[0].text, row[0].note) for row in table.cells] if table.n_names else []
    if not any(note for _, note in pairs):
        return []
    return [(name, "" if (name, note) in pairs[:place] else note) for place, (name, note) in enumerate(pairs)]


def _fitting(upright: Sheet, width: int) -> Iterator[tuple[Sheet, list[int]]]:
    """The table as it fits, with the widths of its columns: upright, turned, or turned and in parts."""
    turned = upright.transposed()
    for sheet, whole, flat in product((upright, turned), (True, False), (True, False)):
        candidate = sheet.flat() if flat else sheet
        widths = _widths(candidate, whole=whole)
        if _total(widths) <= width:
            yield candidate, _grown(candidate, widths, width)
            return
    widths = _widths(turned, whole=False)
    names, left = list(range(turned.n_names)), list(range(turned.n_names, len(widths)))
    while left:
        count = next((n for n in range(len(left), 1, -1) if _total([widths[i] for i in names + left[:n]]) <= width), 1)
        part = turned.columns(names + left[:count])
        yield part, _grown(part, [widths[i] for i in names + left[:count]], width)
        left = left[count:]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _grown(sheet: Sheet, widths: Sequence[int], width: int) -> list[int]:
    """The widths with the room that is left, given to columns whose names and headings are broken."""
    room, grown = width - _total(widths), list(widths)
    longest = [
        max(cell_len(line) for cell in column for line in cell.split("\n")) for column in zip(*sheet.rows, strict=True)
    ]
    while room > 0 and (broken := [i for i, least in enumerate(grown) if least < longest[i]]):
        for place in broken[:room]:
            grown[place] += 1
        room -= len(broken)
    return grown


def _draw(console: Console, sheet: Sheet, widths: Sequence[int], *, n_right: int) -> None:
    """Draw a table; the columns from `n_names` to `n_right` are numbers, which stand at the right."""
    drawn = RichTable(box=_RULES, show_header=False, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for place, width in enumerate(widths):
        right = sheet.n_names <= place < n_right
        drawn.add_column(width=width, no_wrap=True, justify="right" if right else "left")
    for number, row in enumerate(sheet.rows):
        cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        height, head = max(map(len, cells)), number < sheet.n_head
        if head and not sheet.turned:  # headings stand on the rule
            cells = [[""] * (height - len(lines)) + lines for lines in cells]
        texts = [Text(printable("\n".join(lines))) for lines in cells]
        for place, text in enumerate(texts):
            if sheet.is_number(number, place) and place < n_right and "\n" in text.plain:
                text.stylize("dim", text.plain.index("\n"))
        drawn.add_row(*texts, style="bold" if head else None, end_section=number == sheet.n_head - 1)
    console.print(drawn, width=_total(widths), crop=False)

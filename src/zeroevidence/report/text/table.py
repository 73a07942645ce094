"""Tables on a terminal, drawn by `rich.table`, with one rule for those that do not fit.

The rule: numbers and intervals stay whole, names break between words, and names of more than 20 letters at their
joints. A table that is too wide even so is turned, its rows becoming columns; columns for which there is no room then
continue in further tables below. So nothing is shortened and nothing is left out.

An interval stands beside its value where the whole table has room for that, and below it elsewhere. Sentences on rows
stand beside them where there is room, and below the table elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zeroevidence.data.printable import printable
from zeroevidence.report.layout.formatting import one_line
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.text.terminal import UNBROKEN, print_line, print_paragraph, split_at_joints, wrap

_GAP = 2
_LONG = 20  # letters of a name that may be broken at its joints
_SENTENCE = 60  # width from which sentences stand beside the numbers
_RULES = Box("    \n    \n    \n    \n ── \n    \n    \n    \n")  # a rule below headings, and no other lines
_UNITS = re.compile(r" (?=%)|(?<=\[)[^\]]*(?=\])")  # blanks at which headings are not broken


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Cells by row: the first `n_head` rows are headings, the first `n_text` columns names, the others numbers."""

    rows: tuple[tuple[str, ...], ...]
    n_head: int
    n_text: int
    turned: bool = False

    def is_number(self, row: int, column: int) -> bool:
        return row >= self.n_head and column >= self.n_text

    def transposed(self) -> _Sheet:
        return _Sheet(tuple(zip(*self.rows, strict=True)), self.n_text, self.n_head, turned=True)

    def flat(self) -> _Sheet:
        """The same with each interval beside its value."""
        rows = tuple(tuple(cell.replace("\n", " ") for cell in row) for row in self.rows)
        return replace(self, rows=rows)

    def columns(self, places: Sequence[int]) -> _Sheet:
        return replace(self, rows=tuple(tuple(row[place] for place in places) for row in self.rows))

    def widths(self, *, whole: bool) -> list[int]:
        """The room that each column needs, with whole names or with names broken.

        Headings above numbers are broken between words in either case.
        """
        widths = []
        for place, column in enumerate(zip(*self.rows, strict=True)):
            needed = [
                max(map(cell_len, cell.split("\n")))
                if self.is_number(row, place) or (whole and (self.turned or row >= self.n_head))
                else max(map(cell_len, _unbreakable(cell)))
                for row, cell in enumerate(column)
            ]
            widths.append(max(needed))
        return widths


def _unbreakable(name: str) -> list[str]:
    """The parts of a name that stand in one line: its words, and of a long word the parts between its joints."""
    parts = (split_at_joints(word) if cell_len(word) > _LONG else [word] for word in name.split(" "))
    return [part for word_parts in parts for part in word_parts]


def print_grid(console: Console, grid: Grid) -> None:
    """Print a table by the rule above, and a blank line after it."""
    title, beside = grid.title, False
    for sheet, widths in _fitting(_sheet(grid), console.width):
        if title:
            print_paragraph(console, title, style="bold")
            console.print()
            title = f"{grid.title}, continued"
        room = console.width - _total(widths) - _GAP
        beside = bool(grid.sentences) and not sheet.turned and room >= _SENTENCE
        if beside:
            texts = ("what it means", *grid.sentences)
            sheet = replace(sheet, rows=tuple((*row, text) for row, text in zip(sheet.rows, texts, strict=True)))
            widths = [*widths, room]
        _draw(console, sheet, widths, n_right=len(widths) - beside)
        console.print()
    if grid.sentences and not beside:
        _print_sentences(console, grid)


def _sheet(grid: Grid) -> _Sheet:
    headings = tuple(
        _UNITS.sub(lambda match: match[0].replace(" ", UNBROKEN), one_line(text)) for text in grid.headings
    )
    body = [(*map(one_line, row[: grid.n_text]), *row[grid.n_text :]) for row in grid.body]
    rows = [headings, *body]
    if grid.numbers:
        rows = [(number, *row) for number, row in zip(("#", *map(str, grid.numbers)), rows, strict=True)]
    return _Sheet(tuple(rows), 1, grid.n_text + bool(grid.numbers))


def _fitting(upright: _Sheet, width: int) -> Iterator[tuple[_Sheet, list[int]]]:
    """The table as it fits, with the widths of its columns: upright, turned, or turned and in parts."""
    turned = upright.transposed()
    for sheet, whole, flat in product((upright, turned), (True, False), (True, False)):
        candidate = sheet.flat() if flat else sheet
        widths = candidate.widths(whole=whole)
        if _total(widths) <= width:
            yield candidate, _grown(candidate, widths, width)
            return
    widths = turned.widths(whole=False)
    names, left = list(range(turned.n_text)), list(range(turned.n_text, len(widths)))
    while left:
        count = next((n for n in range(len(left), 1, -1) if _total([widths[i] for i in names + left[:n]]) <= width), 1)
        part = turned.columns(names + left[:count])
        yield part, _grown(part, [widths[i] for i in names + left[:count]], width)
        left = left[count:]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _grown(sheet: _Sheet, widths: Sequence[int], width: int) -> list[int]:
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


def _draw(console: Console, sheet: _Sheet, widths: Sequence[int], *, n_right: int) -> None:
    """Draw a table; the columns from `n_text` to `n_right` are numbers, which stand at the right."""
    table = Table(box=_RULES, show_header=False, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for place, width in enumerate(widths):
        right = sheet.n_text <= place < n_right
        table.add_column(width=width, no_wrap=True, justify="right" if right else "left")
    for number, row in enumerate(sheet.rows):
        cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        height, head = max(map(len, cells)), number < sheet.n_head
        if head and not sheet.turned:  # headings stand on the rule
            cells = [[""] * (height - len(lines)) + lines for lines in cells]
        texts = [Text(printable("\n".join(lines))) for lines in cells]
        for place, text in enumerate(texts):
            if sheet.is_number(number, place) and place < n_right and "\n" in text.plain:
                text.stylize("dim", text.plain.index("\n"))
        table.add_row(*texts, style="bold" if head else None, end_section=number == sheet.n_head - 1)
    console.print(table, width=_total(widths), crop=False)


def _print_sentences(console: Console, grid: Grid) -> None:
    for row, sentence in zip(grid.body, grid.sentences, strict=True):
        for number, line in enumerate(wrap(f"{row[0]}: {sentence}", console.width - _GAP) if sentence else ()):
            print_line(console, f"{' ' * _GAP if number else ''}{line}", "dim")
    console.print()

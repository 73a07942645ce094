"""Columns that fit a width: numbers and intervals stay whole, and no name is shortened.

Cells may be broken at their line ends. `arranged` tries one way after the other to give the columns room: cells in one
line, cells broken, labels wrapped, labels in one column, and as a last resort long names broken at their joints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text

from zeroevidence.report.text.console import joints, wrapped

GAP = 2
_AIM = 2  # columns of numbers that a table should show at least
_LINES = 2  # of a heading, and of a label that is wrapped
_ANY = 1000  # lines: as many as it takes
_LONG = 20  # letters of a name that may be broken at its joints
_SHORTEST = 12  # room for labels in one column at least


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and the cell of each row; numbers stand at the right, and a tall heading may take many lines."""

    heading: str
    cells: tuple[str, ...]
    right: bool = False
    tall: bool = False

    def flat(self) -> Column:
        """The same with each cell in one line."""
        return replace(self, cells=tuple(cell.replace("\n", " ") for cell in self.cells))

    @property
    def widest(self) -> int:
        """Room for cells that are broken at their line ends only, under a heading of a few lines."""
        lines = [line for cell in self.cells for line in cell.split("\n")]
        words = [cell_len(joint) for word in _words(self.heading) for joint in joints(word)]
        return max([max(words, default=1) if self.tall else narrowest([self.heading], _LINES), *map(cell_len, lines)])


def narrowest(texts: Sequence[str], lines: int) -> int:
    """The smallest width at which each text takes at most so many lines, and only long names are broken."""
    parts = (part for text in texts for word in _words(text) for part in _parts(word, lines))
    width = max(map(cell_len, parts), default=1)
    while any(len(wrapped(text, width)) > lines + text.count("\n") for text in texts):
        width += 1
    return width


def _words(text: str) -> list[str]:
    return text.replace("\n", " ").split(" ")


def _parts(word: str, lines: int) -> list[str]:
    """What of a word must stand in one line: the whole of it, unless it is long and there may be several lines."""
    return joints(word) if lines > 1 and cell_len(word) > _LONG else [word]


@dataclass(frozen=True, slots=True)
class Arranged:
    """Columns with their widths. Of the columns of numbers only the first `fitting` are among them.

    `joined` says that several labels had to stand in one column.
    """

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    fitting: int
    joined: bool = False

    @property
    def width(self) -> int:
        """Of the whole table."""
        return sum(self.widths) + GAP * (len(self.widths) - 1)


def numbered(numbers: Sequence[int]) -> list[Column]:
    """The column of the rows' numbers, where they have some."""
    return [Column("#", tuple(map(str, numbers)), right=True)] if numbers else []


def arranged(
    lead: Sequence[Column], labels: Sequence[Column], numbers: Sequence[Column], width: int, *, aim: int = _AIM
) -> Arranged:
    """The layout with the most columns of numbers; among equals, the one with the shortest rows.

    Parameters
    ----------
    lead, labels
        Columns that are always there; only labels are wrapped and joined.
    numbers
        Columns of which the first are shown, as many as fit.
    aim
        How many of these a table should show before labels are joined.
    """
    return _with_headings(_best(lead, labels, numbers, width, min(aim, len(numbers))), width)


def _best(
    lead: Sequence[Column], labels: Sequence[Column], numbers: Sequence[Column], width: int, aim: int
) -> Arranged:
    flat = [column.flat() for column in numbers]
    natural, two_lines, by_word = (_widths(labels, lines) for lines in (1, _LINES, _ANY))
    ways = [_fitted(lead, labels, widths, some, width) for some in (flat, numbers) for widths in (natural, two_lines)]
    best = max(ways, key=lambda one: one.fitting)
    if best.fitting >= aim or not labels:
        return best
    way = _fitted(lead, labels, by_word, numbers, width)
    return way if way.fitting >= aim else _together(lead, labels, numbers, width, aim)


def _with_headings(table: Arranged, width: int) -> Arranged:
    """The same with headings in one line, as long as there is room."""
    left, widths = width - table.width, []
    for column, own in zip(table.columns, table.widths, strict=True):
        more = 0 if column.tall else max(cell_len(column.heading) - own, 0)
        more = more if more <= left else 0
        widths.append(own + more)
        left -= more
    return replace(table, widths=tuple(widths))


def _widths(columns: Sequence[Column], lines: int) -> list[int]:
    return [max(narrowest(one.cells, lines), narrowest([one.heading], max(lines, _LINES))) for one in columns]


def _fitted(
    lead: Sequence[Column],
    labels: Sequence[Column],
    widths: Sequence[int],
    numbers: Sequence[Column],
    width: int,
    least: int = 0,
) -> Arranged:
    """As many of the numbers' columns as the others leave room for, but at least so many."""
    columns, taken = (*lead, *labels), (*(one.widest for one in lead), *widths)
    found = Arranged(columns, taken, 0)
    for fitting, column in enumerate(numbers, 1):
        columns, taken = (*columns, column), (*taken, column.widest)
        longer = Arranged(columns, taken, fitting)
        if longer.width > width and fitting > least:
            break
        found = longer
    return found


def _together(
    lead: Sequence[Column], labels: Sequence[Column], numbers: Sequence[Column], width: int, aim: int
) -> Arranged:
    """Labels in one column that leaves room for the first columns of numbers; longer words break at their joints."""
    used = sum(one.widest + GAP for one in lead)
    rooms = (width - used - sum(one.widest + GAP for one in numbers[:wanted]) for wanted in (aim, 1))
    room = next((room for room in rooms if room >= _SHORTEST), _SHORTEST)
    rows = zip(*(one.cells for one in labels), strict=True)
    joined = Column(
        ", ".join(one.heading for one in labels), tuple(", ".join(text for text in texts if text) for texts in rows)
    )
    found = _fitted(lead, [joined], [min(room, *_widths([joined], 1))], numbers, width, 1)
    return replace(found, joined=len(labels) > 1)


def drawn(table: Arranged, below: Sequence[Sequence[str]] = ()) -> Iterator[Text]:
    """The lines of a table; those of `below` follow each row."""
    yield from _row(table, [column.heading for column in table.columns], heading=True)
    yield Text("─" * table.width)
    for number, cells in enumerate(zip(*(column.cells for column in table.columns), strict=True)):
        yield from _row(table, cells)
        for line in below[number] if below else ():
            yield Text(line, style="dim")


def _row(table: Arranged, cells: Sequence[str], *, heading: bool = False) -> Iterator[Text]:
    parts = [wrapped(cell, width) for cell, width in zip(cells, table.widths, strict=True)]
    height = max(map(len, parts))
    for number in range(height):
        line = Text()
        for column, width, part in zip(table.columns, table.widths, parts, strict=True):
            line.append(" " * GAP if len(line) else "")
            at = number - (height - len(part)) if heading else number  # headings stand on the rule
            text = part[at] if 0 <= at < len(part) else ""
            blanks = " " * (width - cell_len(text))
            style = "bold" if heading else "dim" if column.right and at > 0 else ""
            line.append(f"{blanks}{text}" if column.right else f"{text}{blanks}", style=style)
        yield line

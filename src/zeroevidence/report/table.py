"""One table of columns and rows of typed cells, which text, Markdown, LaTeX, CSV and HTML write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, inf, isnan, log10
from typing import TypeAlias

from zeroevidence.evaluation import Evaluation, MeasureResult
from zeroevidence.evaluation.rows.measure_result import Column, Value
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout import RaisedFlag, chance_value, interval, number, one_line, title, unit_sign
from zeroevidence.uncertainty.level import percent


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as tables show it.

    Parameters
    ----------
    value
        Text, a number, or numbers by name; None where there is nothing to show.
    unit
        Unit of a measure, by which numbers are written.
    low
        Lower end of the interval, which stands beside the value or below it.
    high
        Upper end of the interval.
    format
        How a number is written, as Python's `format` takes it; by its unit unless given.
    note
        What stands in the place of an interval. That of the first cell is a sentence on what the row is about: a page
        has it below the name, a terminal beside the numbers or below the table.
    order
        What a page sorts by; the value unless given.

    Examples
    --------
    >>> Cell(0.25, "rate", 0.2, 0.31).flat, Cell(0.25, format=".1f").flat
    ('25.00 [20.00, 31.00]', '0.2')
    """

    value: Value | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    format: str = ""
    note: str = ""
    order: float | None = None

    @property
    def text(self) -> str:
        """The value alone; several values as `key: value` with commas between."""
        if self.value is None:
            return ""
        if isinstance(self.value, Mapping):
            return ", ".join(f"{key}: {number(part, self.unit)}" for key, part in self.value.items())
        return number(self.value, self.unit, self.format)

    @property
    def below(self) -> str:
        """The interval, or the note in its place."""
        return interval(self.low, self.high, self.unit, self.format) or self.note

    def fitted(self) -> Cell:
        """Return the cell with as many digits as its interval supports: two of those that the ends differ by.

        Examples
        --------
        >>> Cell(0.1663, "rate", 0.1213, 0.2102).fitted().flat, Cell(1.23456, "bit", 1.2, 1.25).fitted().flat
        ('16.6 [12.1, 21.0]', '1.235 [1.200, 1.250]')
        """
        if self.format or self.low is None or self.high is None or not 0.0 < self.high - self.low < inf:
            return self
        most, scale = (2, 100.0) if self.unit == "rate" else (4, 1.0)
        digits = 1 - floor(log10(scale * (self.high - self.low)) + 1e-9)  # 0.3 - 0.2 is a little less than 0.1
        return replace(self, format=f"z.{min(max(digits, 0), most)}f")  # z: no minus before 0

    @property
    def flat(self) -> str:
        """The value with its interval beside it."""
        return f"{self.text} {self.below}".rstrip()

    @property
    def sort_key(self) -> str:
        """The number at full precision that a page sorts by; empty for text."""
        key = self.value if self.order is None else self.order
        return repr(key) if isinstance(key, (int, float)) and not isnan(key) else ""


# of one place in a table: a value that needs nothing beside it stands for itself
Content: TypeAlias = Cell | Value | None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows.

    Parameters
    ----------
    columns
        Those of names first, then those of numbers.
    rows
        Contents of the cells.
    title
        Stands above the table; empty for none.
    numbers
        Those of the rows, where something refers to them.
    parts
        Titles within the table, by the row that they stand above.
    strong
        The row that a page emphasises.
    further
        Rows that a page shows on demand.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Content, ...], ...]
    title: str = ""
    numbers: tuple[int, ...] = ()
    parts: Mapping[int, str] = field(default_factory=dict)
    strong: int | None = None
    further: frozenset[int] = frozenset()

    @classmethod
    def of(cls, *columns: tuple[Column, Sequence[Content]], title: str = "", numbers: Sequence[int] = ()) -> Table:
        """Make a table of columns with their contents."""
        rows = tuple(zip(*(contents for _, contents in columns), strict=True))
        return cls(tuple(column for column, _ in columns), rows, title, tuple(numbers))

    @classmethod
    def of_records(cls, records: Sequence[Mapping[str, Content]], columns: Iterable[Column] = ()) -> Table:
        """Make a table of records: those of the columns that any of them has, one for each name unless given."""
        names = dict.fromkeys(name for record in records for name in record)
        declared = tuple(columns) or map(numbers_column, names)
        shown = tuple(column for column in declared if column.name in names or not records)
        return cls(shown, tuple(tuple(record.get(column.name) for column in shown) for record in records))

    @property
    def n_names(self) -> int:
        """How many of the first columns are names."""
        return sum(column.format == "text" for column in self.columns)

    @property
    def cells(self) -> list[list[Cell]]:
        """The cells by row."""
        return [[content if isinstance(content, Cell) else Cell(content) for content in row] for row in self.rows]

    def choose(self, places: Sequence[int]) -> Table:
        """Return the table with only these rows, in this order."""
        numbers = tuple(self.numbers[place] for place in places) if self.numbers else ()
        return replace(self, rows=tuple(self.rows[place] for place in places), numbers=numbers)


Block: TypeAlias = Table | RaisedFlag | Mapping[str, str] | str


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables and what stands around them.

    Parameters
    ----------
    blocks
        Tables, warnings, labels and paragraphs as they follow each other; blanks before a paragraph indent it, and an
        empty one is a blank line of text.
    signatures
        One for each result.
    joint
        What stands in text for several signatures.
    """

    blocks: Sequence[Block]
    signatures: Sequence[str] = ()
    joint: str = ""


def names_column(title: str, description: str = "") -> Column:
    """A column of names, which stand at the left."""
    return Column(title, title, "text", description=description)


def numbers_column(title: str, description: str = "", *, unit: str = "") -> Column:
    """A column of numbers, which stand at the right."""
    return Column(title, title, description=description, unit=unit)


def measure_column(name: str, more: str = "", description: str = "") -> Column:
    """The column of a measure: its title, and more, with its unit."""
    unit = unit_sign(MEASURES[name].unit) if name in MEASURES else ""
    return Column(name, f"{title(name)}{more}", description=description, unit=unit)


def label_columns(labels: Mapping[str, Sequence[str]]) -> list[tuple[Column, Sequence[str]]]:
    """Columns of labels with their texts."""
    return [(names_column(label), texts) for label, texts in labels.items()]


def measure_columns(
    rows: Sequence[Evaluation], names: Iterable[str], *, estimate: bool = False
) -> list[tuple[Column, list[Cell]]]:
    """The columns of measures; with `estimate` those that have one in some row are followed by it."""
    columns = []
    for name in names:
        results = [row.metrics.get(name) for row in rows]
        columns.append((measure_column(name), list(map(result_cell, results))))
        estimates = list(map(estimate_cell, results))
        if estimate and any(cell.value is not None for cell in estimates):
            columns.append((measure_column(name, " estimate"), estimates))
    return columns


def result_cell(result: MeasureResult | None) -> Cell:
    """The value of a measure with its interval."""
    return Cell() if result is None else Cell(result.value, result.unit, result.low, result.high)


def estimate_cell(result: MeasureResult | None) -> Cell:
    """The value corrected for few people."""
    return Cell() if result is None else Cell(result.estimate, result.unit)


def null_cell(row: Evaluation, name: str, *, brief: bool = False) -> Cell:
    """The measure when nothing leaks: mean and quantile of the null, or the value that guessing gives.

    Where it is `brief`, the heading says which quantile.
    """
    result = row.metrics.get(name)
    if result is None:
        return Cell()
    if result.null is None:
        return Cell(chance_value(row, name), result.unit)
    level = "" if brief else f"{percent(row.setup.level)}: "
    return Cell(result.null.mean, result.unit, note=f"({level}{number(result.null.quantile, result.unit)})")


ADJUSTED = "adjusted p"  # heading
ADJUSTED_NOTE = (
    "p is adjusted over the table: how often chance alone shows as much in any measure of any row, by permutation."
)


def p_cell(p_value: float | None) -> Cell:
    """A p-value with two digits."""
    return Cell(p_value, format=".2g")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as text: the first `n_head` rows are headings, the first `n_names` columns names, the others numbers.

    A line end in a cell says where it may be broken.
    """

    rows: tuple[tuple[str, ...], ...]
    n_head: int
    n_names: int
    turned: bool = False

    @classmethod
    def of(cls, table: Table, write: Callable[[Cell], str] = lambda cell: f"{cell.text}\n{cell.below}") -> Sheet:
        """Make the sheet of a table, without the numbers of its rows; `write` writes cells that are no names."""
        names = table.n_names
        body = (
            tuple(one_line(cell.text) if place < names else write(cell).rstrip("\n") for place, cell in enumerate(row))
            for row in table.cells
        )
        return cls((tuple(one_line(column.heading) for column in table.columns), *body), 1, names)

    def numbered(self, numbers: Sequence[int]) -> Sheet:
        """Return the same with the numbers of rows before them, where there are any."""
        if not numbers:
            return self
        rows = ((number, *row) for number, row in zip(("#", *map(str, numbers)), self.rows, strict=True))
        return replace(self, rows=tuple(rows), n_names=self.n_names + 1)

    def is_number(self, row: int, column: int) -> bool:
        """Whether a cell is no heading and no name."""
        return row >= self.n_head and column >= self.n_names

    def transposed(self) -> Sheet:
        """Return the same with rows as columns."""
        return Sheet(tuple(zip(*self.rows, strict=True)), self.n_names, self.n_head, turned=True)

    def flat(self) -> Sheet:
        """Return the same with each interval beside its value."""
        return replace(self, rows=tuple(tuple(cell.replace("\n", " ") for cell in row) for row in self.rows))

    def columns(self, places: Sequence[int]) -> Sheet:
        """Return only these columns."""
        return replace(self, rows=tuple(tuple(row[place] for place in places) for row in self.rows))

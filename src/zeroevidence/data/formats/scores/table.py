"""Tables whose columns have names: text with a header, or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import PARQUET, InputFile, load_parquet
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.layout import ColumnNames, Layout, Lines, Role
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, FirstLines, ScoreFormat
from zeroevidence.errors import InputError

_NAME = "table"
_NAMES = {
    **dict.fromkeys(("enrol", "enroll", "enrolment", "enrollment", "enrol_id", "enroll_id"), "enrol"),
    **dict.fromkeys(("enrolment_id", "enrollment_id", "model"), "enrol"),
    **dict.fromkeys(("trial", "trial_id", "test", "utterance", "utterance_id"), "trial"),
    **dict.fromkeys(("enrol_speaker", "enroll_speaker", "enrolment_speaker", "enrollment_speaker"), "enrol_speaker"),
    "trial_speaker": "trial_speaker",
    **dict.fromkeys(("score", "scores", "llr"), "score"),
    **dict.fromkeys(("label", "labels", "target", "is_target"), "label"),
}
_SEPARATORS = (",", ";", "\t")
_ENDINGS = ("score", "label")  # of the names of columns that may hold them, such as sasv_label


def header_layout(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a first line that names at least two known columns and holds no number."""
    number, line = lines[0]
    for separator, cells in _splits(line):
        # Between blanks `target` is rather the label of a trial than the name of a column.
        known = {_NAMES.get(cell.lower(), "") for cell in cells if separator != " " or cell.lower() not in text.LABELS}
        like = {ending for ending in _ENDINGS for cell in cells if cell.lower().endswith(ending)}
        if len((known | like) - {""}) >= 2 and not any(map(text.is_number, cells)):
            return Layout(_NAME, column_meanings(cells, name, number), separator, number, tuple(cells))
    return None


def unknown_layout(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a table of whose columns hardly any is known, for messages to name them; None for others.

    Numbers stand below a name, and no name stands below itself, as it would if the first line were a line like others.
    """
    number, line = lines[0]
    for separator in _SEPARATORS:
        cells = text.split(line, separator)
        if isinstance(cells, str) or len(cells) < 2 or any(map(text.is_number, cells)) or len(set(cells)) < len(cells):
            continue
        rows = [row for _, line in lines[1:] if isinstance(row := text.split(line, separator), list)]
        columns = list(zip(*(row for row in rows if len(row) == len(cells)), strict=True))
        numeric = any(2 * sum(map(text.is_number, column)) >= len(lines) - 1 > 0 for column in columns)
        if numeric and not any(cell in column for cell, column in zip(cells, columns, strict=True)):
            return Layout(_NAME, column_meanings(cells, name, number), separator, number, tuple(cells))
    return None


def named_layout(lines: Lines, name: str, names: ColumnNames) -> Layout:
    """Return the layout of a table of which some columns are named by the user.

    Raises
    ------
    InputError
        When the first line has no such columns.
    """
    number, line = lines[0]
    splits = list(_splits(line))
    for separator, cells in splits:
        if set(names.given.values()) <= set(cells):
            return Layout(_NAME, column_meanings(cells, name, number, names), separator, number, tuple(cells))
    widest = max((cells for _, cells in splits), key=len, default=[])
    raise InputError(_lacking(names, widest), path=name, line=number)


def column_meanings(
    cells: Sequence[str], name: str, line: int | None, names: ColumnNames | None = None
) -> tuple[str, ...]:
    """Return what the columns of a table hold: by the names given, by known names, or by how their names end.

    The plain name of a column wins over its aliases, and these over names that only end like one.

    Raises
    ------
    InputError
        When two columns claim the same meaning, or one that was named is not there.
    """
    given = {} if names is None else names.given
    if missing := [column for column in given.values() if column not in cells]:
        raise InputError(_lacking(ColumnNames(missing[0]), cells), path=name, line=line)
    lower = [cell.strip().lower() for cell in cells]
    meaning = [_NAMES.get(cell, "") for cell in lower]
    for ending in _ENDINGS:
        if ending not in meaning:
            meaning = [
                before or (ending if cell.endswith(ending) else "") for before, cell in zip(meaning, lower, strict=True)
            ]
    for column, title in given.items():
        meaning = [
            column if cell == title else "" if before == column else before
            for before, cell in zip(meaning, cells, strict=True)
        ]
    for column in {column for column in meaning if column}:
        at = [i for i, other in enumerate(meaning) if other == column]
        plain = [i for i in at if lower[i] == column]
        if len(at) > 1 and len(plain) != 1:
            both = " and ".join(repr(cells[i]) for i in at)
            advice = f", or --{column}-column with the name of one" if column in _ENDINGS else ""
            raise InputError(f"columns {both} both mean {column}; expected one{advice}", path=name, line=line)
        for i in at:
            if len(at) > 1 and i != plain[0]:
                meaning[i] = ""
    return tuple(meaning)


def _splits(line: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the separators of tables with the cells that they make of a line."""
    for separator in (*_SEPARATORS, " "):
        cells = text.split(line, separator)
        if not isinstance(cells, str):
            yield separator, cells


def _lacking(names: ColumnNames, cells: Sequence[str]) -> str:
    wanted = next(name for name in names.given.values() if name not in cells)
    return f"no column named {wanted!r}; expected one of {', '.join(map(repr, filter(None, cells)))}"


def read_parquet(file: InputFile, _role: Role, names: ColumnNames | None = None) -> Table:
    """Return the table of a Parquet file; "line" in its problems is the row, counted from 1.

    Parameters
    ----------
    file
        The file.
    _role
        Whether it should hold scores or a key.
    names
        Names of columns that the user gave.

    Raises
    ------
    InputError
        When the file is broken or a column has a type that cannot hold what it should.
    """
    raw = load_parquet(file)
    meaning = column_meanings(raw.columns, file.name, None, names)
    frame = raw.select(pl.col(column).alias(name) for column, name in zip(raw.columns, meaning, strict=True) if name)
    if raw.is_empty():
        raise InputError("empty; expected one trial per row", path=file.name)
    problems = FileProblems(file.name)
    frame = frame.with_columns(_convert(frame[column], file.name, problems) for column in frame.columns)
    rows = np.arange(1, len(frame) + 1)
    return Table(file.name, _NAME, frame, rows, tuple(problems.all()), tuple(raw.columns))


def _convert(column: pl.Series, name: str, problems: FileProblems) -> pl.Series:
    if column.dtype.is_nested() or column.dtype == pl.Binary or column.dtype == pl.Object:
        raise InputError(f"column {column.name} is of type {column.dtype}; expected plain values", path=name)
    if column.name == "score":
        if not column.dtype.is_numeric():
            raise InputError(f"column score is of type {column.dtype}; expected numbers", path=name)
        scores = column.cast(pl.Float64)
        for row in scores.is_nan().fill_null(True).arg_true():
            problems.add(row + 1, f"score {column[row]} is not finite; expected a finite number")
        return scores
    cells = column.cast(pl.String)
    if column.name == "label":
        if column.dtype == pl.Boolean:
            cells = column.replace_strict({True: "target", False: "nontarget"}, default=None, return_dtype=pl.String)
        labels = cells.replace_strict(text.LABELS, default=None, return_dtype=pl.Boolean)
        for row in labels.is_null().arg_true():
            problems.add(row + 1, f"unknown label {cells[row]!r}; {text.LABELS_EXPECTED}")
        return labels
    if column.name.endswith("speaker"):
        return cells.fill_null("")
    for row in (cells.is_null() | (cells == "")).arg_true():
        problems.add(row + 1, f"empty {column.name}; expected an identifier")
    return cells.fill_null("")


SCORE_FORMATS.add(
    ScoreFormat(
        name=_NAME,
        description="table with named columns: CSV, TSV or text with a header, Parquet",
        text=FirstLines(header_layout, lacking="no header; expected column names such as enrol,trial,score,label"),
        binary=Binary((PARQUET,), read_parquet),
        place=50,
    )
)

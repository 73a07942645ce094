"""Tables whose columns have names: text with a header, or Parquet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import PARQUET, InputFile, load_parquet
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.layout import Layout, Lines, Role
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
    **dict.fromkeys(("score", "scores"), "score"),
    **dict.fromkeys(("label", "labels"), "label"),
}


def header_layout(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a first line that names at least two known columns and holds no number."""
    number, line = lines[0]
    for separator in (",", "\t", " "):
        cells = text.split(line, separator)
        if isinstance(cells, str):
            continue
        columns = {_NAMES.get(cell.lower(), "") for cell in cells} - {""}
        if len(columns) >= 2 and not any(map(text.is_number, cells)):
            return Layout(_NAME, _columns_by_name(cells, name, number), separator, number)
    return None


def _columns_by_name(cells: Sequence[str], name: str, line: int | None) -> tuple[str, ...]:
    """Return the columns of a table by their names; the plain name wins over its aliases.

    Raises
    ------
    InputError
        When two columns claim the same meaning.
    """
    meaning = [_NAMES.get(cell.strip().lower(), "") for cell in cells]
    for column in {column for column in meaning if column}:
        at = [i for i, other in enumerate(meaning) if other == column]
        plain = [i for i in at if cells[i].strip().lower() == column]
        if len(at) > 1 and len(plain) != 1:
            both = " and ".join(repr(cells[i]) for i in at)
            raise InputError(f"columns {both} both mean {column}; expected one", path=name, line=line)
        for i in at:
            if len(at) > 1 and i != plain[0]:
                meaning[i] = ""
    return tuple(meaning)


def read_parquet(file: InputFile, _role: Role) -> Table:
    """Return the table of a Parquet file; "line" in its problems is the row, counted from 1.

    Raises
    ------
    InputError
        When the file is broken or a column has a type that cannot hold what it should.
    """
    raw = load_parquet(file)
    meaning = _columns_by_name(raw.columns, file.name, None)
    frame = raw.select(pl.col(column).alias(name) for column, name in zip(raw.columns, meaning, strict=True) if name)
    if frame.is_empty():
        raise InputError("empty; expected one trial per row", path=file.name)
    problems = FileProblems(file.name)
    frame = frame.with_columns(_convert(frame[column], file.name, problems) for column in frame.columns)
    rows = np.arange(1, len(frame) + 1)
    return Table(file.name, _NAME, frame, rows, True, tuple(problems.all()))


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

"""One file of scores or labels as a table: by the reader of its format, or by columns."""

from __future__ import annotations

import polars as pl

from zeroevidence.data.formats.input_file import PARQUET, TEXT, InputFile
from zeroevidence.data.formats.scores.reading.detect import detect
from zeroevidence.data.formats.scores.reading.layout import HEAD, ColumnNames, Layout, Role, first_text, sample_lines
from zeroevidence.data.formats.scores.reading.line_reader import read_text
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.scores.score_format import AUTO, SCORE_FORMATS, FirstLines, binary_format
from zeroevidence.data.formats.scores.table import named_layout, read_parquet
from zeroevidence.errors import InputError, Problem


def read_table(
    file: InputFile,
    role: Role,
    asked: str,
    names: ColumnNames,
    problems: list[Problem],
    *,
    key: Table | None = None,
) -> Table | None:
    """Return one file as a table, None where that is impossible.

    Parameters
    ----------
    file
        The file.
    role
        Whether it should hold scores or a key.
    asked
        The format that the user named, or "auto".
    names
        Names of columns that the user gave.
    problems
        Receives what makes a table impossible.
    key
        The key of these scores, where there is one.
    """
    try:
        format = binary_format(file, asked)
        kind = file.kind if format is None else format.kind(file)
        if format is not None and format.binary is None:
            raise InputError(f"is a {format.files} {kind} file; expected the {role} of single trials", path=file.name)
        expected = format if asked == AUTO else SCORE_FORMATS[asked]
        if expected is not None and format is not expected and (format is not None or not expected.text):
            raise InputError(f"is a {kind} file; expected {expected.files}", path=file.name)
        if names.given and (kind not in (TEXT, PARQUET.name) or asked not in (AUTO, "table")):
            raise InputError(f"is a {kind} file; expected a table whose columns have names", path=file.name)
        if names.given and kind == PARQUET.name:
            return read_parquet(file, role, names)
        if format is not None and format.binary is not None:
            return format.binary.read(file, role)
        return _text_table(file, role, asked, names, key)
    except InputError as error:
        problems.append(error.problem)
        return None


def _text_table(file: InputFile, role: Role, asked: str, names: ColumnNames, key: Table | None) -> Table:
    """Return a text file as a table, by the reader of its format or by columns."""
    layout = _layout(file, role, asked, names, key)
    text = SCORE_FORMATS[layout.format].text
    if isinstance(text, FirstLines) and text.read is not None:
        return text.read(file.read(), file.name, role)
    return read_text(file, layout)


def _layout(file: InputFile, role: Role, asked: str, names: ColumnNames, key: Table | None) -> Layout:
    def matches(enrol: list[str], trial: list[str]) -> bool:
        if key is None or not (key.has("enrol") and key.has("trial")):
            return False
        pairs = pl.DataFrame({"enrol": enrol, "trial": trial})
        pairs = pairs.cast({column: key.frame[column].dtype for column in pairs.columns}, strict=False)
        return not pairs.join(key.frame, on=["enrol", "trial"], how="semi").is_empty()

    if names.given:
        return named_layout(sample_lines(first_lines(file), file.name), file.name, names)
    return detect(first_lines(file), file.name, role, forced=asked, matches=matches)


def first_lines(file: InputFile) -> bytes:
    """Return as much of a file as its layout shows in: all of it where it begins with many blank lines."""
    head = file.head(2 * HEAD)
    return head if len(head) < HEAD or first_text(head) < HEAD else file.read()

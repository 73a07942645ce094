"""Columns of a score file, and the table of its rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from zeroevidence._typing import BoolArray, IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.loaded_scores import POSITIVE_RATIO, LlrUnit, natural_llrs
from zeroevidence.errors import InputError, Problem

SAMPLE = 1000
HEAD = text.LONGEST_LINE  # bytes that lines are sampled from

# Single trials and their key; of a tandem, scores and keys of the countermeasure and of the verifier behind it.
Role = Literal["scores", "key", "cm", "asv", "cm_key", "asv_key"]
TANDEM_ROLES: tuple[Role, ...] = ("cm", "asv", "cm_key", "asv_key")
Lines: TypeAlias = list[tuple[int, str]]
_UNITS: dict[str, LlrUnit] = {
    **dict.fromkeys(("lr", "likelihoodratio"), "lr"),
    "lnlr": "ln",
    "log10lr": "log10",
    "log2lr": "log2",
}


def column_unit(title: str) -> LlrUnit | None:
    """Return the unit of likelihood ratios that a column is called by; None for other names.

    Examples
    --------
    >>> [column_unit(title) for title in ("LR", "log10_LR", "log10(LR)", "score", "llr")]
    ['lr', 'log10', 'log10', None, None]
    """
    return _UNITS.get(re.sub(r"[\W_]", "", title.lower()))


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of columns of a table, where they are given; None where they are to be recognised.

    Parameters
    ----------
    score
        The column of scores.
    label
        The column of labels, in the key where there is one.
    trial
        Columns that tell trials apart, beside the names of both sides.
    """

    score: str | None = None
    label: str | None = None
    trial: tuple[str, ...] = ()

    def of(self, role: Role, *, with_key: bool) -> ColumnNames:
        """Return the names that concern the scores or the key; a key has the labels."""
        if role == "key":
            return replace(self, score=None)
        return replace(self, label=None) if with_key else self

    @property
    def given(self) -> dict[str, str]:
        """The names by what the columns hold."""
        named = {meaning: name for meaning in ("score", "label") if (name := getattr(self, meaning)) is not None}
        return named | {f"trial:{name}": name for name in self.trial}

    def whole_trials(self, table: Table) -> Table:
        """Return the table with what tells trials apart in their names."""
        parts = [f"trial:{name}" for name in self.trial]
        if not parts:
            return table
        names = [pl.col(part).cast(pl.String) for part in ("trial", *parts) if table.has(part)]
        return replace(table, frame=table.frame.with_columns(trial=pl.concat_str(names, separator=":")).drop(parts))


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a text file.

    Parameters
    ----------
    format
        The format that it is in.
    columns
        What each column holds; "" is ignored.
    separator
        What separates columns; a blank stands for any run of blanks and tabs.
    header
        The line of the header, None where there is none.
    titles
        What the header calls the columns, where it is that of a table.
    commas
        Whether numbers have decimal commas.
    """

    format: str
    columns: tuple[str, ...]
    separator: str = " "
    header: int | None = None
    titles: tuple[str, ...] = ()
    commas: bool = False

    @property
    def expected(self) -> str:
        """The columns as messages show them."""
        return " ".join(column or "..." for column in self.columns)

    @property
    def unit(self) -> LlrUnit | None:
        """The unit of likelihood ratios that the column of scores is called by."""
        named = self.titles and "score" in self.columns
        return column_unit(self.titles[self.columns.index("score")]) if named else None


def sample_lines(data: bytes, name: str) -> Lines:
    """Return the first lines that are not blank, numbered; other encodings and empty files are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError("encoded in UTF-16; expected text in UTF-8", path=name, line=1)
    # Cutting a head off first avoids splitting millions of lines.
    start, end = first_text(data), len(data)
    first = 1 + data.count(b"\n", 0, start)
    if end > start + HEAD:
        end = data.rfind(b"\n", start, start + HEAD + 1) + 1
        if not end:
            raise InputError(text.TOO_LONG, path=name, line=first)
    lines = text.numbered_lines(data[start:end], first)
    full = ((number, line) for number, line in lines if not text.is_blank(line))
    sample = [(number, line.decode("utf-8", "replace")) for number, line in islice(full, SAMPLE)]
    if not sample:
        raise InputError("empty; expected one trial per line", path=name)
    return sample


def first_text(data: bytes) -> int:
    """Return the position of the first line that is not blank."""
    mark = len(data) - len(text.without_mark(data))
    blank = len(data) - mark - len(data[mark:].lstrip(b" \t\r\n"))
    return data.rfind(b"\n", 0, mark + blank) + 1


_LABELS = ("label", "key", "attack")
_WORDS = {True: "target", False: "nontarget"}


@dataclass(frozen=True, slots=True)
class Table:
    """The content of one file, row by row.

    Parameters
    ----------
    name
        The file as the user wrote it.
    format
        How it was understood.
    frame
        Columns among enrol, trial, enrol_speaker, trial_speaker (String or Categorical), score (Float64), label
        (Boolean); of a tandem, key, attack and further columns of text. A null score or label is listed in `problems`.
    lines
        The line of each row; None where the file has no lines.
    problems
        What is wrong with the file.
    titles
        What the columns are called in the file, where they have names.
    unit
        The unit of likelihood ratios that the column of scores is called by.
    """

    name: str
    format: str
    frame: pl.DataFrame
    lines: IntArray | range | None
    problems: tuple[Problem, ...] = ()
    titles: tuple[str, ...] = ()
    unit: LlrUnit | None = None

    def has(self, column: str) -> bool:
        """Return whether the file has this column."""
        return column in self.frame.columns

    @property
    def columns_text(self) -> str:
        """The columns of the file, for messages."""
        return ", ".join(filter(None, self.titles or self.frame.columns)) or "none that is known"

    def line(self, row: int) -> int | None:
        """Return the line of a row."""
        return None if self.lines is None else int(self.lines[row])

    def where(self, row: int) -> str:
        """Return file and line of a row, for messages about another file."""
        line = self.line(row)
        return self.name if line is None else f"{self.name}:{line}"

    def earlier(self, row: int) -> str:
        """Return the line of an earlier row, for messages about a later one of the same trial."""
        line = self.line(row)
        return "" if line is None else f" (first on line {line})"

    def pair(self, row: int) -> str:
        """Return the identifiers of a row, for messages."""
        names = (str(self.frame[column][row]) for column in ("enrol", "trial") if self.has(column))
        return " ".join(filter(None, names))

    def problems_of(self, rows: IntArray, reason: Callable[[int], str]) -> list[Problem]:
        """Return a problem for each of these rows, up to a limit; `reason` gives that at a position of `rows`."""
        problems = text.FileProblems(self.name)
        for at, row in enumerate(rows[: text.LIMIT].tolist()):
            problems.add(self.line(row), reason(at))
        problems.unlisted = max(len(rows) - text.LIMIT, 0)
        return problems.all()

    def labels(self, rows: IntArray) -> pl.DataFrame:
        """Return what some rows are labelled as, in words, "" where that is unknown."""
        labels = {column: self.frame[column][rows] for column in _LABELS if self.has(column)}
        frame = pl.DataFrame(labels or {"label": pl.repeat("", len(rows), eager=True)})
        return frame.with_columns(pl.col(pl.Boolean).replace_strict(_WORDS, default="", return_dtype=pl.String))


def labelled_by_people(table: Table, *, named: bool) -> Table:
    """Return the table, where it names people and no labels, with these: a pair of one person is a target.

    Parameters
    ----------
    table
        The table.
    named
        Whether an enrolment is the name of a person.
    """
    enrolled = "enrol_speaker" if table.has("enrol_speaker") or not named else "enrol"
    if table.has("label") or not table.has("trial_speaker") or not table.has(enrolled):
        return table
    columns = {"enrol_speaker": table.frame[enrolled], "trial_speaker": table.frame["trial_speaker"]}
    people = pl.DataFrame({name: column.cast(pl.String) for name, column in columns.items()})
    if not table.has("enrol") and not table.has("trial"):  # people alone: every line is a trial of its own
        people = people.with_columns(enrol="enrol_speaker", trial=pl.int_range(pl.len()).cast(pl.String))
    unknown = ((people["enrol_speaker"] == "") | (people["trial_speaker"] == "")).arg_true().to_numpy()
    reason = "no label, and the people of both sides are not named; expected them"
    problems = table.problems_of(unknown, lambda _: reason)
    label = people["enrol_speaker"] == people["trial_speaker"]
    return replace(table, frame=table.frame.with_columns(*people, label=label), problems=(*table.problems, *problems))


def labels_differ(ours: pl.DataFrame, theirs: pl.DataFrame) -> BoolArray:
    """Return which rows have different labels; an unknown one differs from none."""
    differ = np.zeros(len(ours), bool)
    for left, right in ((ours[column], theirs[column]) for column in ours.columns if column in theirs.columns):
        differ |= ((left != right) & (left != "") & (right != "")).to_numpy()
    return differ


def label_text(labels: pl.DataFrame, row: int) -> str:
    """Return the label of a row, for messages."""
    return " ".join(filter(None, labels.row(row)))


def with_measured_scores(table: Table, unit: LlrUnit | None, infinite: str | None, failed: str | None) -> Table:
    """Return the table with scores as measures take them, and a problem for each that is none.

    Parameters
    ----------
    table
        The table.
    unit
        The unit of scores that are likelihood ratios.
    infinite
        The end of messages about infinite scores, or about ratios of 0; None where these are allowed.
    failed
        The end of messages about NaN; None where it is allowed.
    """
    if not table.has("score"):
        return table
    written = table.frame["score"].to_numpy()
    scores = written if unit is None else natural_llrs(written, unit)
    negative = np.isnan(scores) & ~np.isnan(written)
    refused = negative if infinite is None else negative | np.isinf(scores)
    if failed is not None:  # null is a problem already
        refused = refused | table.frame["score"].is_nan().fill_null(False).to_numpy()
    rows = np.flatnonzero(refused)

    def reason(at: int) -> str:
        row = int(rows[at])
        unlined = f" of '{table.pair(row)}'" if table.has("enrol") else f" at position {row}"
        where = unlined if table.lines is None else ""
        if negative[row]:
            return f"likelihood ratio '{written[row]}'{where} is negative; {POSITIVE_RATIO}"
        if np.isnan(written[row]):
            return f"score '{written[row]}'{where} is not finite; expected a finite number{failed}"
        if unit == "lr":
            ratio = f"likelihood ratio '{written[row]}'{where}"
            return f"{ratio} is infinite evidence; expected a finite positive one{infinite}"
        return f"score '{written[row]}'{where} is not finite; expected a finite number{infinite}"

    problems = (*table.problems, *table.problems_of(rows, reason))
    frame = table.frame if unit is None else table.frame.with_columns(score=scores)
    ordered = sorted(problems, key=lambda item: (item.line is None, item.line or 0))
    return replace(table, frame=frame, problems=tuple(ordered))

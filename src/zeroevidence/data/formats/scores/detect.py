"""Detection of what a score file holds, by the majority of its lines, and the table of its rows."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import polars as pl

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import PARQUET, TEXT, InputFile
from zeroevidence.data.formats.scores.layout import (
    HEAD,
    ColumnNames,
    Layout,
    Lines,
    Role,
    Table,
    first_text,
    sample_lines,
)
from zeroevidence.data.formats.scores.score_format import AUTO, SCORE_FORMATS, Columns, FirstLines, binary_format
from zeroevidence.data.formats.scores.text_formats import named_layout, read_parquet, unknown_layout
from zeroevidence.data.formats.scores.text_reader import read_text
from zeroevidence.data.json_values import read_json, shortened
from zeroevidence.data.scores import KINDS
from zeroevidence.errors import InputError, Problem

LIST = "list"
ONE_NUMBER = (
    "one number a line, without labels; expected labels, or one file of target and one of non-target scores: "
    "--targets FILE --nontargets FILE"
)
WRITTEN_BY_R = "columns as write.table of R writes them; expected write.csv(x, FILE, row.names = FALSE)"
_POSTERIORS = "of two log-posteriors, write the second less the first, and the label"
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_SPOOFING = frozenset({"bonafide", "spoof"})
_CORPUS = frozenset({"audio", "audio_filepath", "file", "path", "wav"})


def other_kind(data: bytes, name: str, sample: Lines) -> str | None:
    """Return what a text file is that holds no scores to evaluate, and which command reads it; None where it may.

    Parameters
    ----------
    data
        The file, or its first lines.
    name
        The file as the user wrote it.
    sample
        Its first lines.
    """
    if sample[0][1].startswith("[Min. criterion:"):
        return "a report of bob, of rates; expected the scores that it was made from"
    if sample[0][1].lstrip().startswith(("{", "[")):
        return _json_reason(sample[0][1], name)
    if list_layout(sample) is not None:
        return ONE_NUMBER
    if all(line.split()[:1] == ["SPEAKER"] and len(line.split()) >= 8 for _, line in sample):
        return "RTTM, who speaks when, without scores; expected scores of trials"
    if is_written_by_r(sample):
        return WRITTEN_BY_R
    return _tandem_reason(data, name, sample) or _numbers_reason(name, sample)


def is_written_by_r(sample: Lines) -> bool:
    """Return whether a file looks like what `write.table` of R writes: quoted names, and blanks between columns."""
    names = sample[0][1].strip(" \t").split(" ")
    quoted = all(len(name) > 2 and name[0] == name[-1] == '"' for name in names)
    return quoted and any(" " in line.strip(" \t") for _, line in sample[1:2])


def list_layout(sample: Lines) -> Layout | None:
    """Return the layout of a list of numbers, perhaps below a name, or numbered as R writes it; None for others."""
    (first, line), rest = sample[0], [line for _, line in sample[1:]]
    for separator in (",", ";", "\t"):
        cells = text.split(line, separator)
        if isinstance(cells, list) and len(cells) == 2 and not cells[0] and rest:  # as in `"","x"`
            layout = Layout(LIST, ("", "score"), separator, first, tuple(cells))
            return with_commas(layout, sample) if _most_numbers(rest, 2, separator) else None
    numbers = [line.strip(" \t") for line in rest or [line]]
    # A number with a decimal comma may be a score and its label, too.
    labels = sum(number.rpartition(",")[2] in text.LABELS for number in numbers)
    commas = all(map(_DECIMAL_COMMA.fullmatch, numbers)) and 2 * labels < len(numbers)
    separator = ";" if commas else ","
    if not _most_numbers(rest or [line], 1, separator):
        return None
    title = line.strip(' \t"')
    named = not text.is_decimal(title)
    return Layout(LIST, ("score",), separator, first if named else None, (title,) if named else (), commas)


def _most_numbers(lines: list[str], width: int, separator: str) -> bool:
    """Return whether at least half of the lines have so many cells, of which the last is a number."""
    rows = [text.split(line, separator) for line in lines]
    return 2 * sum(len(cells) == width and text.is_decimal(cells[-1]) for cells in rows) >= len(rows)


def _json_reason(line: str, name: str) -> str:
    """Return what a file is whose first line begins with a brace."""
    try:
        content = read_json(line, name)
    except InputError:
        content = None
    if not isinstance(content, dict):
        return "begins like JSON; expected one trial per line, in columns"
    fields = list(content)
    reads = f"; `zeroevidence audit {shlex.quote(name)}` reads a corpus" if _CORPUS.intersection(fields) else ""
    names = ", ".join(map(shortened, fields)) or "none"
    return f"JSON lines with the fields {names}; expected one trial per line, in columns{reads}"


def _tandem_reason(data: bytes, name: str, sample: Lines) -> str | None:
    """Return which command reads a file of an ASVspoof challenge; None for other files."""
    rows = [line.replace(",", " ").split() for _, line in sample]
    marked = sum(not _SPOOFING.isdisjoint(cells) for cells in rows)
    header = any("score" in cell.lower() and not text.is_number(cell) for cell in rows[0])
    if not marked and not header:
        return None
    from zeroevidence.data.formats.scores.text_formats import ASVSPOOF5

    file = shlex.quote(name)
    files: tuple[tuple[Role, str, str], ...] = (
        ("asv", "scores of a verifier", f"--asv {file} --cm FILE"),
        ("cm", "scores of a countermeasure", f"--cm {file}"),
        ("cm_key", "a key of ASVspoof, without scores", f"--cm FILE --key {file}"),
        ("asv_key", "a key of ASVspoof, without scores", f"--asv FILE --asv-key {file}"),
    )
    for role, content, options in files:
        try:
            layout = detect(data, name, role)
        except InputError:
            continue
        if layout.format == ASVSPOOF5:
            scored = [column.removesuffix("_score") for column in layout.columns if column.endswith("_score")]
            if not scored and not role.endswith("_key"):
                continue
            content = "a table of ASVspoof" if scored else content
            options = " ".join(f"--{system} {file}" for system in scored) or options
        return f"{content}; `zeroevidence tandem evaluate {options}` reads it"
    return None


def _numbers_reason(name: str, sample: Lines) -> str | None:
    """Return what lines of two or three columns hold that are no scores with labels; None where they may be."""
    rows = [line.replace(",", " ").split() for _, line in sample]
    width = max(map(len, rows))
    columns = list(zip(*(cells for cells in rows if len(cells) == width), strict=True))

    def most(column: int, holds: Callable[[str], bool]) -> bool:
        return 2 * sum(map(holds, columns[column])) >= len(rows)

    if width == 3 and most(0, _is_fraction) and most(1, _is_fraction) and most(2, _is_label):
        return f"two numbers and a label a line; expected one score; {_POSTERIORS}"
    if width != 2 or most(1, _is_label):
        return None
    if all(map(_is_label, columns[0])) and most(1, text.is_number):
        return None
    if most(0, text.is_number) and most(1, text.is_number):
        return f"two numbers a line, without labels; expected `score label`; {_POSTERIORS}"
    if most(0, text.is_number):
        return None
    if most(1, text.is_number):
        command = f"zeroevidence tandem evaluate --cm {shlex.quote(name)} --key KEY"
        return f"a name and a number a line; expected both names of a pair; `{command}` reads a countermeasure's scores"
    return "two names a line, without scores; expected `enrol trial score`, or a score and both names"


def _is_label(cell: str) -> bool:
    """Return whether a cell is a label, or 1, 0 or -1 in whatever way it is written."""
    return cell in text.LABELS or (text.is_number(cell) and float(cell) in (0.0, 1.0, -1.0))


def _is_fraction(cell: str) -> bool:
    """Return whether a cell is a number with a decimal point, which names are not."""
    return "." in cell and text.is_number(cell)


Matches: TypeAlias = Callable[[list[str], list[str]], bool]
Rows: TypeAlias = Sequence[Sequence[str]]  # cells of lines

_ASKED: dict[Role, str] = {"scores": "score", "key": "label"}
_SWAPPED: dict[Role, str] = {
    "scores": "labels, not scores: is this the key?",
    "key": "numbers, not labels: are these scores?",
}


def detect(data: bytes, name: str, role: Role, *, forced: str = AUTO, matches: Matches | None = None) -> Layout:
    """Return the layout of a text file.

    Parameters
    ----------
    data
        The file, or its first lines.
    name
        The file as the user wrote it.
    role
        What it should hold.
    forced
        A format that the user named, or "auto".
    matches
        Returns whether any of these (enrolments, trials) is in the key; decides between formats that look alike.

    Raises
    ------
    InputError
        When the file is empty, in another encoding, fits no layout, or holds something else than it should.
    """
    sample = sample_lines(data, name)
    titles = set(sample[0][1].lower().replace("-", "_").replace(",", " ").split())
    if role == "scores" and forced == AUTO and {"cm_score", "asv_score"} <= titles:
        raise InputError(str(_tandem_reason(data, name, sample)), path=name, line=sample[0][0])
    layout = _first_lines_layout(sample, name, role, forced)
    if layout is not None:
        return layout
    reason = other_kind(data, name, sample) if role == "scores" and forced == AUTO else None
    if reason is not None:
        raise InputError(reason, path=name, line=sample[0][0])
    layout = unknown_layout(sample, name) if role in _ASKED and forced == AUTO else None
    if layout is not None:
        return layout
    blank = sum(" " in line.strip(" \t") or "\t" in line.strip(" \t") for _, line in sample)
    comma = sum("," in line for _, line in sample)
    separator = "," if comma > len(sample) / 2 >= blank else " "
    choices = _choices(role)
    if forced != AUTO and forced not in choices:
        raise InputError(f"the format {forced} has no {role.upper()} scores", path=name)
    if forced != AUTO:
        return Layout(forced, choices[forced].of(role), separator)
    rows = [cells for _, line in sample if not isinstance(cells := text.split(line, separator), str)]
    first = sample[0][0]
    width = _width(rows, role, name, first)
    rows = [cells for cells in rows if len(cells) == width]
    alike = {
        format: columns.of(role)
        for format, columns in choices.items()
        if len(columns.of(role)) == width and _tells_people(columns.of(role), rows)
    }
    if not alike:
        raise InputError(f"{width} column(s); expected {_expected(role)}", path=name, line=first)
    format = next(iter(alike)) if len(alike) == 1 else _by_content(alike, rows, role, name, first, matches)
    layout = Layout(format, alike[format], separator)
    if role not in _ASKED:
        _check_columns(layout, rows, role, name, first)
    return layout


def _first_lines_layout(sample: Lines, name: str, role: Role, forced: str) -> Layout | None:
    """Return the layout that a format recognises by the first lines."""
    for format in SCORE_FORMATS.values():
        if isinstance(format.text, FirstLines) and format.holds(role) and forced in (AUTO, format.name):
            layout = format.text.layout(sample, name)
            if layout is not None:
                return layout
            if forced == format.name:
                raise InputError(format.text.lacking, path=name, line=sample[0][0])
    return None


def _choices(role: Role) -> dict[str, Columns]:
    texts = {name: format.text for name, format in SCORE_FORMATS.items() if isinstance(format.text, Columns)}
    return {name: columns for name, columns in texts.items() if columns.of(role)}


def _expected(role: Role) -> str:
    """Return the lines that would be understood, for messages."""
    lines = [f"`{line}`" for columns in _choices(role).values() if (line := columns.line(role))]
    return f"{', '.join(lines[:-1])} or {lines[-1]}"


def _width(rows: Rows, role: Role, name: str, line: int) -> int:
    allowed = {len(columns.of(role)) for columns in _choices(role).values()}
    counts = Counter(len(cells) for cells in rows)
    if not counts:
        raise InputError(f"no columns found; expected {_expected(role)}", path=name, line=line)
    width = max(counts, key=lambda n: (counts[n], n in allowed, n))
    if width not in allowed:
        raise InputError(f"{width} column(s); expected {_expected(role)}", path=name, line=line)
    return width


def _tells_people(columns: Sequence[str], rows: Rows) -> bool:
    """Return whether lines that are labelled by the people of both sides may be such: some are of one person."""
    if "trial_speaker" not in columns:
        return True
    at = columns.index("enrol_speaker" if "enrol_speaker" in columns else "enrol"), columns.index("trial_speaker")
    return any(cells[at[0]] == cells[at[1]] for cells in rows)


def _by_content(
    alike: dict[str, tuple[str, ...]], rows: Rows, role: Role, name: str, line: int, matches: Matches | None
) -> str:
    """Return the one of several formats with as many columns whose columns hold what they should."""

    def most(at: int, meaning: str) -> bool:
        return _most_hold(meaning, (cells[at] for cells in rows), role)

    def in_key(columns: tuple[str, ...]) -> bool:
        if matches is None or not {"enrol", "trial"} <= set(columns):
            return False
        enrol, trial = columns.index("enrol"), columns.index("trial")
        return matches([cells[enrol] for cells in rows], [cells[trial] for cells in rows])

    fitting = [format for format, columns in alike.items() if all(most(*each) for each in enumerate(columns))]
    if len(fitting) > 1:
        return next((format for format in fitting if in_key(alike[format])), fitting[0])
    usual = next(iter(alike))
    if role not in _ASKED:
        return fitting[0] if fitting else list(alike)[-1]
    at = alike[usual].index(_ASKED[role])
    other = _ASKED["key" if role == "scores" else "scores"]
    # Labels in the usual place of scores mean a key, even where names that are numbers fit another format by chance.
    explained = fitting and (role == "key" or alike[fitting[0]][at] == other)
    if usual not in fitting and not explained and most(at, other):
        raise InputError(f"column {at + 1} holds {_SWAPPED[role]} (expected {_expected(role)})", path=name, line=line)
    return fitting[0] if fitting else usual


def _most_hold(meaning: str, cells: Iterable[str], role: Role) -> bool:
    """Return whether at least half of the cells of a column are what such a column holds."""
    kinds = KINDS[role.removesuffix("_key")] if meaning == "key" else ()
    holds = {"score": text.is_decimal, "label": text.LABELS.__contains__, "key": kinds.__contains__}.get(meaning)
    column = list(cells)
    return holds is None or 2 * sum(map(holds, column)) >= len(column)


def _check_columns(layout: Layout, rows: Rows, role: Role, name: str, line: int) -> None:
    """Refuse the wrong file of a tandem with one message, instead of one about each of its lines."""
    side = role.removesuffix("_key")
    for number, (meaning, cells) in enumerate(zip(layout.columns, zip(*rows, strict=True), strict=True), 1):
        if _most_hold(meaning, cells, role):
            continue
        content = f"no {side.upper()} key ({', '.join(KINDS[side])})" if meaning == "key" else "no numbers"
        labels = {cell for row in rows for cell in row}
        verifier = not labels.isdisjoint(("target", "nontarget"))
        advice = "; is this the key?" if meaning == "score" else ""
        if side == "cm" and verifier:
            advice = "; is this a verifier's file (--asv, --asv-key, --sasv)?"
        elif side == "asv" and "bonafide" in labels and not verifier:
            advice = "; is this a countermeasure's file (--cm, --key)?"
        raise InputError(f"column {number} holds {content}; expected `{layout.expected}`{advice}", path=name, line=line)


def read_table(
    file: InputFile, role: Role, asked: str, names: ColumnNames, problems: list[Problem], *, key: Table | None = None
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
    with text.collecting(problems):
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
            return names.whole_trials(read_parquet(file, role, names))
        if format is not None and format.binary is not None:
            return format.binary.read(file, role)
        layout = _layout(file, role, asked, names, key)
        first_lines_format = SCORE_FORMATS[layout.format].text
        if isinstance(first_lines_format, FirstLines) and first_lines_format.read is not None:
            return first_lines_format.read(file.read(), file.name, role)
        return names.whole_trials(read_text(file, layout))
    return None


def _layout(file: InputFile, role: Role, asked: str, names: ColumnNames, key: Table | None) -> Layout:
    def matches(enrol: list[str], trial: list[str]) -> bool:
        if key is None or not (key.has("enrol") and key.has("trial")):
            return False
        pairs = pl.DataFrame({"enrol": enrol, "trial": trial})
        pairs = pairs.cast({column: key.frame[column].dtype for column in pairs.columns}, strict=False)
        return not pairs.join(key.frame, on=["enrol", "trial"], how="semi").is_empty()

    head = first_lines(file)
    sample = sample_lines(head, file.name)
    if names.given:
        return with_commas(named_layout(sample, file.name, names), sample)
    return with_commas(detect(head, file.name, role, forced=asked, matches=matches), sample)


def with_commas(layout: Layout, sample: Lines) -> Layout:
    """Return the layout, with decimal commas where more scores have these than points."""
    if "score" not in layout.columns:
        return layout
    rows = [text.split(line, layout.separator) for number, line in sample if number != layout.header]
    at = layout.columns.index("score")
    cells = [row[at] for row in rows if len(row) == len(layout.columns) and text.is_decimal(row[at])]
    return replace(layout, commas=sum("," in cell for cell in cells) > sum("." in cell for cell in cells))


def first_lines(file: InputFile) -> bytes:
    """Return as much of a file as its layout shows in: all of it where it begins with many blank lines."""
    head = file.head(2 * HEAD)
    return head if len(head) < HEAD or first_text(head) < HEAD else file.read()

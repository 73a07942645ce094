"""Text without scores to evaluate, and what reads it: lists of numbers, files of a tandem, JSON lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from zeroevidence.data.files.json_values import read_json, shortened
from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.reading.layout import Layout, Lines, Role
from zeroevidence.errors import InputError

LIST = "list"
ONE_NUMBER = (
    "one number a line, without labels; expected labels, or one file of target and one of non-target scores: "
    "--targets FILE --nontargets FILE"
)
DECIMAL_COMMAS = "decimal commas; expected points, as in 2.5"
WRITTEN_BY_R = "columns as write.table of R writes them; expected write.csv(x, FILE, row.names = FALSE)"
_POSTERIORS = "of two log-posteriors, write the second less the first, and the label"
_DECIMAL_COMMA = re.compile(r'(?:"?[^";,]*"?;)?[+-]?[0-9]+,[0-9]+')
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
    if sample[0][1].lstrip().startswith(("{", "[")):
        return _json_reason(sample[0][1], name)
    if list_layout(sample) is not None:
        return ONE_NUMBER
    if has_decimal_commas(sample):
        return DECIMAL_COMMAS
    if is_written_by_r(sample):
        return WRITTEN_BY_R
    return _tandem_reason(data, name, sample) or _numbers_reason(name, sample)


def has_decimal_commas(sample: Lines) -> bool:
    """Return whether all lines, below a name perhaps, hold one number with a decimal comma, and not a label."""
    lines = [line.strip(" \t") for _, line in sample[1:] or sample]
    labels = sum(line.rpartition(",")[2] in text.LABELS for line in lines)
    return all(map(_DECIMAL_COMMA.fullmatch, lines)) and 2 * labels < len(lines)


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
            return Layout(LIST, ("", "score"), separator, first) if _most_numbers(rest, 2, separator) else None
    if not _most_numbers(rest or [line], 1, ","):
        return None
    header = None if text.is_number(line.strip(" \t")) else first
    return Layout(LIST, ("score",), ",", header)


def _most_numbers(lines: list[str], width: int, separator: str) -> bool:
    """Return whether at least half of the lines have so many cells, of which the last is a number."""
    rows = [text.split(line, separator) for line in lines]
    return 2 * sum(len(cells) == width and text.is_number(cells[-1]) for cells in rows) >= len(rows)


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
    from zeroevidence.data.formats.scores.asvspoof import TABLE
    from zeroevidence.data.formats.scores.reading.detect import detect

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
        if layout.format == TABLE:
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
        return "labels before scores; expected `score label` on each line"
    if most(0, text.is_number) and most(1, text.is_number):
        return f"two numbers a line, without labels; expected `score label`; {_POSTERIORS}"
    if most(0, text.is_number):
        return None
    if most(1, text.is_number):
        command = f"zeroevidence tandem evaluate --cm {shlex.quote(name)} --key KEY"
        return f"a name and a number a line; expected both names of a pair; `{command}` reads a countermeasure's scores"
    return "two names a line, without scores; expected `enrol trial score`, or a score and both names"


def _is_label(cell: str) -> bool:
    """Return whether a cell is a label, or 1 or 0 in whatever way it is written."""
    return cell in text.LABELS or (text.is_number(cell) and float(cell) in (0.0, 1.0))


def _is_fraction(cell: str) -> bool:
    """Return whether a cell is a number with a decimal point, which names are not."""
    return "." in cell and text.is_number(cell)

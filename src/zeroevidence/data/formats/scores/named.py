"""What the columns of a table are called, and the first line that says so."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.data.formats import text
from zeroevidence.data.formats.scores.reading.layout import Layout, Lines
from zeroevidence.errors import InputError

TABLE = "table"

_NAMES = {
    **dict.fromkeys(("enrol", "enroll", "enrolment", "enrollment", "enrol_id", "enroll_id"), "enrol"),
    **dict.fromkeys(("enrolment_id", "enrollment_id", "model"), "enrol"),
    **dict.fromkeys(("trial", "trial_id", "test", "utterance", "utterance_id"), "trial"),
    **dict.fromkeys(("enrol_speaker", "enroll_speaker", "enrolment_speaker", "enrollment_speaker"), "enrol_speaker"),
    "trial_speaker": "trial_speaker",
    **dict.fromkeys(("score", "scores"), "score"),
    **dict.fromkeys(("label", "labels"), "label"),
}


def header(lines: Lines, name: str) -> Layout | None:
    """A first line that names at least two known columns and holds no number is a header."""
    number, line = lines[0]
    for separator in (",", "\t", " "):
        cells = text.split(line, separator)
        if isinstance(cells, str):
            continue
        known = [_NAMES.get(cell.lower(), "") for cell in cells]
        if len({column for column in known if column}) >= 2 and not any(map(text.is_number, cells)):
            return Layout(TABLE, named_columns(cells, name, number), separator, number)
    return None


def named_columns(cells: Sequence[str], name: str, line: int | None) -> tuple[str, ...]:
    """The columns of a table by their names, the plain name winning over its aliases.

    Raises
    ------
    InputError
        When two columns claim the same meaning.
    """
    meaning = [_NAMES.get(cell.strip().lower(), "") for cell in cells]
    for column in {column for column in meaning if column}:
        at = [i for i, found in enumerate(meaning) if found == column]
        plain = [i for i in at if cells[i].strip().lower() == column]
        if len(at) > 1 and len(plain) != 1:
            both = " and ".join(repr(cells[i]) for i in at)
            raise InputError(f"columns {both} both mean {column}; expected one", path=name, line=line)
        for i in at:
            if len(at) > 1 and i != plain[0]:
                meaning[i] = ""
    return tuple(meaning)

"""Rows of the tables of a corpus: text with a header, or JSON lines as recognisers are trained from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zeroevidence.data.corpus import SEGMENT_RATE
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.text import FileProblems
from zeroevidence.data.json_values import read_json, shortened
from zeroevidence.errors import InputError

_COLUMNS = {
    "utterance": ("utterance", "utt", "utterance_id", "utt_id", "id"),
    "speaker": ("speaker", "spk", "speaker_id", "spk_id"),
    "path": ("path", "file", "wav", "audio", "audio_filepath"),
    "role": ("role",),
    "split": ("split",),
    "start": ("start",),
    "end": ("end",),
}
_OFFSET, _DURATION = "offset", "duration"  # in seconds
_LONGEST_S = 1e9


def table_rows(
    source: InputFile, needed: tuple[str, ...], problems: FileProblems
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and cells by column name of each line below the header; `needed` are columns that must be there.

    JSON lines have no header; each must have the fields that are needed.
    """
    if _is_json_lines(source):
        for number, cells_by_name in _json_rows(source, problems):
            record = {_column(name): cell for name, cell in cells_by_name.items()}
            missing = [name for name in needed if name not in record]
            if missing or len(record) < len(cells_by_name):
                reason = f"no field {missing[0]}" if missing else "two fields for one thing"
                problems.add(number, f"{reason} (found: {', '.join(cells_by_name)}); expected {', '.join(needed)}")
            else:
                yield number, record
        return
    columns: list[str] | None = None
    separator = "\t"
    for number, line in text.full_lines(source.read(), problems):
        if columns is None and "\t" not in line:
            separator = ","
        cells = text.split(line, separator)
        if isinstance(cells, str):
            problems.add(number, cells)
        elif columns is None:
            columns = [_column(cell.lower()) for cell in cells]
            missing = [name for name in needed if name not in columns]
            twice = [name for name in columns if columns.count(name) > 1]
            if missing or twice:
                reason = f"no column {missing[0]}" if missing else f"two columns for {twice[0]}"
                titles = ", ".join(shortened(cell) for cell in cells)
                problems.add(number, f"{reason} (found: {titles}); expected a header with {', '.join(needed)}")
                return
        elif len(cells) != len(columns):
            problems.add(number, f"{len(cells)} column(s); expected {len(columns)} as in the header")
        else:
            yield number, dict(zip(columns, cells, strict=True))
    if columns is None and not problems:
        problems.add(None, "empty; expected a header and one line per utterance")


def _column(name: str) -> str:
    return next((key for key, names in _COLUMNS.items() if name in names), name)


def _is_json_lines(source: InputFile) -> bool:
    """Return whether the first line begins with a brace, as no header of a table does."""
    return text.without_mark(source.start).lstrip().startswith(b"{")


def _json_rows(source: InputFile, problems: FileProblems) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and fields of each line, as the cells of a table; lists and objects in it are left out.

    An `offset` in seconds, with or without a `duration`, becomes `start` and `end` in samples at 16 kHz.
    """
    for number, line in text.full_lines(source.read(), problems):
        try:
            record = read_json(line, source.name)
            if not isinstance(record, dict):
                raise InputError("expected an object with the fields of one utterance")
            yield number, _cells(record)
        except InputError as error:
            problems.add(number, error.reason)


def _cells(record: dict[str, Any]) -> dict[str, str]:
    cells = {name.lower(): _text(name, value) for name, value in record.items() if not isinstance(value, list | dict)}
    if "start" in cells or _OFFSET not in cells:
        return cells
    start, length = (_samples(record, name) for name in (_OFFSET, _DURATION))
    cells["start"] = str(start or 0)
    if length is not None:
        cells["end"] = str((start or 0) + length)
    return cells


def _text(name: str, value: Any) -> str:
    """Return a value as a cell; what no line of text could hold is refused."""
    cell = "" if value is None else str(value)
    _, wrong = text.decode(f"{name}{cell}".encode("utf-8", "surrogatepass"))
    if wrong:
        raise InputError(wrong)
    return cell


def _samples(record: dict[str, Any], name: str) -> int | None:
    """Return a time in samples, None where there is none."""
    seconds = record.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < _LONGEST_S:
        raise InputError(f"{name} {str(seconds)[:40]!r}; expected seconds")
    return round(seconds * SEGMENT_RATE)

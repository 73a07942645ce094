"""Lists and tables of text: speakers, sessions, priors, transcripts, classes, and the rows of corpora."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.data.corpus import SEGMENT_RATE
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile, open_input
from zeroevidence.data.json_values import read_json, shortened
from zeroevidence.data.printable import compose
from zeroevidence.errors import InputError, Problem


@dataclass(frozen=True, slots=True)
class SpeakerList:
    """The speaker of each utterance.

    Parameters
    ----------
    name
        The file that lists them.
    speakers
        The speaker of each utterance.
    rule
        Finds the speaker in the name of an utterance instead: its first group, or all that it matches.
    spellings
        Words beyond ASCII as they were written.
    """

    name: str
    speakers: Mapping[str, str]
    rule: re.Pattern[str] | None = None
    spellings: frozenset[str] = frozenset()

    def speaker(self, utterance: str) -> str | None:
        """Return the speaker of an utterance, None where it has none."""
        if self.rule is None:
            return self.speakers.get(utterance)
        match = self.rule.search(utterance)
        return (match[1 if self.rule.groups else 0] or None) if match else None

    def missing(self, ids: Iterable[str], kind: str) -> list[Problem]:
        """Return a problem for each identifier without a speaker; `kind` is what messages call the identifiers."""
        problems = text.FileProblems(self.name)
        for name in ids:
            if self.speaker(name) is None:
                expected = f"a {'line for' if self.rule is None else 'match in'} every {kind}"
                problems.add(None, f"no speaker for {kind} {name!r}; expected {expected}")
        return problems.all()


def read_speakers(file: InputFile) -> tuple[SpeakerList, list[Problem]]:
    """Return the speakers of a Kaldi ``utt2spk`` file, `utterance speaker` on each line, and its problems."""
    first: dict[str, tuple[str, int]] = {}
    problems = text.FileProblems(file.name)
    for number, utterance, speaker in text.two_columns(file, problems, "utterance speaker"):
        earlier, line = first.setdefault(utterance, (speaker, number))
        if earlier != speaker:
            other = f"{earlier!r} (line {line})"
            problems.add(number, f"{utterance!r} belongs to {speaker!r} here but to {other}; expected one speaker")
    if not first and not problems:
        problems.add(None, "empty; expected one line per utterance: utterance speaker")
    written = "" if file.read().isascii() else file.read().decode("utf-8", "replace")
    speakers = {utterance: speaker for utterance, (speaker, _) in first.items()}
    return SpeakerList(file.name, speakers, spellings=frozenset(written.split())), problems.all()


def read_sessions(path: str | Path) -> dict[str, frozenset[str]]:
    r"""Return the sessions of each identifier; an enrolment that was made from several sessions has a line for each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "sessions"
    >>> _ = file.write_text("ada-1 monday\nada monday\nada friday\n")
    >>> {name: sorted(sessions) for name, sessions in read_sessions(file).items()}
    {'ada-1': ['monday'], 'ada': ['friday', 'monday']}
    """
    file = open_input(path)
    problems = text.FileProblems(file.name)
    sessions: dict[str, set[str]] = defaultdict(set)
    for _, identifier, session in text.two_columns(file, problems, "identifier session"):
        sessions[identifier].add(session)
    if not sessions and not problems:
        problems.add(None, "empty; expected one line per identifier: identifier session")
    problems.check()
    return {identifier: frozenset(names) for identifier, names in sessions.items()}


def read_prior(path: str | Path) -> dict[str, float]:
    r"""Return the probability of each identity; they must be positive and sum to 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "prior"
    >>> _ = file.write_text("ada 0.75\nbob 0.25\n")
    >>> read_prior(file)
    {'ada': 0.75, 'bob': 0.25}
    """
    file = open_input(path)
    problems = text.FileProblems(file.name)
    prior: dict[str, float] = {}
    for number, identity, written in text.two_columns(file, problems, "identity probability"):
        value = text.parse_score(written)
        if isinstance(value, str) or not 0.0 < value <= 1.0:
            problems.add(number, f"{written!r} is not a probability; expected a number above 0, at most 1")
        elif identity in prior:
            problems.add(number, f"{identity!r} occurs twice; expected one probability for each identity")
        else:
            prior[identity] = value
    problems.check()
    total = math.fsum(prior.values())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"the probabilities sum to {total:g}; expected 1", path=file.name)
    return prior


def read_transcripts(path: str | Path) -> dict[str, str]:
    r"""Return the transcript of each utterance, `utterance word word ...` on each line; "" where nothing was heard.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "text"
    >>> _ = file.write_text("u1 we call  it bear\nu2\n")
    >>> read_transcripts(file)
    {'u1': 'we call it bear', 'u2': ''}
    """
    file = open_input(path)
    file.check_text("text: utterance word word ...")
    problems = text.FileProblems(file.name)
    lines = ((number, compose(line).split() or [""]) for number, line in text.full_lines(file.read(), problems))
    return _each_once(((number, cells[0], " ".join(cells[1:])) for number, cells in lines), problems)


def read_durations(path: str | Path) -> dict[str, dict[str, list[float]]]:
    r"""Return by utterance and phone the seconds of each time that it is spoken, from a CTM file.

    Its lines are `utterance channel start duration phone`, perhaps with a confidence.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "ctm"
    >>> _ = file.write_text("u1 1 0.00 0.25 AH\nu1 1 0.25 0.10 S\nu1 1 0.35 0.20 AH 0.9\n")
    >>> read_durations(file)
    {'u1': {'AH': [0.25, 0.2], 'S': [0.1]}}
    """
    file, columns = open_input(path), "utterance channel start duration phone"
    file.check_text(f"CTM: {columns}")
    problems = text.FileProblems(file.name)
    durations: dict[str, dict[str, list[float]]] = {}
    for number, line in text.full_lines(file.read(), problems):
        cells = compose(line).split()
        seconds = text.parse_score(cells[3]) if len(cells) in (5, 6) else f"{len(cells)} columns; expected {columns}"
        if isinstance(seconds, str) or seconds <= 0.0:
            problems.add(number, seconds if isinstance(seconds, str) else f"{cells[3]}: expected a positive duration")
        else:
            durations.setdefault(cells[0], {}).setdefault(cells[4], []).append(seconds)
    if not durations and not problems:
        problems.add(None, f"empty; expected lines of {columns}")
    problems.check()
    return durations


def read_classes(path: str | Path) -> dict[str, str]:
    """Return the class of each utterance, such as an emotion, `utterance class` on each line."""
    file = open_input(path)
    problems = text.FileProblems(file.name)
    return _each_once(text.two_columns(file, problems, "utterance class"), problems)


def _each_once(lines: Iterable[tuple[int, str, str]], problems: text.FileProblems) -> dict[str, str]:
    """Return the second column by the first, in which every utterance occurs once."""
    values: dict[str, str] = {}
    for number, name, value in lines:
        if name in values:
            problems.add(number, f"{name!r} occurs twice; expected each utterance once")
        values[name] = value
    if not values and not problems:
        problems.add(None, "empty; expected one utterance per line")
    problems.check()
    return values


_CORPUS_COLUMNS = {
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
    source: InputFile, needed: tuple[str, ...], problems: text.FileProblems
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and cells by column name of each line below the header; `needed` are columns that must be there.

    JSON lines have no header; each must have the fields that are needed.
    """
    if text.without_mark(source.start).lstrip().startswith(b"{"):  # as no header of a table does
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
    return next((key for key, names in _CORPUS_COLUMNS.items() if name in names), name)


def _json_rows(source: InputFile, problems: text.FileProblems) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield number and fields of each line, as the cells of a table; lists and objects in it are left out.

    An `offset` in seconds, with or without a `duration`, becomes `start` and `end` in samples at 16 kHz.
    """
    for number, line in text.full_lines(source.read(), problems):
        try:
            record = read_json(line, source.name)
            if not isinstance(record, dict):
                raise InputError("expected an object with the fields of one utterance")
            yield number, _json_cells(record)
        except InputError as error:
            problems.add(number, error.reason)


def _json_cells(record: dict[str, Any]) -> dict[str, str]:
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

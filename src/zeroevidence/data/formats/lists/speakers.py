"""Lists of who speaks: a Kaldi ``utt2spk``, and other text files of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, InputFile
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.errors import InputError, Problem


@dataclass(frozen=True, slots=True)
class Speakers:
    """The speaker of each utterance, and the file that says so."""

    name: str
    of: Mapping[str, str]


def two_columns(file: InputFile, problems: Problems, what: str) -> Iterator[tuple[int, str, str]]:
    """Number and two cells of each line of a text file; `what` names them in messages."""
    if file.kind != TEXT:
        raise InputError(f"is a {file.kind} file; expected text: {what}", path=file.name)
    for number, raw in text.numbered_lines(file.read()):
        if text.is_blank(raw):
            continue
        line, wrong = text.decode(raw)
        cells = [] if wrong else text.split(line, " ")
        if wrong or len(cells) != 2:
            problems.add(number, wrong or f"{len(cells)} column(s); expected 2: {what}")
        else:
            yield number, cells[0], cells[1]


def read_speakers(file: InputFile) -> tuple[dict[str, str], list[Problem]]:
    """A Kaldi ``utt2spk`` file, `utterance speaker` on each line."""
    speakers: dict[str, str] = {}
    lines: dict[str, int] = {}
    problems = Problems(file.name)
    for number, utterance, speaker in two_columns(file, problems, "utterance speaker"):
        if speakers.setdefault(utterance, speaker) != speaker:
            earlier = f"{speakers[utterance]!r} (line {lines[utterance]})"
            problems.add(number, f"{utterance!r} belongs to {speaker!r} here but to {earlier}; expected one speaker")
        else:
            lines.setdefault(utterance, number)
    if not speakers and not problems.found:
        problems.add(None, "empty; expected one line per utterance: utterance speaker")
    return speakers, problems.all()


def uncovered(ids: list[str], speakers: Speakers, kind: str) -> list[Problem]:
    """Identifiers that a speaker file should know and does not."""
    problems = Problems(speakers.name)
    for unknown in (one for one in ids if one not in speakers.of):
        problems.add(None, f"no speaker for {kind} {unknown!r}; expected a line for every {kind}")
    return problems.all()

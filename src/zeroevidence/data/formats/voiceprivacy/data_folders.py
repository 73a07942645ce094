"""Data folders of VoicePrivacy kits, original and anonymised, checked before anybody spends hours on them.

``data/<set>`` holds original speech as a Kaldi folder, ``data/<set><suffix>`` the anonymised speech: a ``wav.scp``, or
files in ``wav`` that are named like their utterances. Keys are in ``data/<set>_trials*/trials`` and name the people of
``data/<set>_enrolls``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from zeroevidence.data.formats import text
from zeroevidence.data.formats.corpora.corpus_files import Found, Row, read_kaldi, scp_files
from zeroevidence.data.formats.input_file import locate
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.data.speech.audio import audio_rate_and_seconds, inaudible_reason, inspect_audio, load_audio
from zeroevidence.data.speech.corpus import SUFFIXES
from zeroevidence.errors import InputError, Problem

TOLERANCE = 0.25  # of the length of an original
_DERIVED = "_asr"  # sets that a kit joins of others
_TRIALS, _ENROLLS = "_trials", "_enrolls"


@dataclass(frozen=True, slots=True)
class KitReport:
    """Everything that is wrong with a kit, and how much was looked at."""

    problems: tuple[Problem, ...]
    sets: int
    trial_lists: int
    utterances: int

    def __str__(self) -> str:
        return f"{self.sets} sets, {self.trial_lists} lists of trials, {self.utterances} anonymised utterances"


@dataclass(slots=True)
class _Set:
    """One set of original speech."""

    folder: Path
    rows: list[Row]

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(slots=True)
class _Checked:
    """What was found so far."""

    problems: list[Problem] = field(default_factory=list)


def check_kit(
    folder: str | Path,
    suffix: str,
    *,
    tolerance: float = TOLERANCE,
    progress: Callable[[int, int], None] | None = None,
) -> KitReport:
    """Whether the anonymised speech of a kit is complete and can be evaluated.

    Parameters
    ----------
    folder
        The kit, or its ``data``.
    suffix
        What the names of anonymised sets end in, such as ``_x``.
    tolerance
        By how much of its length an utterance may differ from its original.
    progress
        Called with the number of files done and wanted.

    Raises
    ------
    InputError
        When there is no original speech to compare with.
    """
    if not suffix:
        raise InputError("empty suffix; expected that of the anonymised sets, such as _x", path=folder)
    data = Path(folder) / "data" if (Path(folder) / "data").is_dir() else Path(folder)
    found = _Checked()
    sets = _originals(data, suffix, found)
    if not sets:
        raise InputError("no sets of speech; expected data/<set>/wav.scp", path=folder)
    listed = [one for one in sets if _TRIALS in one.name]
    for one in listed:
        _check_trials(one, sets, found)
    found.problems += _overlap(sets)
    pairs = [(row, path) for one in sets for row, path in _anonymised(one, data / f"{one.name}{suffix}", found)]
    seen: set[Path] = set()
    for done, (row, path) in enumerate(pairs, 1):
        reason = _wrong_audio(row, path, tolerance, first=path.parent not in seen)
        seen.add(path.parent)
        if reason:
            found.problems.append(Problem(str(path), None, reason))
        if progress is not None:
            progress(done, len(pairs))
    return KitReport(tuple(found.problems), len(sets), len(listed), len(pairs))


def _originals(data: Path, suffix: str, found: _Checked) -> list[_Set]:
    """Sets of original speech: neither joined of others, nor anonymised by this or another system."""
    folders = sorted(one.parent for one in data.glob("*/wav.scp"))
    names = [one for one in folders if not one.name.endswith((suffix, _DERIVED))]
    sets: list[_Set] = []
    for folder in names:
        reading = Found(folder)
        read_kaldi(folder, reading)
        ids = {row.utterance.id for row in reading.rows}
        copied = any(
            folder.name.startswith(f"{other.name}_") and ids == {row.utterance.id for row in other.rows}
            for other in sets
        )
        if not copied:
            sets.append(_Set(folder, reading.rows))
            found.problems += reading.problems
    return sets


def _check_trials(trials: _Set, sets: Sequence[_Set], found: _Checked) -> None:
    """The key of a set: known labels, enrolled people, trials that are there."""
    file = trials.folder / "trials"
    if not file.is_file():
        found.problems.append(Problem(str(trials.folder), None, "no file named trials; expected the key"))
        return
    home = f"{trials.name.split(_TRIALS)[0]}{_ENROLLS}"
    enrolled = next((one for one in sets if one.name == home), None)
    if enrolled is None:
        found.problems.append(Problem(str(trials.folder), None, f"no set named {home}; expected who is enrolled"))
    people = set() if enrolled is None else {row.utterance.speaker for row in enrolled.rows}
    problems = Problems(str(file))
    for number, raw in text.numbered_lines(locate(file).read()):
        if text.is_blank(raw):
            continue
        line, wrong = text.decode(raw)
        cells = line.split()
        if wrong or len(cells) != 3:
            problems.add(number, wrong or f"{len(cells)} column(s); expected speaker utterance target|nontarget")
        elif cells[2] not in text.LABELS:
            problems.add(number, f"unknown label {cells[2]!r}; {text.LABELS_EXPECTED}")
        elif enrolled is not None and cells[0] not in people:
            problems.add(number, f"{cells[0]!r} is not enrolled in {home}; expected one of its people")
    found.problems += problems.all()


def _overlap(sets: Sequence[_Set]) -> list[Problem]:
    """People that an attacker would both learn from and be judged on."""
    learned = {row.utterance.speaker: one.name for one in sets for row in one.rows if row.utterance.role == "train"}
    judged = {
        row.utterance.speaker: one for one in sets for row in one.rows if row.utterance.role in ("enrol", "trial")
    }
    return [
        Problem(str(judged[name].folder), None, f"speaker {name!r} is in {learned[name]}, too; expected other people")
        for name in sorted(learned.keys() & judged.keys())
    ]


def _anonymised(original: _Set, folder: Path, found: _Checked) -> list[tuple[Row, Path]]:
    """Each original utterance with its anonymised file; ids that only one of the two has are problems."""
    if not folder.is_dir():
        problem = Problem(str(folder), None, f"no such folder; expected the anonymised speech of {original.name}")
        found.problems.append(problem)
        return []
    files = _files(folder, found)
    pairs = []
    for row in original.rows:
        path = files.pop(row.utterance.id, None)
        if path is None:
            reason = f"{row.utterance.id!r} is not in {folder}; expected its anonymised speech"
            found.problems.append(Problem(row.name, row.line, reason))
        else:
            pairs.append((row, path))
    found.problems += [
        Problem(str(folder), None, f"{name!r} is not in {original.name}; expected the same utterances")
        for name in sorted(files)
    ]
    return pairs


def _files(folder: Path, found: _Checked) -> dict[str, Path]:
    """The files of an anonymised set by utterance."""
    if (folder / "wav.scp").is_file():
        reading = Found(folder)
        files = {name: path for name, (_, path) in scp_files(folder, reading).items()}
        found.problems += reading.problems
        return files
    home = folder / "wav" if (folder / "wav").is_dir() else folder
    return {one.stem: one for one in sorted(home.rglob("*")) if one.suffix.lower() in SUFFIXES}


def _wrong_audio(row: Row, path: Path, tolerance: float, *, first: bool) -> str:
    """What is wrong with an anonymised file; empty where nothing is."""
    try:
        facts = inspect_audio(path)
        rate, seconds = audio_rate_and_seconds(row.utterance.path)
    except InputError as error:
        return error.reason if str(path) == error.path else str(error)
    if row.utterance.end is not None or row.utterance.start is not None:
        return ""  # part of a recording, whose length is not that of its file
    mine = facts.samples / facts.rate
    silent = inaudible_reason(mine, facts.silent)
    if silent:
        return silent
    if facts.rate != rate:
        return f"{facts.rate} Hz; expected {rate} Hz, as its original has"
    if facts.channels > 1:
        return f"{facts.channels} channels; expected one"
    if abs(mine - seconds) > tolerance * seconds:
        return f"{mine:.2f} s; expected about {seconds:.2f} s, as its original has"
    if first and np.array_equal(load_audio(path), load_audio(row.utterance.path)):
        return "the same samples as its original; expected anonymised speech"
    return ""

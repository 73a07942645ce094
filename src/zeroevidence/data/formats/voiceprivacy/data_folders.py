"""Check of the data folders of a VoicePrivacy kit, original and anonymised, before they are evaluated.

``data/<set>`` holds original speech as a Kaldi folder, ``data/<set><suffix>`` the anonymised speech: a ``wav.scp``, or
files in ``wav`` that are named like their utterances. Keys are in ``data/<set>_trials*/trials`` and name the people of
``data/<set>_enrolls``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zeroevidence.data.files.errors import unreadable_reason
from zeroevidence.data.formats import text
from zeroevidence.data.formats.corpora.corpus_files import CorpusRows, UtteranceRow, read_kaldi, scp_files
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.speech.audio import audio_rate_and_seconds, inaudible_reason, inspect_audio, load_audio
from zeroevidence.data.speech.corpus import SUFFIXES
from zeroevidence.errors import InputError, Problem

TOLERANCE = 0.25  # share of the original's length
_DERIVED = "_asr"  # ending of sets that a kit joins from others
_TRIALS, _ENROLLS = "_trials", "_enrolls"


@dataclass(frozen=True, slots=True)
class KitReport:
    """The problems of a kit, and how many sets, trial lists and anonymised utterances were checked."""

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
    rows: list[UtteranceRow]

    @property
    def name(self) -> str:
        return self.folder.name


def check_kit(
    folder: str | Path,
    suffix: str,
    *,
    tolerance: float = TOLERANCE,
    progress: Callable[[int, int], None] | None = None,
) -> KitReport:
    """Return the problems of the anonymised speech of a kit.

    Parameters
    ----------
    folder
        The kit, or its ``data``.
    suffix
        The ending of the names of anonymised sets, such as ``_x``.
    tolerance
        By how much of its length an utterance may differ from its original.
    progress
        Called with the number of files checked and their total.

    Raises
    ------
    InputError
        When there is no original speech to compare with.
    """
    if not suffix:
        raise InputError("empty suffix; expected that of the anonymised sets, such as _x", path=folder)
    data = Path(folder) / "data" if (Path(folder) / "data").is_dir() else Path(folder)
    problems: list[Problem] = []
    sets = _original_sets(data, suffix, problems)
    if not sets:
        raise InputError("no sets of speech; expected data/<set>/wav.scp", path=folder)
    trial_sets = [speech for speech in sets if _TRIALS in speech.name]
    for speech in trial_sets:
        problems += _trial_problems(speech, sets)
    problems += _overlap(sets)
    pairs = [pair for speech in sets for pair in _pairs(speech, data / f"{speech.name}{suffix}", problems)]
    folders: set[Path] = set()
    for done, (row, path) in enumerate(pairs, 1):
        reason = _audio_problem(row, path, tolerance, first=path.parent not in folders)
        folders.add(path.parent)
        if reason:
            problems.append(Problem(str(path), None, reason))
        if progress is not None:
            progress(done, len(pairs))
    return KitReport(tuple(problems), len(sets), len(trial_sets), len(pairs))


def _original_sets(data: Path, suffix: str, problems: list[Problem]) -> list[_Set]:
    """Return the sets of original speech: neither joined of others, nor anonymised by this or another system."""
    sets: list[_Set] = []
    for folder in sorted(file.parent for file in data.glob("*/wav.scp")):
        if folder.name.endswith((suffix, _DERIVED)):
            continue
        corpus = CorpusRows(folder)
        read_kaldi(folder, corpus)
        ids = {row.utterance.id for row in corpus.rows}
        copied = any(
            folder.name.startswith(f"{other.name}_") and ids == {row.utterance.id for row in other.rows}
            for other in sets
        )
        if not copied:
            sets.append(_Set(folder, corpus.rows))
            problems += corpus.problems
    return sets


def _trial_problems(trials: _Set, sets: Sequence[_Set]) -> list[Problem]:
    """Return the problems of the key of a set: unknown labels, speakers that are not enrolled."""
    file = trials.folder / "trials"
    if not file.is_file():
        return [Problem(str(trials.folder), None, "no file named trials; expected the key")]
    home = f"{trials.name.split(_TRIALS)[0]}{_ENROLLS}"
    enrolled = next((speech for speech in sets if speech.name == home), None)
    speakers = set() if enrolled is None else {row.utterance.speaker for row in enrolled.rows}
    problems = FileProblems(str(file))
    for number, line in text.full_lines(open_input(file).read(), problems):
        cells = line.split()
        if len(cells) != 3:
            problems.add(number, f"{len(cells)} column(s); expected speaker utterance target|nontarget")
        elif cells[2] not in text.LABELS:
            problems.add(number, f"unknown label {cells[2]!r}; {text.LABELS_EXPECTED}")
        elif enrolled is not None and cells[0] not in speakers:
            problems.add(number, f"{cells[0]!r} is not enrolled in {home}; expected one of its people")
    if enrolled is None:
        return [Problem(str(trials.folder), None, f"no set named {home}; expected the enrolment"), *problems.all()]
    return problems.all()


def _overlap(sets: Sequence[_Set]) -> list[Problem]:
    """Return the problems of speakers who are both trained on and evaluated."""
    rows = [(row.utterance, speech) for speech in sets for row in speech.rows]
    trained = {utterance.speaker: speech.name for utterance, speech in rows if utterance.role == "train"}
    evaluated = {utterance.speaker: speech for utterance, speech in rows if utterance.role in ("enrol", "trial")}
    return [
        Problem(
            str(evaluated[name].folder), None, f"speaker {name!r} is in {trained[name]}, too; expected other people"
        )
        for name in sorted(trained.keys() & evaluated.keys())
    ]


def _pairs(original: _Set, folder: Path, problems: list[Problem]) -> list[tuple[UtteranceRow, Path]]:
    """Return each original utterance with its anonymised file; ids that only one of the two has are problems."""
    reason = unreadable_reason(folder, folder=True)
    if reason:
        problems.append(Problem(str(folder), None, f"{reason}; expected the anonymised speech of {original.name}"))
        return []
    files = _anonymised_files(folder, problems)
    pairs = []
    for row in original.rows:
        path = files.pop(row.utterance.id, None)
        if path is None:
            reason = f"{row.utterance.id!r} is not in {folder}; expected its anonymised speech"
            problems.append(Problem(row.name, row.line, reason))
        else:
            pairs.append((row, path))
    problems += [
        Problem(str(folder), None, f"{name!r} is not in {original.name}; expected the same utterances")
        for name in sorted(files)
    ]
    return pairs


def _anonymised_files(folder: Path, problems: list[Problem]) -> dict[str, Path]:
    """Return the files of an anonymised set by utterance."""
    if (folder / "wav.scp").is_file():
        corpus = CorpusRows(folder)
        files = {name: path for name, (_, path) in scp_files(folder, corpus).items()}
        problems += corpus.problems
        return files
    home = folder / "wav" if (folder / "wav").is_dir() else folder
    return {file.stem: file for file in sorted(home.rglob("*")) if file.suffix.lower() in SUFFIXES}


def _audio_problem(row: UtteranceRow, path: Path, tolerance: float, *, first: bool) -> str:
    """Return what is wrong with an anonymised file; empty where nothing is."""
    try:
        facts = inspect_audio(path)
        rate, seconds = audio_rate_and_seconds(row.utterance.path)
    except InputError as error:
        return error.reason if str(path) == error.path else str(error)
    if row.utterance.end is not None or row.utterance.start is not None:
        return ""  # part of a recording, whose length is not that of its file
    length = facts.samples / facts.rate
    inaudible = inaudible_reason(length, facts.silent, cancelled=facts.cancelled)
    if inaudible:
        return inaudible
    if facts.rate != rate:
        return f"{facts.rate} Hz; expected {rate} Hz, as its original has"
    if facts.channels > 1:
        return f"{facts.channels} channels; expected one"
    if abs(length - seconds) > tolerance * seconds:
        return f"{length:.2f} s; expected about {seconds:.2f} s, as its original has"
    if first and np.array_equal(load_audio(path), load_audio(row.utterance.path)):
        return "the same samples as its original; expected anonymised speech"
    return ""

"""Checking corpora of speech: what stands in the way of an audit, and what is good to know before one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from zeroevidence.data.files.errors import is_file
from zeroevidence.data.formats.corpora.corpus_files import CorpusRows, UtteranceRow, read_files
from zeroevidence.data.formats.corpora.read import row_problems, unique_rows
from zeroevidence.data.speech.audio import inaudible_reason, inspect_audio, load_speech
from zeroevidence.data.speech.corpus import SEGMENT_RATE, session_of
from zeroevidence.errors import InputError, Problem

Progress: TypeAlias = Callable[[int, int], None]  # called with the number of files done and their total
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """The problems of a corpus, which stand in the way of an audit, and notes, which do not."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def examine_corpus(
    path: str | Path, *, left_out: Collection[str] = (), workers: int = 1, progress: Progress | None = None
) -> CorpusReport:
    """Read every line and every audio file of a corpus and return problems and notes.

    Problems: lines that cannot be used; an utterance named twice; a speaker described in two ways; a speaker in dev and
    eval; a trial whose speaker is not enrolled (a note where lists of trials were given); audio that is missing,
    unreadable, empty, cut off, silent or too short. Notes: a speaker of one recording, or of one session where these
    are known, where roles are to be drawn; stereo, other rates than 16 kHz, clipped audio, and what was left out.

    Parameters
    ----------
    path
        The folder or table.
    left_out
        Identifiers of utterances that are not looked at.
    workers
        Threads that read audio; the result does not depend on it.
    progress
        Called with the number of files done and of all.
    """
    try:
        rows = read_files(path)
    except InputError as error:
        return CorpusReport((error.problem,))
    problems = row_problems(rows)
    rows.rows = [row for row in unique_rows(rows) if row.utterance.id not in left_out]
    problems += _overlaps(rows)
    notes = list(rows.notes) + _single_recordings(rows) + _single_sessions(rows)
    (notes if rows.trial_lists else problems).extend(_not_enrolled(rows))
    files: dict[Path, list[UtteranceRow]] = defaultdict(list)
    for row in rows.rows:
        files[row.utterance.path].append(row)
    for report in in_threads(lambda file: _check_file(*file), list(files.items()), workers, progress):
        problems += report.problems
        notes += report.notes
    if not rows.rows and not problems:
        problems.append(Problem(str(path), None, "no utterances; expected at least one"))
    return CorpusReport(tuple(problems), tuple(notes))


def in_threads(
    compute: Callable[[Item], Result], items: Sequence[Item], workers: int, progress: Progress | None
) -> list[Result]:
    """Return the result of a function for each item, in their order, computed by so many threads."""
    results = []
    with ThreadPoolExecutor(workers) as pool:
        for done, result in enumerate(map(compute, items) if workers == 1 else pool.map(compute, items), 1):
            results.append(result)
            if progress is not None:
                progress(done, len(items))
    return results


def _overlaps(corpus: CorpusRows) -> list[Problem]:
    splits: dict[str, dict[str, UtteranceRow]] = defaultdict(dict)
    for row in corpus.rows:
        place = "train" if row.utterance.role == "train" else row.utterance.split
        if place is not None:
            splits[row.utterance.speaker].setdefault(place, row)
    return [
        Problem(row.name, row.line, f"speaker {name!r} is in {' and in '.join(rows)}; expected speakers in one of them")
        for name, rows in splits.items()
        if len(rows) > 1
        for row in [list(rows.values())[-1]]
    ]


def _not_enrolled(corpus: CorpusRows) -> list[Problem]:
    enrolled = {(row.utterance.speaker, row.utterance.split) for row in corpus.rows if row.utterance.role == "enrol"}
    missing: dict[tuple[str, str | None], list[UtteranceRow]] = defaultdict(list)
    for row in corpus.rows:
        who = row.utterance.speaker, row.utterance.split
        if row.utterance.role == "trial" and who not in enrolled:
            missing[who].append(row)
    return [
        Problem(rows[0].name, rows[0].line, f"{_count(rows, 'trial')} of speaker {name!r} without enrolment")
        for (name, _), rows in missing.items()
    ]


def _single_recordings(corpus: CorpusRows) -> list[Problem]:
    files: dict[str, dict[Path, UtteranceRow]] = defaultdict(dict)
    for row in corpus.rows:
        if row.utterance.role is None:
            files[row.utterance.speaker].setdefault(row.utterance.path, row)
    reason = "cannot be both enrolled and tried; is used for training alone"
    return [
        Problem(row.name, row.line, f"speaker {name!r} has one utterance ({row.utterance.id!r}): {reason}")
        for name, rows in files.items()
        if len(rows) == 1
        for row in rows.values()
    ]


def _single_sessions(corpus: CorpusRows) -> list[Problem]:
    """Return notes on speakers of one session: one for all of them where nobody has two."""
    sessions: dict[str, dict[str, UtteranceRow]] = defaultdict(dict)
    for row in corpus.rows:
        if row.utterance.role is None and session_of(row.utterance):
            sessions[row.utterance.speaker].setdefault(session_of(row.utterance), row)
    once = [(name, row) for name, rows in sessions.items() if len(rows) == 1 for row in rows.values()]
    if once and len(once) == len(sessions):
        reason = "nobody was recorded in two sessions, so an audit cannot tell the room from the voice"
        return [Problem(once[0][1].name, None, reason)]
    reason = "cannot be enrolled and tried in different ones; is used for training alone"
    return [
        Problem(row.name, row.line, f"speaker {name!r} has one session ({session_of(row.utterance)!r}): {reason}")
        for name, row in once
    ]


def _check_file(path: Path, rows: Sequence[UtteranceRow]) -> CorpusReport:
    """Return problems and notes of an audio file, and of the utterances in it."""
    if not is_file(path):  # a problem of its line
        return CorpusReport()
    try:
        facts = inspect_audio(path)
    except InputError as error:
        return CorpusReport((rows[0].problem(error.reason),))
    problems, notes = [], []
    length = facts.samples * SEGMENT_RATE // facts.rate
    for row in rows:
        end = row.utterance.end or (row.utterance.start or 0) + 1
        if end > length + 1:
            problems.append(row.problem(f"{length} samples at 16 kHz; expected at least {end}"))
        elif not facts.silent and (row.utterance.start, row.utterance.end) != (None, None):
            try:
                load_speech(row.utterance)
            except InputError as error:
                problems.append(row.problem(error.reason))
    reason = inaudible_reason(length / SEGMENT_RATE, facts.silent, cancelled=facts.cancelled)
    if reason:
        problems.append(rows[0].problem(reason))
    if facts.channels > 1:
        notes.append(rows[0].problem(f"{facts.channels} channels; they are averaged"))
    if facts.rate != SEGMENT_RATE:
        notes.append(rows[0].problem(f"{facts.rate} Hz; it is resampled to what the extractor needs"))
    if facts.clipped:
        notes.append(rows[0].problem("clipped: samples stay at full scale"))
    return CorpusReport(tuple(problems), tuple(notes))


def _count(rows: Sequence[UtteranceRow], word: str) -> str:
    return f"{len(rows)} {word}{'s' if len(rows) > 1 else ''}"

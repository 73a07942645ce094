"""Reading and checking corpora of speech."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zeroevidence.data.audio import inaudible_reason, inspect_audio, load_speech, overlong_reason
from zeroevidence.data.corpus import SEGMENT_RATE, Corpus, Utterance, session_of
from zeroevidence.data.files import is_file, naming_file, unreadable_reason
from zeroevidence.data.formats.corpus_files import SAMPLES, CorpusRows, UtteranceRow, read_files
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.formats.lists import table_rows
from zeroevidence.data.formats.text import FileProblems
from zeroevidence.data.printable import compose
from zeroevidence.errors import InputError, Problem
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run


def read_corpus(path: str | Path, *, seed: int = 0, draw: bool = True) -> Corpus:
    """Return the corpus of a folder or table. Audio files must exist, but are not opened.

    Parameters
    ----------
    path
        The folder or table.
    seed
        Decides the roles and splits that are drawn.
    draw
        Whether roles and splits that the corpus does not give are drawn (`Corpus.assign`); without it, roles are not
        checked.

    Raises
    ------
    InputError
        On a line that cannot be used, an utterance named twice, contradictory people, or a missing file.
    """
    corpus = to_corpus(read_files(path), path)
    with naming_file(path):
        return corpus.assign(seed) if draw else corpus


def to_corpus(rows: CorpusRows, path: str | Path) -> Corpus:
    """Return the corpus of files that were read from a path; roles are neither drawn nor checked."""
    problems = row_problems(rows)
    if problems:
        raise InputError.of(problems)
    if not rows.rows:
        raise InputError("no utterances; expected at least one", path=path)
    utterances = (row.utterance for row in unique_rows(rows))
    # by names: what is learned from speech must not depend on the order of the lines that list it
    return Corpus(tuple(sorted(utterances, key=lambda utterance: (utterance.speaker, utterance.id))), rows.root)


def read_segments(path: str | Path) -> dict[str, list[tuple[int, int]]]:
    """Return the segments of each utterance: a table with utt (or utterance), start and end in samples at 16 kHz."""
    problems = FileProblems(str(path))
    segments: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, cells in table_rows(open_input(path), ("utterance", "start", "end"), problems):
        start, end = cells["start"], cells["end"]
        if not (SAMPLES.fullmatch(start) and SAMPLES.fullmatch(end) and int(start) < int(end)):
            problems.add(number, f"start {start!r}, end {end!r}; expected samples at 16 kHz, start < end")
        else:
            segments[compose(cells["utterance"])].append((int(start), int(end)))
    problems.check()
    return {name: sorted(pieces) for name, pieces in segments.items()}


def row_problems(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of lines, of identifiers and speakers that stand for two, and of missing files."""
    several = _repetitions(corpus) + _contradictions(corpus) + _missing_sessions(corpus)
    reasons = ((row, unreadable_reason(row.utterance.path, "audio")) for row in corpus.rows)
    return corpus.problems + several + [row.problem(reason) for row, reason in reasons if reason]


def unique_rows(corpus: CorpusRows) -> list[UtteranceRow]:
    """Return each identifier once: folders of one corpus repeat utterances."""
    first: dict[str, UtteranceRow] = {}
    for row in corpus.rows:
        first.setdefault(row.utterance.id, row)
    return list(first.values())


def _identity(row: UtteranceRow) -> tuple[object, ...]:
    utterance = row.utterance
    return utterance.speaker, utterance.path, utterance.role, utterance.split, utterance.start, utterance.end


def _repetitions(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of identifiers that stand for different utterances."""
    first = {row.utterance.id: row for row in unique_rows(corpus)}
    problems = []
    for row in corpus.rows:
        before = first[row.utterance.id]
        if before is row or (before.name != row.name and _identity(before) == _identity(row)):
            continue
        where = str(before.utterance.path) if before.line is None else f"{before.name}:{before.line}"
        reason = f"utterance {row.utterance.id!r} occurs twice (also {where}); expected each identifier once"
        problems.append(Problem(str(row.utterance.path) if row.line is None else row.name, row.line, reason))
    return problems


def _first_rows(corpus: CorpusRows, kind: Callable[[Utterance], object]) -> dict[str, list[UtteranceRow]]:
    """Return for each speaker the first row of each kind of utterance; those without a kind do not count."""
    first: dict[str, dict[object, UtteranceRow]] = defaultdict(dict)
    for row in corpus.rows:
        if (of_row := kind(row.utterance)) not in (None, ""):
            first[row.utterance.speaker].setdefault(of_row, row)
    return {speaker: list(rows.values()) for speaker, rows in first.items()}


def _contradictions(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of speakers whose sex changes between rows: two people with one name."""
    problems = []
    for speaker, (before, *others) in _first_rows(corpus, lambda one: one.attributes.get("sex")).items():
        there = f"{before.utterance.attributes.get('sex')} at {before.name}:{before.line}"
        for row in others[:1]:
            here = f"speaker {speaker!r} has sex {row.utterance.attributes['sex']} here"
            problems.append(row.note(f"{here} and {there}; are they two speakers with one name?"))
    return problems


def _missing_sessions(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of utterances without a session where others have one; those to learn from need none."""
    if not any(session_of(row.utterance) for row in corpus.rows):
        return []
    rows = (row for row in corpus.rows if row.utterance.role != "train" and not session_of(row.utterance))
    reason = "has no session, but others have one; expected one for each"
    return [row.note(f"utterance {row.utterance.id!r} {reason}") for row in rows]


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """The problems of a corpus, which stand in the way of an audit, and notes, which do not."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def examine_corpus(source: str | Path | CorpusRows, left_out: Collection[str] = (), run: Run = Run()) -> CorpusReport:
    """Read every line and every audio file of a corpus and return problems and notes.

    Problems: lines that cannot be used; an utterance named twice; a speaker described in two ways; a speaker in dev and
    eval; a trial whose speaker is not enrolled (a note where lists of trials were given); audio that is missing,
    unreadable, empty, cut off, silent or too short. Notes: a speaker of one recording, or of one session where these
    are known, where roles are to be drawn; stereo, other rates than 16 kHz, clipped or long audio, and what is left
    out.

    Parameters
    ----------
    source
        The folder or table, or its files as they were read.
    left_out
        Identifiers of utterances that are not looked at.
    run
        Its cores are processes that read audio; the result does not depend on them.
    """
    step = run.progress("checking the original speech", "files")
    try:
        rows = source if isinstance(source, CorpusRows) else read_files(source)
    except InputError as error:
        return CorpusReport((error.problem,))
    problems = row_problems(rows)
    rows = replace(rows, rows=[row for row in unique_rows(rows) if row.utterance.id not in left_out])
    problems += _overlaps(rows)
    notes = list(rows.notes) + _single_recordings(rows) + _single_sessions(rows)
    (notes if rows.trial_lists else problems).extend(_not_enrolled(rows))
    files: dict[Path, list[UtteranceRow]] = defaultdict(list)
    for row in rows.rows:
        files[row.utterance.path].append(row)
    for done, report in enumerate(compute_each(_check_file, files.items(), run, little=True), 1):
        problems += report.problems
        notes += report.notes
        step(done, len(files))
    if not rows.rows and not problems:
        path = rows.root if isinstance(source, CorpusRows) else source
        problems.append(Problem(str(path), None, "no utterances; expected at least one"))
    return CorpusReport(tuple(problems), tuple(notes))


def _overlaps(corpus: CorpusRows) -> list[Problem]:
    problems = []
    for name, rows in _first_rows(corpus, _place).items():
        if len(rows) > 1:
            places = " and in ".join(str(_place(row.utterance)) for row in rows)
            problems.append(rows[-1].note(f"speaker {name!r} is in {places}; expected speakers in one of them"))
    return problems


def _place(utterance: Utterance) -> str | None:
    return "train" if utterance.role == "train" else utterance.split


def _not_enrolled(corpus: CorpusRows) -> list[Problem]:
    enrolled = {(row.utterance.speaker, row.utterance.split) for row in corpus.rows if row.utterance.role == "enrol"}
    missing: dict[tuple[str, str | None], list[UtteranceRow]] = defaultdict(list)
    for row in corpus.rows:
        who = row.utterance.speaker, row.utterance.split
        if row.utterance.role == "trial" and who not in enrolled:
            missing[who].append(row)
    trials = (f"{len(rows)} trial{'s' * (len(rows) > 1)} of speaker {name!r}" for (name, _), rows in missing.items())
    return [rows[0].note(f"{of} without enrolment") for of, rows in zip(trials, missing.values(), strict=True)]


def _single_recordings(corpus: CorpusRows) -> list[Problem]:
    files = _first_rows(corpus, lambda utterance: utterance.path if utterance.role is None else None)
    has = "has one utterance ({!r}): cannot be both enrolled and tried; is used for training alone"
    once = ((name, rows[0]) for name, rows in files.items() if len(rows) == 1)
    return [row.note(f"speaker {name!r} {has.format(row.utterance.id)}") for name, row in once]


def _single_sessions(corpus: CorpusRows) -> list[Problem]:
    """Return notes on speakers of one session: one for all of them where nobody has two."""
    sessions = _first_rows(corpus, lambda utterance: session_of(utterance) if utterance.role is None else None)
    once = [(name, rows[0]) for name, rows in sessions.items() if len(rows) == 1]
    if once and len(once) == len(sessions):
        reason = "nobody was recorded in two sessions, so an audit cannot tell the room from the voice"
        return [Problem(once[0][1].name, None, reason)]
    has = "has one session ({!r}): cannot be enrolled and tried in different ones; is used for training alone"
    return [row.note(f"speaker {name!r} {has.format(session_of(row.utterance))}") for name, row in once]


def _check_file(file: tuple[Path, Sequence[UtteranceRow]]) -> CorpusReport:
    """Return problems and notes of an audio file, and of the utterances in it."""
    path, rows = file
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
    whole = any((row.utterance.start, row.utterance.end) == (None, None) for row in rows)
    if whole and (reason := overlong_reason(length / SEGMENT_RATE / 60.0)):
        notes.append(rows[0].problem(f"{reason}; `anonymise` takes it as it is, but an audit does not"))
    if facts.channels > 1:
        notes.append(rows[0].problem(f"{facts.channels} channels; they are averaged"))
    if facts.rate != SEGMENT_RATE:
        notes.append(rows[0].problem(f"{facts.rate} Hz; it is resampled to what the extractor needs"))
    if facts.clipped:
        notes.append(rows[0].problem("clipped: samples stay at full scale"))
    return CorpusReport(tuple(problems), tuple(notes))

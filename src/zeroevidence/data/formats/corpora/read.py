"""Reading and checking corpora of speech.

| kind | files |
| --- | --- |
| Kaldi data folder, or a folder of several | wav.scp, utt2spk, perhaps spk2gender, segments, enrolls, trials |
| table with a header (TSV or CSV) | utterance, speaker, path; perhaps role, split, start, end; others are attributes |
| tree of folders | speaker/utterance.wav (flac, ogg, opus, mp3), through links too |

A ``speakers.tsv`` beside a table or in a tree describes the people; a folder with an ``utterances.tsv`` is read by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from zeroevidence.data.files.errors import is_file, naming_file, unreadable_reason
from zeroevidence.data.formats.corpora.corpus_files import SAMPLES, CorpusRows, UtteranceRow, read_files, table_rows
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.speech.audio import inaudible_reason, inspect_audio, load_audio
from zeroevidence.data.speech.corpus import SEGMENT_RATE, SUFFIXES, Corpus, Utterance
from zeroevidence.errors import InputError, Problem

Progress: TypeAlias = Callable[[int, int], None]  # called with the number of files done and their total

_LONGER = 1.5  # times: protections stretch speech by less


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """The problems of a corpus, which stand in the way of an audit, and notes, which do not."""

    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


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
    rows = read_files(path)
    problems = rows.problems + _repetitions(rows) + _contradictions(rows) + _missing_files(rows)
    if problems:
        raise InputError.of(problems)
    if not rows.rows:
        raise InputError("no utterances; expected at least one", path=path)
    utterances = (row.utterance for row in _unique_rows(rows))
    # by names: what is learned from speech must not depend on the order of the lines that list it
    corpus = Corpus(tuple(sorted(utterances, key=lambda utterance: (utterance.speaker, utterance.id))), rows.root)
    with naming_file(path):
        return corpus.assign(seed) if draw else corpus


def diagnose_corpus(path: str | Path) -> list[Problem]:
    """Return everything that is wrong with a corpus; empty when it can be audited."""
    return list(examine_corpus(path).problems)


def examine_corpus(path: str | Path, *, progress: Progress | None = None) -> CorpusReport:
    """Read every line and every audio file of a corpus and return problems and notes.

    Problems: lines that cannot be used; an utterance named twice; a speaker described in two ways; a speaker in dev and
    eval; a trial whose speaker is not enrolled (a note where lists of trials were given); a speaker of one recording
    where roles are to be drawn; audio that is missing, unreadable, empty, cut off, silent or too short. Notes: stereo,
    other rates than 16 kHz, clipped audio, and what was left out.
    """
    try:
        rows = read_files(path)
    except InputError as error:
        return CorpusReport((error.problem,), ())
    problems = rows.problems + _repetitions(rows) + _contradictions(rows) + _missing_files(rows)
    notes = list(rows.notes)
    rows.rows = _unique_rows(rows)
    problems += _overlaps(rows)
    (notes if rows.trial_lists else problems).extend(_not_enrolled(rows))
    problems += _single_recordings(rows)
    _check_audio(rows.rows, problems, notes, progress)
    if not rows.rows and not problems:
        problems.append(Problem(str(path), None, "no utterances; expected at least one"))
    return CorpusReport(tuple(problems), tuple(notes))


def examine_pairs(path: str | Path, anonymised: str | Path, *, progress: Progress | None = None) -> CorpusReport:
    """Return where original and anonymised utterances do not match, as problems and notes.

    Problems: utterances without an anonymised file, files that are the original, lengths that differ by more than a
    half, audio that cannot be read, and anonymised audio that is the original sample by sample. Notes: anonymised files
    that belong to no utterance.
    """
    rows = read_files(path)
    corpus = Corpus(tuple(row.utterance for row in _unique_rows(rows)), rows.root)
    counterparts, problems = corpus.counterparts(anonymised)
    originals = {utterance.id: utterance for utterance in corpus}
    for done, (name, other) in enumerate(counterparts.items(), 1):
        reason = _mismatch(originals[name], other)
        if reason:
            problems.append(Problem(str(other.path), None, reason))
        if progress is not None:
            progress(done, len(counterparts))
    used = {utterance.path.resolve() for utterance in counterparts.values()}
    extra = [file for file in sorted(Path(anonymised).rglob("*")) if file.suffix.lower() in SUFFIXES]
    notes = [
        Problem(str(file), None, "belongs to no original utterance; it is left out")
        for file in extra
        if file.resolve() not in used
    ]
    return CorpusReport(tuple(problems), tuple(notes))


def _mismatch(original: Utterance, anonymised: Utterance) -> str:
    """Return why an anonymised utterance cannot be that of the original; empty where it can."""
    try:
        first, second = load_audio(original), load_audio(anonymised)
    except InputError as error:
        return error.reason
    seconds = [len(wave) / SEGMENT_RATE for wave in (first, second)]
    if max(seconds) > _LONGER * min(seconds):
        lengths = f"{seconds[1]:.2f} s, but the original of {original.id!r} has {seconds[0]:.2f} s"
        return f"{lengths}; are they the same utterance?"
    if len(first) == len(second) and np.array_equal(first, second):
        return f"is the original of {original.id!r}, sample by sample; expected anonymised speech"
    return ""


def read_segments(path: str | Path) -> dict[str, list[tuple[int, int]]]:
    """Return the segments of each utterance: a table with utt (or utterance), start and end in samples at 16 kHz."""
    problems = FileProblems(str(path))
    segments: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, cells in table_rows(open_input(path), ("utterance", "start", "end"), problems):
        start, end = cells["start"], cells["end"]
        if not (SAMPLES.fullmatch(start) and SAMPLES.fullmatch(end) and int(start) < int(end)):
            problems.add(number, f"start {start!r}, end {end!r}; expected samples at 16 kHz, start < end")
        else:
            segments[cells["utterance"]].append((int(start), int(end)))
    problems.check()
    return {name: sorted(pieces) for name, pieces in segments.items()}


def _unique_rows(corpus: CorpusRows) -> list[UtteranceRow]:
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
    first: dict[str, UtteranceRow] = {}
    problems = []
    for row in corpus.rows:
        before = first.setdefault(row.utterance.id, row)
        if before is row or (before.name != row.name and _identity(before) == _identity(row)):
            continue
        where = str(before.utterance.path) if before.line is None else f"{before.name}:{before.line}"
        reason = f"utterance {row.utterance.id!r} occurs twice (also {where}); expected each identifier once"
        problems.append(Problem(str(row.utterance.path) if row.line is None else row.name, row.line, reason))
    return problems


def _contradictions(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of speakers whose sex changes between rows: two people with one name."""
    first: dict[str, UtteranceRow] = {}
    problems, reported = [], set()
    for row in corpus.rows:
        speaker, sex = row.utterance.speaker, row.utterance.attributes.get("sex")
        if not sex:
            continue
        before = first.setdefault(speaker, row)
        if before.utterance.attributes["sex"] != sex and speaker not in reported:
            reported.add(speaker)
            there = f"{before.utterance.attributes['sex']} at {before.name}:{before.line}"
            reason = f"speaker {speaker!r} has sex {sex} here and {there}; are they two speakers with one name?"
            problems.append(Problem(row.name, row.line, reason))
    return problems


def _missing_files(corpus: CorpusRows) -> list[Problem]:
    reasons = ((row, unreadable_reason(row.utterance.path, "audio")) for row in corpus.rows)
    return [row.problem(reason) for row, reason in reasons if reason]


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


def _check_audio(
    rows: Sequence[UtteranceRow],
    problems: list[Problem],
    notes: list[Problem],
    progress: Callable[[int, int], None] | None,
) -> None:
    """Add the problems and notes of every audio file."""
    files: dict[Path, list[UtteranceRow]] = defaultdict(list)
    for row in rows:
        files[row.utterance.path].append(row)
    for done, (path, file_rows) in enumerate(files.items(), 1):
        if is_file(path):
            _check_file(path, file_rows, problems, notes)
        if progress is not None:
            progress(done, len(files))


def _check_file(path: Path, rows: Sequence[UtteranceRow], problems: list[Problem], notes: list[Problem]) -> None:
    try:
        facts = inspect_audio(path)
    except InputError as error:
        problems.append(rows[0].problem(error.reason))
        return
    length = facts.samples * SEGMENT_RATE // facts.rate
    for row in rows:
        end = row.utterance.end or (row.utterance.start or 0) + 1
        if end > length + 1:
            problems.append(row.problem(f"{length} samples at 16 kHz; expected at least {end}"))
    for row in rows[:1] if facts.silent or facts.cancelled else rows:
        part = (row.utterance.end or length) - (row.utterance.start or 0)
        reason = inaudible_reason(max(0, part) / SEGMENT_RATE, facts.silent, cancelled=facts.cancelled)
        if reason:
            problems.append(row.problem(reason))
    if facts.channels > 1:
        notes.append(rows[0].problem(f"{facts.channels} channels; they are averaged"))
    if facts.rate != SEGMENT_RATE:
        notes.append(rows[0].problem(f"{facts.rate} Hz; it is resampled to what the extractor needs"))
    if facts.clipped:
        notes.append(rows[0].problem("clipped: samples stay at full scale"))


def _count(rows: Sequence[UtteranceRow], word: str) -> str:
    return f"{len(rows)} {word}{'s' if len(rows) > 1 else ''}"

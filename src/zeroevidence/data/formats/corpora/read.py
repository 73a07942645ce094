"""Corpora of speech on disk, and what is wrong with them.

| what is there | how it is read |
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

import numpy as np

from zeroevidence.data.files.errors import is_file
from zeroevidence.data.formats.corpora.corpus_files import SAMPLES, Found, Row, read_files, table_rows
from zeroevidence.data.formats.input_file import locate
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.data.speech.audio import inaudible_reason, inspect_audio, load_audio
from zeroevidence.data.speech.corpus import SEGMENT_RATE, SUFFIXES, Corpus, Utterance
from zeroevidence.errors import InputError, Problem

_LISTER = "zeroevidence doctor"
_LONGER = 1.5  # times: protections stretch speech by less


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """What a look at a corpus found: problems stand in the way of an audit, notes do not."""

    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def read_corpus(path: str | Path, *, seed: int = 0, draw: bool = True) -> Corpus:
    """The corpus in a folder or table; roles and splits that it does not give are drawn (`Corpus.assign`).

    Audio is looked for but not opened. Without `draw` nothing is drawn, and nothing is asked of the roles.

    Raises
    ------
    InputError
        On a line that cannot be used, an utterance named twice, contradictory people, or a missing file.
    """
    found = read_files(path)
    problems = found.problems + _twice(found) + _contradictions(found) + _absent(found)
    if problems:
        raise InputError.of(problems, _LISTER)
    if not found.rows:
        raise InputError("no utterances; expected at least one", path=path)
    utterances = (row.utterance for row in _merged(found))
    # by names: what is learned from speech must not depend on the order of the lines that list it
    corpus = Corpus(tuple(sorted(utterances, key=lambda one: (one.speaker, one.id))), found.root)
    try:
        return corpus.assign(seed) if draw else corpus
    except InputError as error:
        raise InputError(error.reason, path=path) from None


def diagnose_corpus(path: str | Path) -> list[Problem]:
    """Everything that is wrong with a corpus; empty when it can be audited."""
    return list(examine_corpus(path).problems)


def examine_corpus(path: str | Path, *, progress: Callable[[int, int], None] | None = None) -> CorpusReport:
    """Read every line and every audio file of a corpus and say what is wrong and what is worth knowing.

    Problems: lines that cannot be used; an utterance named twice; a speaker described in two ways; a speaker in dev and
    eval; a trial whose speaker is not enrolled (a note where lists of trials were given); a speaker of one recording
    where roles are to be drawn; audio that is missing, unreadable, empty, cut off, silent or too short. Notes: stereo,
    other rates than 16 kHz, clipped audio, and what was left out.
    """
    try:
        found = read_files(path)
    except InputError as error:
        return CorpusReport((error.problem,), ())
    problems = found.problems + _twice(found) + _contradictions(found) + _absent(found)
    notes = list(found.notes)
    found.rows = _merged(found)
    problems += _overlap(found)
    (notes if found.trial_lists else problems).extend(_not_enrolled(found))
    problems += _single(found)
    for wrong, what in _audio(found.rows, progress):
        (problems if wrong else notes).append(what)
    if not found.rows and not problems:
        problems.append(Problem(str(path), None, "no utterances; expected at least one"))
    return CorpusReport(tuple(problems), tuple(notes))


def examine_pairs(
    path: str | Path, anonymised: str | Path, *, progress: Callable[[int, int], None] | None = None
) -> CorpusReport:
    """Say where original and anonymised utterances do not match.

    Problems: utterances without an anonymised file, files that are the original, lengths that differ by more than a
    half, audio that cannot be read, and anonymised audio that is the original sample by sample. Notes: anonymised files
    that belong to no utterance.
    """
    found = read_files(path)
    corpus = Corpus(tuple(row.utterance for row in _merged(found)), found.root)
    there, problems = corpus.counterparts(anonymised)
    own = {one.id: one for one in corpus}
    for done, (name, other) in enumerate(there.items(), 1):
        reason = _mismatch(own[name], other)
        if reason:
            problems.append(Problem(str(other.path), None, reason))
        if progress is not None:
            progress(done, len(there))
    used = {one.path.resolve() for one in there.values()}
    extra = [file for file in sorted(Path(anonymised).rglob("*")) if file.suffix.lower() in SUFFIXES]
    notes = [
        Problem(str(file), None, "belongs to no original utterance; it is left out")
        for file in extra
        if file.resolve() not in used
    ]
    return CorpusReport(tuple(problems), tuple(notes))


def _mismatch(one: Utterance, other: Utterance) -> str:
    """Why an anonymised utterance cannot be that of the original; empty where it can."""
    try:
        first, second = load_audio(one), load_audio(other)
    except InputError as error:
        return error.reason
    seconds = [len(wave) / SEGMENT_RATE for wave in (first, second)]
    if max(seconds) > _LONGER * min(seconds):
        return (
            f"{seconds[1]:.2f} s, but the original of {one.id!r} has {seconds[0]:.2f} s; are they the same utterance?"
        )
    if len(first) == len(second) and np.array_equal(first, second):
        return f"is the original of {one.id!r}, sample by sample; expected anonymised speech"
    return ""


def read_segments(path: str | Path) -> dict[str, list[tuple[int, int]]]:
    """Where the pieces of each utterance lie: a table with utt (or utterance), start and end in samples at 16 kHz."""
    problems = Problems(str(path))
    segments: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, cells in table_rows(locate(path), ("utterance", "start", "end"), problems):
        start, end = cells["start"], cells["end"]
        if not (SAMPLES.fullmatch(start) and SAMPLES.fullmatch(end) and int(start) < int(end)):
            problems.add(number, f"start {start!r}, end {end!r}; expected samples at 16 kHz, start < end")
        else:
            segments[cells["utterance"]].append((int(start), int(end)))
    if problems.found:
        raise InputError.of(problems.all(), _LISTER)
    return {name: sorted(pieces) for name, pieces in segments.items()}


def _key(row: Row) -> tuple[object, ...]:
    one = row.utterance
    return one.speaker, one.path, one.role, one.split, one.start, one.end


def _merged(found: Found) -> list[Row]:
    """Each identifier once: folders of one corpus repeat utterances."""
    first: dict[str, Row] = {}
    for row in found.rows:
        first.setdefault(row.utterance.id, row)
    return list(first.values())


def _twice(found: Found) -> list[Problem]:
    first: dict[str, Row] = {}
    problems = []
    for row in found.rows:
        before = first.setdefault(row.utterance.id, row)
        if before is row or (before.name != row.name and _key(before) == _key(row)):
            continue
        where = str(before.utterance.path) if before.line is None else f"{before.name}:{before.line}"
        reason = f"utterance {row.utterance.id!r} occurs twice (also {where}); expected each identifier once"
        problems.append(Problem(str(row.utterance.path) if row.line is None else row.name, row.line, reason))
    return problems


def _contradictions(found: Found) -> list[Problem]:
    """Speakers whose sex changes between rows: two people with one name."""
    known: dict[str, Row] = {}
    problems, told = [], set()
    for row in found.rows:
        one = row.utterance
        sex = one.attributes.get("sex")
        if not sex:
            continue
        before = known.setdefault(one.speaker, row)
        if before.utterance.attributes["sex"] != sex and one.speaker not in told:
            told.add(one.speaker)
            there = f"{before.utterance.attributes['sex']} at {before.name}:{before.line}"
            reason = f"speaker {one.speaker!r} has sex {sex} here and {there}; are they two speakers with one name?"
            problems.append(Problem(row.name, row.line, reason))
    return problems


def _absent(found: Found) -> list[Problem]:
    return [row.problem("no such file") for row in found.rows if not is_file(row.utterance.path)]


def _overlap(found: Found) -> list[Problem]:
    splits: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in found.rows:
        place = "train" if row.utterance.role == "train" else row.utterance.split
        if place is not None:
            splits[row.utterance.speaker].setdefault(place, row)
    return [
        Problem(row.name, row.line, f"speaker {name!r} is in {' and in '.join(rows)}; expected speakers in one of them")
        for name, rows in splits.items()
        if len(rows) > 1
        for row in [list(rows.values())[-1]]
    ]


def _not_enrolled(found: Found) -> list[Problem]:
    enrolled = {(row.utterance.speaker, row.utterance.split) for row in found.rows if row.utterance.role == "enrol"}
    missing: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for row in found.rows:
        who = row.utterance.speaker, row.utterance.split
        if row.utterance.role == "trial" and who not in enrolled:
            missing[who].append(row)
    return [
        Problem(rows[0].name, rows[0].line, f"{_count(rows, 'trial')} of speaker {name!r} without enrolment")
        for (name, _), rows in missing.items()
    ]


def _single(found: Found) -> list[Problem]:
    files: dict[str, dict[Path, Row]] = defaultdict(dict)
    for row in found.rows:
        if row.utterance.role is None:
            files[row.utterance.speaker].setdefault(row.utterance.path, row)
    reason = "cannot be both enrolled and tried; is used for training alone"
    return [
        Problem(row.name, row.line, f"speaker {name!r} has one utterance ({row.utterance.id!r}): {reason}")
        for name, rows in files.items()
        if len(rows) == 1
        for row in rows.values()
    ]


def _audio(rows: Sequence[Row], progress: Callable[[int, int], None] | None) -> list[tuple[bool, Problem]]:
    """For each file what is wrong (True) or worth knowing (False)."""
    files: dict[Path, list[Row]] = defaultdict(list)
    for row in rows:
        files[row.utterance.path].append(row)
    found: list[tuple[bool, Problem]] = []
    for done, (path, mine) in enumerate(files.items(), 1):
        if is_file(path):
            found += _one_file(path, mine)
        if progress is not None:
            progress(done, len(files))
    return found


def _one_file(path: Path, mine: Sequence[Row]) -> list[tuple[bool, Problem]]:
    row = mine[0]
    try:
        facts = inspect_audio(path)
    except InputError as error:
        return [(True, row.problem(error.reason))]
    found = []
    length = facts.samples * SEGMENT_RATE // facts.rate
    for one in mine:
        end = one.utterance.end or (one.utterance.start or 0) + 1
        if end > length + 1:
            found.append((True, one.problem(f"{length} samples at 16 kHz; expected at least {end}")))
    for one in mine[:1] if facts.silent else mine:
        part = (one.utterance.end or length) - (one.utterance.start or 0)
        reason = inaudible_reason(max(0, part) / SEGMENT_RATE, facts.silent)
        if reason:
            found.append((True, one.problem(reason)))
    if facts.channels > 1:
        found.append((False, row.problem(f"{facts.channels} channels; they are averaged")))
    if facts.rate != SEGMENT_RATE:
        found.append((False, row.problem(f"{facts.rate} Hz; it is resampled to what the extractor needs")))
    if facts.clipped:
        found.append((False, row.problem("clipped: samples stay at full scale")))
    return found


def _count(rows: Sequence[Row], word: str) -> str:
    return f"{len(rows)} {word}{'s' if len(rows) > 1 else ''}"

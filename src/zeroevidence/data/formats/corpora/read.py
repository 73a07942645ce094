"""Reading corpora of speech.

| kind | files |
| --- | --- |
| Kaldi data folder, or a folder of several | wav.scp, utt2spk, perhaps spk2gender, segments, enrolls, trials |
| table with a header (TSV or CSV) | utterance, speaker, path; perhaps role, split, start, end; others are attributes |
| JSON lines | objects with the same fields |
| tree of folders | speaker/utterance.wav (flac, ogg, opus, mp3), through links too |

A ``speakers.tsv`` beside a table or in a tree describes the people; a folder with an ``utterances.tsv`` is read by it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from zeroevidence.data.files.errors import naming_file, unreadable_reason
from zeroevidence.data.formats.corpora.corpus_files import SAMPLES, CorpusRows, UtteranceRow, read_files
from zeroevidence.data.formats.corpora.table_rows import table_rows
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.speech.corpus import Corpus, session_of
from zeroevidence.errors import InputError, Problem


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
    problems = row_problems(rows)
    if problems:
        raise InputError.of(problems)
    if not rows.rows:
        raise InputError("no utterances; expected at least one", path=path)
    utterances = (row.utterance for row in unique_rows(rows))
    # by names: what is learned from speech must not depend on the order of the lines that list it
    corpus = Corpus(tuple(sorted(utterances, key=lambda utterance: (utterance.speaker, utterance.id))), rows.root)
    with naming_file(path):
        return corpus.assign(seed) if draw else corpus


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


def row_problems(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of lines, of identifiers and speakers that stand for two, and of missing files."""
    several = _repetitions(corpus) + _contradictions(corpus) + _missing_sessions(corpus)
    return corpus.problems + several + _missing_files(corpus)


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


def _missing_sessions(corpus: CorpusRows) -> list[Problem]:
    """Return the problems of utterances without a session where others have one; those to learn from need none."""
    if not any(session_of(row.utterance) for row in corpus.rows):
        return []
    rows = (row for row in corpus.rows if row.utterance.role != "train" and not session_of(row.utterance))
    reason = "has no session, but others have one; expected one for each"
    return [Problem(row.name, row.line, f"utterance {row.utterance.id!r} {reason}") for row in rows]


def _missing_files(corpus: CorpusRows) -> list[Problem]:
    reasons = ((row, unreadable_reason(row.utterance.path, "audio")) for row in corpus.rows)
    return [row.problem(reason) for row, reason in reasons if reason]

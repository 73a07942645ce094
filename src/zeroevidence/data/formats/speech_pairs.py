"""Checks of anonymised speech against the original, in corpora and in kits of the VoicePrivacy Challenges."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zeroevidence.data.audio import inaudible_reason, inspect_audio, is_silent, load_audio, read_header
from zeroevidence.data.corpus import SEGMENT_RATE, SUFFIXES, Corpus, Utterance
from zeroevidence.data.files import unreadable_reason
from zeroevidence.data.formats import text
from zeroevidence.data.formats.corpora import CorpusReport, examine_corpus, unique_rows
from zeroevidence.data.formats.corpus_files import CorpusRows, UtteranceRow, read_files, read_kaldi, scp_files
from zeroevidence.data.formats.input_file import open_input
from zeroevidence.data.printable import compose
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, Problem
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run

_LONGER = 1.5  # ratio of lengths; most protections stretch speech by less
_ONE_BY_ONE = 5  # pairs of other lengths that get a note each; more of them get one together
_COPIED = 0.9999  # correlation of waveforms after lossless formats, another gain or a delay
_KEPT = 0.98  # correlation after lossy formats, or protections that hardly change the sound
_COMPARED = 10 * SEGMENT_RATE  # samples of a recording
_DELAY = SEGMENT_RATE // 10  # samples by which a copy may be shifted


@dataclass(frozen=True, slots=True)
class PairReport(CorpusReport):
    """Problems and notes of pairs of original and anonymised utterances.

    Parameters
    ----------
    compared
        Number of pairs.
    kept_waveform
        Number of anonymised utterances whose waveform is nearly that of the original.
    same_audio
        Number of anonymised utterances whose samples are those of an utterance of another speaker.
    """

    compared: int = 0
    kept_waveform: int = 0
    same_audio: int = 0


@dataclass(frozen=True, slots=True)
class SpeechReport:
    """What was found in a corpus, and in its anonymised utterances where there are such."""

    corpus: CorpusReport
    pairs: PairReport | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems; none where the speech can be audited."""
        return (*self.corpus.problems, *(self.pairs.problems if self.pairs else ()))

    @property
    def notes(self) -> tuple[Problem, ...]:
        """All notes."""
        return (*self.corpus.notes, *(self.pairs.notes if self.pairs else ()))


def examine_speech(
    source: str | Path | CorpusRows,
    anonymised: str | Path | None = None,
    left_out: Collection[str] = (),
    run: Run = Run(),
) -> SpeechReport:
    """Return what stands in the way of an audit of this speech, and what is good to know.

    Parameters
    ----------
    source
        The folder or table of the corpus, or its files as they were read.
    anonymised
        The folder of its anonymised utterances, if there is one.
    left_out
        Identifiers of utterances that are not looked at on either side.
    run
        Its cores are processes that read audio; the result does not depend on them.
    """
    corpus = examine_corpus(source, left_out, run)
    if anonymised is None:
        return SpeechReport(corpus)
    try:
        return SpeechReport(corpus, examine_pairs(source, anonymised, left_out, run))
    except InputError as error:
        return SpeechReport(corpus, PairReport(() if error.problem in corpus.problems else (error.problem,)))


def examine_pairs(
    source: str | Path | CorpusRows, anonymised: str | Path, left_out: Collection[str] = (), run: Run = Run()
) -> PairReport:
    """Return where original and anonymised utterances do not match, as problems and notes.

    Problems: utterances without an anonymised file; anonymised audio that cannot be read, is silent or too short; and
    audio that is the original, also in another format, louder or delayed. Notes: waveforms that are nearly those of
    the original, lengths that differ by more than a half, the same audio for several speakers, and anonymised files
    that belong to no utterance. The parameters are those of `examine_speech`.
    """
    step = run.progress("checking the protected speech", "pairs")
    rows = source if isinstance(source, CorpusRows) else read_files(source)
    utterances = (row.utterance for row in unique_rows(rows))
    corpus = Corpus(tuple(each for each in utterances if each.id not in left_out), rows.root)
    counterparts, problems = corpus.counterparts(anonymised)
    pairs = [(utterance, counterparts[utterance.id]) for utterance in corpus if utterance.id in counterparts]
    checks = []
    for check in compute_each(_check_pair, pairs, run, little=True):
        checks.append(check)
        step(len(checks), len(pairs))
    same_audio, notes = _same_audio([(pair[1], check.digest) for pair, check in zip(pairs, checks, strict=True)])
    of_other_length = sum(check.other_length for check in checks)
    if of_other_length > _ONE_BY_ONE:
        checks = [replace(check, notes=()) if check.other_length else check for check in checks]
        reason = f"{of_other_length} of {len(pairs)} recordings are longer or shorter than the originals by more than "
        reason += "a half; that is so where speech is made anew, and where files do not belong together"
        notes = [Problem(str(anonymised), None, reason), *notes]
    affix = corpus.affix(anonymised) if pairs else None
    if affix is not None:
        reason = f"its files have {affix} the names of the originals, and count as theirs"
        notes = [Problem(str(anonymised), None, reason), *notes]
    used = {other.path.resolve() for _, other in pairs}
    files = [file for file in sorted(Path(anonymised).rglob("*")) if file.suffix.lower() in SUFFIXES]
    left = [file for file in files if file.resolve() not in used]
    notes += [Problem(str(file), None, "belongs to no original utterance; it is left out") for file in left]
    return PairReport(
        (*problems, *(problem for check in checks for problem in check.problems)),
        (*(note for check in checks for note in check.notes), *notes),
        len(pairs),
        sum(check.kept_waveform for check in checks),
        same_audio,
    )


@dataclass(frozen=True, slots=True)
class _PairCheck(CorpusReport):
    kept_waveform: bool = False
    other_length: bool = False
    digest: str = ""  # of the anonymised samples; empty where they cannot be used


def _check_pair(pair: tuple[Utterance, Utterance]) -> _PairCheck:
    """Return the problem or the note of a pair, and the digest of the anonymised audio."""
    original, anonymised = pair

    def place(reason: str) -> tuple[Problem, ...]:
        return (Problem(str(anonymised.path), None, reason),)

    try:
        first, second = load_audio(original), load_audio(anonymised)
    except InputError as error:
        return _PairCheck() if error.path == str(original.path) else _PairCheck(place(error.reason))
    seconds = [len(wave) / SEGMENT_RATE for wave in (first, second)]
    reason = inaudible_reason(seconds[1], is_silent(second))
    if reason:
        return _PairCheck(place(reason))
    name = f"the original of {original.id!r}"
    if np.array_equal(first, second):
        return _PairCheck(place(f"is {name}, sample by sample; expected anonymised speech"))
    digest = hashlib.sha256(second.tobytes()).hexdigest()
    correlation = _largest_correlation(first, second)
    if correlation >= _COPIED:
        reason = f"is {name} (the waveforms correlate by {correlation:.4f}); expected anonymised speech"
        return _PairCheck(place(reason))
    if correlation >= _KEPT:
        reason = f"has nearly the waveform of {name} (correlation {correlation:.3f}): encoded again, or hardly changed"
        return _PairCheck((), place(reason), kept_waveform=True, digest=digest)
    if max(seconds) > _LONGER * min(seconds):
        reason = f"{seconds[1]:.2f} s, but {name} has {seconds[0]:.2f} s; are they the same utterance?"
        return _PairCheck((), place(reason), other_length=True, digest=digest)
    return _PairCheck(digest=digest)


def _largest_correlation(first: Wave, second: Wave) -> float:
    """Return the largest correlation of two waveforms over small delays; 0 where their lengths differ by more."""
    if abs(len(first) - len(second)) > _DELAY:
        return 0.0
    x, y = (wave[:_COMPARED].astype(np.float64) for wave in (first, second))
    x, y = x - x.mean(), y - y.mean()
    size = 1 << (len(x) + len(y) - 1).bit_length()
    products = np.fft.irfft(np.conj(np.fft.rfft(x, size)) * np.fft.rfft(y, size), size)
    near = np.concatenate((products[: _DELAY + 1], products[-_DELAY:]))
    scale = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(np.abs(near).max()) / scale if scale > 0.0 else 0.0


def _same_audio(digests: list[tuple[Utterance, str]]) -> tuple[int, list[Problem]]:
    """Return how many utterances have the samples of another speaker's, and a note about each group of them."""
    groups: dict[str, list[Utterance]] = defaultdict(list)
    for utterance, digest in digests:
        if digest:
            groups[digest].append(utterance)
    shared = [group for group in groups.values() if len({utterance.speaker for utterance in group}) > 1]
    notes = []
    for group in shared:
        number = f"{len(group)} utterances of {len({item.speaker for item in group})} speakers"
        reason = f"the same audio stands for {number}, among them {group[1].id!r}"
        notes.append(Problem(str(group[0].path), None, reason))
    return sum(map(len, shared)), notes


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


def check_kit(folder: str | Path, suffix: str, tolerance: float = TOLERANCE, run: Run = Run()) -> KitReport:
    """Return the problems of the anonymised speech of a kit.

    Parameters
    ----------
    folder
        The kit, or its ``data``.
    suffix
        The ending of the names of anonymised sets, such as ``_x``.
    tolerance
        By how much of its length an utterance may differ from its original.
    run
        Shows progress.

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
    trial_sets = [speech for speech in sets if _TRIALS in speech.root.name]
    for speech in trial_sets:
        problems += _trial_problems(speech, sets)
    problems += _overlap(sets)
    pairs = [pair for speech in sets for pair in _pairs(speech, data / f"{speech.root.name}{suffix}", problems)]
    folders, step = set[Path](), run.progress(str(folder), "files")
    for done, (row, path) in enumerate(pairs, 1):
        reason = _audio_problem(row, path, tolerance, first=path.parent not in folders)
        folders.add(path.parent)
        if reason:
            problems.append(Problem(str(path), None, reason))
        step(done, len(pairs))
    return KitReport(tuple(problems), len(sets), len(trial_sets), len(pairs))


def _original_sets(data: Path, suffix: str, problems: list[Problem]) -> list[CorpusRows]:
    """Return the sets of original speech: neither joined of others, nor anonymised by this or another system."""
    sets: list[CorpusRows] = []
    for folder in sorted(file.parent for file in data.glob("*/wav.scp")):
        if folder.name.endswith((suffix, _DERIVED)):
            continue
        corpus = CorpusRows(folder)
        read_kaldi(folder, corpus)
        ids = {row.utterance.id for row in corpus.rows}
        copied = [other for other in sets if folder.name.startswith(f"{other.root.name}_")]
        if all(ids != {row.utterance.id for row in other.rows} for other in copied):
            sets.append(corpus)
            problems += corpus.problems
    return sets


def _trial_problems(trials: CorpusRows, sets: Sequence[CorpusRows]) -> list[Problem]:
    """Return the problems of the key of a set: unknown labels, speakers that are not enrolled."""
    file = trials.root / "trials"
    if not file.is_file():
        return [Problem(str(trials.root), None, "no file named trials; expected the key")]
    home = f"{trials.root.name.split(_TRIALS)[0]}{_ENROLLS}"
    enrolled = next((speech for speech in sets if speech.root.name == home), None)
    speakers = set() if enrolled is None else {row.utterance.speaker for row in enrolled.rows}
    problems = text.FileProblems(str(file))
    for number, line in text.full_lines(open_input(file).read(), problems):
        cells = compose(line).split()
        if len(cells) != 3:
            problems.add(number, f"{len(cells)} column(s); expected speaker utterance target|nontarget")
        elif cells[2] not in text.LABELS:
            problems.add(number, f"unknown label {cells[2]!r}; {text.LABELS_EXPECTED}")
        elif enrolled is not None and cells[0] not in speakers:
            problems.add(number, f"{cells[0]!r} is not enrolled in {home}; expected one of its people")
    if enrolled is None:
        return [Problem(str(trials.root), None, f"no set named {home}; expected the enrolment"), *problems.all()]
    return problems.all()


def _overlap(sets: Sequence[CorpusRows]) -> list[Problem]:
    """Return the problems of speakers who are both trained on and evaluated."""
    rows = [(row.utterance, speech.root) for speech in sets for row in speech.rows]
    trained = {utterance.speaker: home.name for utterance, home in rows if utterance.role == "train"}
    evaluated = {utterance.speaker: str(home) for utterance, home in rows if utterance.role in ("enrol", "trial")}
    both = {name: f"speaker {name!r} is in {trained[name]}, too" for name in sorted(trained.keys() & evaluated.keys())}
    return [Problem(evaluated[name], None, f"{reason}; expected other people") for name, reason in both.items()]


def _pairs(original: CorpusRows, folder: Path, problems: list[Problem]) -> list[tuple[UtteranceRow, Path]]:
    """Return each original utterance with its anonymised file; ids that only one of the two has are problems."""
    reason = unreadable_reason(folder, folder=True)
    if reason:
        problems.append(Problem(str(folder), None, f"{reason}; expected the anonymised speech of {original.root.name}"))
        return []
    if (folder / "wav.scp").is_file():
        corpus = CorpusRows(folder)
        files = {name: path for name, (_, path) in scp_files(folder, corpus).items()}
        problems += corpus.problems
    else:
        home = folder / "wav" if (folder / "wav").is_dir() else folder
        files = {compose(file.stem): file for file in sorted(home.rglob("*")) if file.suffix.lower() in SUFFIXES}
    pairs = []
    for row in original.rows:
        path = files.pop(row.utterance.id, None)
        if path is None:
            reason = f"{row.utterance.id!r} is not in {folder}; expected its anonymised speech"
            problems.append(row.note(reason))
        else:
            pairs.append((row, path))
    reason = f"is not in {original.root.name}; expected the same utterances"
    problems += [Problem(str(folder), None, f"{name!r} {reason}") for name in sorted(files)]
    return pairs


def _audio_problem(row: UtteranceRow, path: Path, tolerance: float, *, first: bool) -> str:
    """Return what is wrong with an anonymised file; empty where nothing is."""
    try:
        facts = inspect_audio(path)
        rate, seconds, *_ = read_header(row.utterance.path)
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

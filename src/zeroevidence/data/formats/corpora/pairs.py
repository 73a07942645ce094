"""Checking original and anonymised speech side by side, as `doctor` and `audit` do before anything else."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zeroevidence.data.formats.corpora.checks import CorpusReport, Progress, examine_corpus, in_threads
from zeroevidence.data.formats.corpora.corpus_files import read_files
from zeroevidence.data.formats.corpora.read import unique_rows
from zeroevidence.data.speech.audio import inaudible_reason, is_silent, load_audio
from zeroevidence.data.speech.corpus import SEGMENT_RATE, SUFFIXES, Corpus, Utterance
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, Problem

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
    path: str | Path,
    anonymised: str | Path | None = None,
    *,
    left_out: Collection[str] = (),
    workers: int = 1,
    progress: Callable[[str, str], Progress | None] = lambda title, units: None,  # noqa: ARG005
) -> SpeechReport:
    """Return what stands in the way of an audit of this speech, and what is good to know.

    Parameters
    ----------
    path
        The folder or table of the corpus.
    anonymised
        The folder of its anonymised utterances, if there is one.
    left_out
        Identifiers of utterances that are not looked at on either side.
    workers
        Threads that read audio; the result does not depend on it.
    progress
        Called with a title and a unit, returns what is called with numbers done and of all.
    """
    checking = progress("checking the original speech", "files")
    corpus = examine_corpus(path, left_out=left_out, workers=workers, progress=checking)
    if anonymised is None:
        return SpeechReport(corpus)
    checking = progress("checking the protected speech", "pairs")
    try:
        pairs = examine_pairs(path, anonymised, left_out=left_out, workers=workers, progress=checking)
        return SpeechReport(corpus, pairs)
    except InputError as error:
        return SpeechReport(corpus, PairReport(() if error.problem in corpus.problems else (error.problem,)))


def examine_pairs(
    path: str | Path,
    anonymised: str | Path,
    *,
    left_out: Collection[str] = (),
    workers: int = 1,
    progress: Progress | None = None,
) -> PairReport:
    """Return where original and anonymised utterances do not match, as problems and notes.

    Problems: utterances without an anonymised file; anonymised audio that cannot be read, is silent or too short; and
    audio that is the original, also in another format, louder or delayed. Notes: waveforms that are nearly those of
    the original, lengths that differ by more than a half, the same audio for several speakers, and anonymised files
    that belong to no utterance. The parameters are those of `examine_speech`.
    """
    rows = read_files(path)
    utterances = (row.utterance for row in unique_rows(rows))
    corpus = Corpus(tuple(each for each in utterances if each.id not in left_out), rows.root)
    counterparts, problems = corpus.counterparts(anonymised)
    pairs = [(utterance, counterparts[utterance.id]) for utterance in corpus if utterance.id in counterparts]
    checks = in_threads(lambda pair: _check_pair(*pair), pairs, workers, progress)
    same_audio, notes = _same_audio([(pair[1], check.digest) for pair, check in zip(pairs, checks, strict=True)])
    of_other_length = sum(check.other_length for check in checks)
    if of_other_length > _ONE_BY_ONE:
        checks = [replace(check, notes=()) if check.other_length else check for check in checks]
        reason = (
            f"{of_other_length} of {len(pairs)} recordings are longer or shorter than the originals by more than a "
            "half; that is so where speech is made anew, and where files do not belong together"
        )
        notes = [Problem(str(anonymised), None, reason), *notes]
    affix = corpus.affix(anonymised) if pairs else None
    if affix is not None:
        reason = f"its files have {affix} the names of the originals, and count as theirs"
        notes = [Problem(str(anonymised), None, reason), *notes]
    used = {other.path.resolve() for _, other in pairs}
    files = [file for file in sorted(Path(anonymised).rglob("*")) if file.suffix.lower() in SUFFIXES]
    notes += [
        Problem(str(file), None, "belongs to no original utterance; it is left out")
        for file in files
        if file.resolve() not in used
    ]
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


def _check_pair(original: Utterance, anonymised: Utterance) -> _PairCheck:
    """Return the problem or the note of a pair, and the digest of the anonymised audio."""

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
        return _PairCheck(
            place(f"is {name} (the waveforms correlate by {correlation:.4f}); expected anonymised speech")
        )
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
    notes = [
        Problem(
            str(group[0].path),
            None,
            f"the same audio stands for {len(group)} utterances of {len({item.speaker for item in group})} speakers, "
            f"among them {group[1].id!r}",
        )
        for group in shared
    ]
    return sum(map(len, shared)), notes

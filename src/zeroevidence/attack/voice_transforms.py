"""Transforms that protect a voice, in several draws and once for each recording; utterances in batches for workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from zeroevidence.data.audio import decode_audio, encode_audio, is_silent
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store, digest
from zeroevidence.data.waves import LONGEST_PIECE, Wave, cut_places, faded, frame_powers, pcm_samples
from zeroevidence.errors import InputError, Problem, check_stop
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run, Step


class VoiceTransform(Protocol):
    """A voice protector, deterministic: the same wave, rate and utterance give the same samples.

    `fingerprint` holds everything else that they depend on: method, parameters, seed.
    """

    @property
    def fingerprint(self) -> str:
        """Method, parameters and seed in one word."""
        ...

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """The protected waveform, at the same rate."""
        ...


_QUIET = 1e-5  # of the power of the loudest frame, -50 dB: a piece in which nobody is heard beside it


def protect(wave: Wave, rate: int, utterance: Utterance, transform: VoiceTransform | None) -> Wave:
    """Return a waveform after protection, if any; a long one in pieces, as `anonymise` writes them.

    Raises
    ------
    InputError
        Where it is refused, or nothing is left of it; of a long one, where all of its pieces are.
    """
    if transform is None:
        return wave
    if not _is_long(wave, rate):
        return _protected(wave, rate, utterance, transform)
    power, problems, pieces = frame_powers(wave, rate), [], []
    for piece in np.split(wave, cut_places(power, rate)):
        try:
            pieces.append(protect_piece(piece, rate, utterance, transform, float(power.max())))
        except InputError as error:
            problems.append(error)
            pieces.append(np.zeros(len(piece), np.float32))
    if problems and not any(piece.any() for piece in pieces):
        raise problems[0]
    return np.concatenate(pieces)


def protect_piece(wave: Wave, rate: int, utterance: Utterance, transform: VoiceTransform, loudest: float) -> Wave:
    """Return a piece of a recording after protection, faded at its ends; silence where nobody is heard in it.

    Parameters
    ----------
    wave
        The piece.
    rate
        Its rate.
    utterance
        The recording: what is drawn for it is drawn for all of its pieces.
    transform
        The protection.
    loudest
        Power of the loudest frame of the recording.
    """
    if is_silent(wave) or frame_powers(wave, rate).max(initial=0.0) < _QUIET * loudest:
        return np.zeros(len(wave), np.float32)
    return faded(_protected(wave, rate, utterance, transform), rate)


def _is_long(wave: Wave, rate: int) -> bool:
    return len(wave) > 2 * LONGEST_PIECE * rate


def _protected(wave: Wave, rate: int, utterance: Utterance, transform: VoiceTransform) -> Wave:
    result = np.asarray(transform(wave, rate, utterance), np.float32)
    if result.ndim != 1 or not result.size or not np.isfinite(result).all() or is_silent(result):
        raise InputError("is silent or not finite after protection", path=utterance.path)
    return result


def protection_key(wave: Wave, rate: int, utterance: Utterance, transform: VoiceTransform | None) -> tuple[str, ...]:
    """Return what a protected waveform depends on beside the waveform, for keys."""
    if transform is None:
        return ()
    pieces = (f"pieces of {LONGEST_PIECE} s",) if _is_long(wave, rate) else ()
    return (transform.fingerprint, utterance.id, utterance.speaker, *pieces)


NAMED_DRAW = re.compile("(.+), draw ([0-9]+)", re.DOTALL)


def name_draw(name: str, number: int) -> str:
    """Return the identifier of a recording in a further draw of the anonymiser; the released one is the first."""
    return f"{name}, draw {number}"


@dataclass(frozen=True, slots=True)
class RepeatedTransform:
    """A voice transform that is run several times on a recording, with another seed in each draw.

    Parameters
    ----------
    transforms
        The transform of each draw, that of the release first.
    released
        Identifiers of released recordings that look like those of `name_draw`.
    """

    transforms: Sequence[VoiceTransform]
    released: frozenset[str] = frozenset()

    @property
    def fingerprint(self) -> str:
        """That of the release; further draws differ in the identifiers of their recordings."""
        return self.transforms[0].fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform of a recording, in the draw that it belongs to."""
        further = None if utterance.id in self.released else NAMED_DRAW.fullmatch(utterance.id)
        if further is None:
            return self.transforms[0](wave, rate, utterance)
        return self.transforms[int(further[2]) - 1](wave, rate, replace(utterance, id=further[1]))


@dataclass(frozen=True, slots=True)
class CachedTransform:
    """A voice transform whose samples have 16 bits, as in the files that `anonymise` writes.

    What is attacked is what would be released, and with a store it is computed once for each recording.

    Parameters
    ----------
    transform
        The transform.
    store
        Keeps waveforms, as FLAC; None where they are needed once.
    """

    transform: VoiceTransform
    store: Store | None

    @property
    def fingerprint(self) -> str:
        """That of the transform, and how its samples are kept."""
        return f"{self.transform.fingerprint}, 16 bits"

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform."""
        key = digest(self.fingerprint, str(rate), utterance.id, utterance.speaker, wave)
        kept = None if self.store is None else self.store.load(key)
        if kept is not None:
            return decode_audio(kept)
        result = np.asarray(self.transform(wave, rate, utterance), np.float32)
        if result.ndim != 1 or not result.size or not np.isfinite(result).all():
            return result  # which `protect` refuses
        rounded = np.asarray(pcm_samples(result) / 32768.0, np.float32)
        if self.store is not None:
            self.store.save(key, encode_audio(f"{utterance.path}.flac", rounded, rate))
        return rounded


@dataclass(frozen=True, slots=True)
class RememberedTransform:
    """A voice transform of one recording, computed once for all that is computed from it.

    Parameters
    ----------
    transform
        The transform.
    waves
        What it gave for the waveform or its pieces, by digest.
    """

    transform: VoiceTransform
    waves: dict[str, Wave] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """That of the transform."""
        return self.transform.fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform."""
        key = digest(str(rate), wave)
        if key not in self.waves:
            self.waves[key] = self.transform(wave, rate, utterance)
        return self.waves[key]


Result = TypeVar("Result")
Batch: TypeAlias = list[tuple[int, Utterance]]
_BATCH = 16  # utterances at most
_PARTS = 16  # for each worker, so that all end at nearly the same time
_SINGLE = 8  # utterances that are no batch: the first, from which it is seen whether there is little work


def compute_in_batches(
    compute: Callable[[Batch], list[tuple[int, Result | Problem]]],
    utterances: Sequence[Utterance],
    step: Step,
    run: Run = Run(),
) -> tuple[dict[int, Result], list[Problem]]:
    """Return the results of a function for all utterances by their places, and the problems, in order.

    Parameters
    ----------
    compute
        The function, which is given utterances with their places and returns a result or a problem for each place.
    utterances
        The utterances; on a cluster the function gets their absolute paths.
    step
        Called with the number of utterances done and of all.
    run
        Its workers, or those of its scheduler, share the batches, of which those of the longest utterances come first.
    """
    if run.scheduler is not None:
        utterances = [replace(utterance, path=utterance.path.absolute()) for utterance in utterances]
    order = sorted(enumerate(utterances), key=lambda each: (-_length(each[1]), each[0]))
    longest, shortest = order[:-_SINGLE], order[-_SINGLE:]
    size = max(1, min(_BATCH, len(longest) // (_PARTS * run.workers)))
    parts = [[each] for each in shortest]
    parts += [longest[first : first + size] for first in range(0, len(longest), size)]
    outcomes: dict[int, Result | Problem] = {}
    with closing(compute_each(compute, parts, run, little=True)) as computed:
        for part in computed:
            outcomes.update(part)
            step(len(outcomes), len(utterances))
    ordered = sorted(outcomes.items())
    results = {at: outcome for at, outcome in ordered if not isinstance(outcome, Problem)}
    return results, [outcome for _, outcome in ordered if isinstance(outcome, Problem)]


def compute_one_by_one(
    compute: Callable[[Utterance], Result], utterances: Sequence[Utterance], step: Step, run: Run, lister: str = ""
) -> list[Result]:
    """Return the results of a function for each utterance, in order; their problems are raised when all are done.

    Parameters
    ----------
    compute
        The function, which may raise an `InputError`.
    utterances, step, run
        As `compute_in_batches` takes them.
    lister
        A command that lists all problems, for the message.
    """
    results, problems = compute_in_batches(partial(_compute_batch, compute), utterances, step, run)
    if problems:
        raise InputError.of(problems, lister)
    return list(results.values())


def _compute_batch(compute: Callable[[Utterance], Result], batch: Batch) -> list[tuple[int, Result | Problem]]:
    outcomes: list[tuple[int, Result | Problem]] = []
    for at, utterance in batch:
        check_stop()
        try:
            outcomes.append((at, compute(utterance)))
        except InputError as error:
            outcomes.append((at, utterance_problem(utterance, error)))
    return outcomes


def utterance_problem(utterance: Utterance, error: InputError) -> Problem:
    """Return an error as a problem of an utterance's file; one that names no file is about the utterance."""
    reason = error.reason if error.path == str(utterance.path) else f"utterance {utterance.id!r}: {error.reason}"
    return Problem(str(utterance.path), None, reason, error.remedy, error.heard)


def _length(utterance: Utterance) -> int:
    """Return the approximate length: exact for parts of files, by the size of the file otherwise."""
    if utterance.end is not None:
        return utterance.end - (utterance.start or 0)
    try:
        return utterance.path.stat().st_size
    except OSError:
        return 0

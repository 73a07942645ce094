"""Utterances to embeddings: read, protect, embed, and keep every vector on disk under what it was computed from.

A stored vector is found again by the samples of the utterance, the extractor's fingerprint and, where a protector
stands between, its fingerprint with the utterance's name and speaker (a protector may draw by either). What an
interruption leaves is computed again, what was finished is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np

from zeroevidence.attack.extractors.extractor import Extractor, Wave
from zeroevidence.attack.speech.array_store import Vector, VectorStore
from zeroevidence.attack.speech.batches import in_batches
from zeroevidence.attack.speech.protection import VoiceTransform, protected
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import is_file
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, Problem
from zeroevidence.linkage.optional import one_blas_thread


def extract(
    utterances: Sequence[Utterance],
    extractor: Extractor,
    *,
    cache: str | Path | None = None,
    transform: VoiceTransform | None = None,
    batch: int = 16,
    progress: Callable[[int, int], None] | None = None,
    workers: int = 1,
    skip: bool = False,
) -> Embeddings:
    """One vector per utterance, in their order, with identifiers, speakers and attributes.

    Parameters
    ----------
    cache
        A folder of stored vectors; None stores nothing.
    transform
        Protects each waveform before it is embedded.
    batch
        Utterances handed to the extractor at once, those of similar length together; the vectors do not depend on it.
    progress
        Called with the number of utterances done and of all.
    workers
        Threads that read, protect and embed, each on one core: matrix products do not spread over more meanwhile, nor
        do encoders unless they were loaded so. The vectors do not depend on it.
    skip
        Leave utterances out that cannot be embedded, instead of refusing once the others are done.

    Raises
    ------
    InputError
        Before anything is computed where a file is missing; after the others are done and stored where one cannot be
        read, is empty, silent or too short. Names the file, and says how many more there are.
    """
    wanted = list(utterances)
    _check(wanted, batch, workers)
    missing = [Problem(str(one.path), None, "no such file") for one in wanted if not is_file(one.path)]
    if missing and not skip:
        raise InputError.of(missing)
    store = None if cache is None else VectorStore(Path(cache), extractor.dim)
    job = _Job(extractor, transform, store)
    with one_blas_thread():
        vectors, problems = _gathered(in_batches(job.run, wanted, batch, workers), len(wanted), progress)
    if problems and not (skip and vectors):
        raise InputError.of(problems)
    return _table(wanted, vectors)


_Outcomes = list[tuple[int, Vector | Problem]]
_PATIENCE = 5.0  # seconds of work that an interruption may cost
_SOUND = 300.0  # seconds of sound that are embedded at once


def _check(wanted: list[Utterance], batch: int, workers: int) -> None:
    if not wanted:
        raise InputError("no utterances; expected at least one")
    if batch < 1 or workers < 1:
        raise InputError(f"batch {batch}, workers {workers}; expected at least one of each")
    if len({one.id for one in wanted}) < len(wanted):
        raise InputError("an utterance occurs twice; expected each identifier once")


def _gathered(
    parts: Iterable[_Outcomes], total: int, progress: Callable[[int, int], None] | None
) -> tuple[dict[int, Vector], list[Problem]]:
    """The vectors by place and what went wrong, told batch by batch as they come."""
    vectors: dict[int, Vector] = {}
    problems: list[Problem] = []
    for part in parts:
        for at, outcome in part:
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                vectors[at] = outcome
        if progress is not None:
            progress(len(vectors) + len(problems), total)
    return vectors, problems


def _table(wanted: list[Utterance], vectors: dict[int, Vector]) -> Embeddings:
    """What was embedded, in the order of the utterances; an attribute that one lacks is empty."""
    rows = sorted(vectors)
    kept = [wanted[at] for at in rows]
    names = dict.fromkeys(name for one in kept for name in one.attributes)
    return Embeddings(
        np.stack([vectors[at] for at in rows]),
        np.array([one.id for one in kept]),
        np.array([one.speaker for one in kept]),
        {name: np.array([one.attributes.get(name, "") for one in kept]) for name in names},
    )


@dataclass(frozen=True, slots=True)
class _Job:
    extractor: Extractor
    transform: VoiceTransform | None
    store: VectorStore | None

    def run(self, part: list[tuple[int, Utterance]]) -> _Outcomes:
        """The vector of each utterance, or what is wrong with it."""
        outcomes: _Outcomes = []
        waiting: list[tuple[int, Utterance, Wave, str]] = []
        begun = monotonic()
        for at, one in part:
            try:
                wave = load_speech(one, self.extractor.sample_rate).wave
                key = self._key(wave, one)
                stored = None if self.store is None else self.store.load(key)
                if stored is None:
                    waiting.append((at, one, protected(wave, self.extractor.sample_rate, one, self.transform), key))
                else:
                    outcomes.append((at, stored))
            except InputError as error:
                outcomes.append((at, _problem(one, error)))
            seconds = sum(len(wave) for _, _, wave, _ in waiting) / self.extractor.sample_rate
            # A slow protector or long recordings: what is there is stored before more is begun.
            if waiting and (monotonic() - begun > _PATIENCE or seconds > _SOUND):
                outcomes += self._stored(waiting)
                waiting, begun = [], monotonic()
        return outcomes + self._stored(waiting)

    def _stored(self, waiting: list[tuple[int, Utterance, Wave, str]]) -> _Outcomes:
        """The vectors of waveforms, kept on disk."""
        outcomes: _Outcomes = []
        for at, key, outcome in self._embedded(waiting):
            if self.store is not None and not isinstance(outcome, Problem):
                self.store.save(key, outcome)
            outcomes.append((at, outcome))
        return outcomes

    def _embedded(self, waiting: list[tuple[int, Utterance, Wave, str]]) -> list[tuple[int, str, Vector | Problem]]:
        if not waiting:
            return []
        try:
            vectors = self.extractor.embed([wave for _, _, wave, _ in waiting])
        except InputError as error:
            if len(waiting) == 1:
                at, one, _, key = waiting[0]
                return [(at, key, _problem(one, error))]
            # One utterance spoils its batch: find out which.
            return [outcome for single in waiting for outcome in self._embedded([single])]
        if vectors.shape != (len(waiting), self.extractor.dim):
            expected = f"({len(waiting)}, {self.extractor.dim})"
            raise InputError(f"{self.extractor.name} gave vectors of shape {vectors.shape}; expected {expected}")
        finite = np.isfinite(vectors)
        return [
            (
                at,
                key,
                Problem(str(one.path), None, "its vector is not finite") if not finite[row].all() else vectors[row],
            )
            for row, (at, one, _, key) in enumerate(waiting)
        ]

    def _key(self, wave: Wave, one: Utterance) -> str:
        words = [self.extractor.fingerprint, str(self.extractor.sample_rate)]
        if self.transform is not None:
            words += [self.transform.fingerprint, one.id, one.speaker]
        digest = hashlib.sha256("\0".join(words).encode() + b"\0")
        digest.update(wave.astype("<f4", copy=False).tobytes())
        return digest.hexdigest()


def _problem(one: Utterance, error: InputError) -> Problem:
    what = error.reason if error.path is not None else f"utterance {one.id!r}: {error.reason}"
    return Problem(str(one.path), None, what)

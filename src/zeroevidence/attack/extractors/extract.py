"""Extraction: utterances are read, protected and embedded, and their vectors are cached.

The key of a cached vector holds the samples of the utterance, the extractor's fingerprint and, with a protector, its
fingerprint with the utterance's name and speaker (a protector may draw by either).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from zeroevidence.attack.extractors.extractor import Extractor
from zeroevidence.attack.speech.array_store import Array, ArrayStore, array_key
from zeroevidence.attack.speech.batches import collect, in_batches, utterance_problem
from zeroevidence.attack.speech.cluster import on_cluster
from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files.errors import unreadable_reason
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import LISTER, InputError, Problem
from zeroevidence.interruption import check_stop
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
    scheduler: Any = None,
    skip: bool = False,
) -> Embeddings:
    """Return one vector per utterance, in their order, with identifiers, speakers and attributes.

    Parameters
    ----------
    utterances
        The utterances.
    extractor
        Computes the vectors.
    cache
        A folder of cached vectors; None for no cache.
    transform
        Protects each waveform before it is embedded.
    batch
        Utterances that are embedded at once, those of similar length together; the vectors do not depend on it.
    progress
        Called with the number of utterances done and of all.
    workers
        Threads that read, protect and embed, each on one core: matrix products do not spread over more meanwhile, nor
        do encoders unless they were loaded so. The vectors do not depend on it.
    scheduler
        Address of a Dask scheduler, or a client of it, whose workers read, protect and embed; files and cache must be
        where they and this machine see them. None for this machine.
    skip
        Leave out utterances that cannot be embedded, instead of raising an error once the others are done.

    Raises
    ------
    InputError
        Before anything is computed where a file is missing; after the others are done and stored where one cannot be
        read, is empty, silent or too short. Names the file, and says how many more there are.
    """
    utterances = list(utterances)
    _check(utterances, batch, workers)
    reasons = ((str(each.path), unreadable_reason(each.path, "audio")) for each in utterances)
    missing = [Problem(path, None, reason) for path, reason in reasons if reason]
    if missing and not skip:
        raise InputError.of(missing)
    store = None if cache is None else ArrayStore(Path(cache).absolute(), extractor.dim)
    extraction = _BatchExtraction(extractor, transform, store)
    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        run: Callable[[list[tuple[int, Utterance]]], _Outcomes] = extraction.run
        if scheduler is not None:
            utterances = [replace(utterance, path=utterance.path.absolute()) for utterance in utterances]
            run, workers = stack.enter_context(on_cluster(partial(_runner, extraction), scheduler))
        batches = stack.enter_context(closing(in_batches(run, utterances, batch, workers)))
        vectors, problems = collect(batches, len(utterances), progress)
    if problems and not (skip and vectors):
        raise InputError.of(problems, LISTER if transform is None else "")  # nothing lists what a protector refuses
    return to_embeddings({at: utterances[at] for at in sorted(vectors)}, vectors)


_PATIENCE = 5.0  # seconds of work that an interruption may cost
_SPEECH = 300.0  # seconds of speech that are embedded at once


def _check(utterances: Sequence[Utterance], batch: int, workers: int) -> None:
    if not utterances:
        raise InputError("no utterances; expected at least one")
    if batch < 1 or workers < 1:
        raise InputError(f"batch {batch}, workers {workers}; expected at least one of each")
    if len({utterance.id for utterance in utterances}) < len(utterances):
        raise InputError("an utterance occurs twice; expected each identifier once")


def to_embeddings(utterances: Mapping[int, Utterance], vectors: Mapping[int, Array]) -> Embeddings:
    """Return the embedded utterances as a table; an attribute that one lacks is empty."""
    rows = utterances.values()
    names = dict.fromkeys(name for row in rows for name in row.attributes)
    return Embeddings(
        np.stack([vectors[at] for at in utterances]),
        np.array([row.id for row in rows]),
        np.array([row.speaker for row in rows]),
        {name: np.array([row.attributes.get(name, "") for row in rows]) for name in names},
    )


_Outcomes: TypeAlias = list[tuple[int, Array | Problem]]


@dataclass(frozen=True, slots=True)
class _Pending:
    """A waveform that waits to be embedded."""

    place: int
    utterance: Utterance
    wave: Wave
    key: str


def _runner(extraction: _BatchExtraction) -> Callable[[list[tuple[int, Utterance]]], _Outcomes]:
    """Return the function of a worker."""
    return extraction.run


@dataclass(frozen=True, slots=True)
class _BatchExtraction:
    extractor: Extractor
    transform: VoiceTransform | None
    store: ArrayStore | None

    def run(self, batch: list[tuple[int, Utterance]]) -> _Outcomes:
        """Return the vector of each utterance, or its problem."""
        outcomes: _Outcomes = []
        pending: list[_Pending] = []
        begun, rate = monotonic(), self.extractor.sample_rate
        for at, utterance in batch:
            check_stop()
            try:
                wave = load_speech(utterance, rate).wave
                key = self._key(wave, utterance)
                cached = None if self.store is None else self.store.load(key)
                if cached is None or len(cached) != 1:
                    pending.append(_Pending(at, utterance, protect(wave, rate, utterance, self.transform), key))
                else:
                    outcomes.append((at, cached[0]))
            except InputError as error:
                outcomes.append((at, utterance_problem(utterance, error)))
            seconds = sum(len(item.wave) for item in pending) / rate
            # A slow protector or long recordings: what is there is stored before more is begun.
            if pending and (monotonic() - begun > _PATIENCE or seconds > _SPEECH):
                outcomes += self._embed(pending)
                pending, begun = [], monotonic()
        return outcomes + self._embed(pending)

    def _embed(self, pending: list[_Pending]) -> _Outcomes:
        """Embed waveforms, and cache their vectors."""
        if not pending:
            return []
        try:
            vectors = self.extractor.embed([item.wave for item in pending])
        except InputError as error:
            if len(pending) == 1:
                return [(pending[0].place, utterance_problem(pending[0].utterance, error))]
            # One utterance spoils its batch: find out which.
            return [outcome for item in pending for outcome in self._embed([item])]
        if vectors.shape != (len(pending), self.extractor.dim):
            expected = f"({len(pending)}, {self.extractor.dim})"
            raise InputError(f"{self.extractor.name} gave vectors of shape {vectors.shape}; expected {expected}")
        outcomes: _Outcomes = []
        for item, vector in zip(pending, vectors, strict=True):
            if not np.isfinite(vector).all():
                outcomes.append((item.place, Problem(str(item.utterance.path), None, "its vector is not finite")))
                continue
            if self.store is not None:
                self.store.save(item.key, vector)
            outcomes.append((item.place, vector))
        return outcomes

    def _key(self, wave: Wave, utterance: Utterance) -> str:
        drawn = () if self.transform is None else (self.transform.fingerprint, utterance.id, utterance.speaker)
        return array_key(wave, self.extractor.fingerprint, str(self.extractor.sample_rate), *drawn)

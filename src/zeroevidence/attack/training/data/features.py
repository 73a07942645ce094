"""Features of a corpus to train on: read by all cores and kept on disk in half precision."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.speech.array_store import array_key
from zeroevidence.attack.speech.batches import collect, in_batches, utterance_problem
from zeroevidence.attack.speech.cluster import on_cluster
from zeroevidence.attack.speech.front_ends import BANDS, FRONT_ENDS
from zeroevidence.attack.speech.processes import in_processes
from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.attack.training.data.feature_store import FeatureStore, StoredFrames
from zeroevidence.attack.training.data.frame_set import Frames, FrameSet
from zeroevidence.data.speech.audio import load_speech
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import LISTER, InputError, Problem, UsageError
from zeroevidence.interruption import check_stop
from zeroevidence.linkage.optional import one_blas_thread
from zeroevidence.uncertainty.resampling.draws import Progress

_BATCH = 16
_MANY = 4096  # utterances from which on processes read, each of which takes a second to start
_VERSION = "1"  # of the front ends; raised whenever features would change


def read_features(
    utterances: Sequence[Utterance],
    card: EncoderCard,
    *,
    transform: VoiceTransform | None = None,
    store: Path | None = None,
    workers: int | None = None,
    scheduler: Any = None,
    progress: Progress | None = None,
) -> tuple[FrameSet, list[str]]:
    """Return the features of utterances that an encoder takes, in half precision, and a line on each conversion.

    Parameters
    ----------
    utterances
        The utterances.
    card
        The card of the encoder.
    transform
        Protects each waveform before features are computed.
    store
        A folder that keeps the features of every utterance, so that interrupted reading continues; None for memory.
    workers
        Threads, or processes where many utterances are not protected first, each on one core; as many as there are
        cores by default.
    scheduler
        Address of a Dask scheduler, or a client of it, whose workers read the speech into `store`; both must be where
        they and this machine see them. None for this machine.
    progress
        Called with the number of utterances done and of all.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    if card.front_end not in FRONT_ENDS:
        raise InputError(f"{card.name}: takes {card.front_end}; expected an encoder of features")
    threads = workers or os.cpu_count() or 1
    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        kept = None if store is None else stack.enter_context(FeatureStore(store, BANDS))
        read: Callable[[list[tuple[int, Utterance]]], _Outcomes] = _FeatureReader(card, transform, kept).read
        if scheduler is not None:
            if store is None or transform is not None:
                raise UsageError("a cluster reads speech that is protected already, into a folder")
            utterances = [replace(utterance, path=utterance.path.absolute()) for utterance in utterances]
            make = partial(_open_reader, card, store.absolute())
            read, threads = stack.enter_context(on_cluster(make, scheduler))
        elif store is not None and transform is None and threads > 1 and len(utterances) >= _MANY:
            read = stack.enter_context(in_processes(partial(_open_reader, card, store)))
        batches = stack.enter_context(closing(in_batches(read, utterances, _BATCH, threads)))
        results, problems = collect(batches, len(utterances), progress)
        if problems:
            raise InputError.of(problems, LISTER if transform is None else "")
        ordered = [results[at] for at in range(len(utterances))]
        speakers = np.array([utterance.speaker for utterance in utterances], dtype=np.str_)
        frames = _frame_set([result.frames for result in ordered], speakers, kept)
    files = {utterance.path: result for utterance, result in zip(utterances, ordered, strict=True)}.values()
    channels = Counter(file.channels for file in files if file.channels > 1)
    rates = Counter(file.rate for file in files if file.rate != card.sample_rate)
    averaged = [f"{_files(number)} had {count} channels, averaged" for count, number in sorted(channels.items())]
    resampled = [f"{_files(number)} at {rate / 1000:g} kHz, resampled" for rate, number in sorted(rates.items())]
    return frames, averaged + resampled


def _frame_set(frames: list[StoredFrames | Frames], speakers: StrArray, store: FeatureStore | None) -> FrameSet:
    """Return features with their speakers, where they are."""
    stored = [place for place in frames if isinstance(place, StoredFrames)]
    if store is None:
        return FrameSet.join([array for array in frames if not isinstance(array, StoredFrames)], speakers)
    files = sorted({place.file for place in stored})
    number = {file: at for at, file in enumerate(files)}
    return FrameSet(
        tuple(store.open(file) for file in files),
        np.array([number[place.file] for place in stored], np.int64),
        np.array([place.start for place in stored], np.int64),
        np.array([place.length for place in stored], np.int64),
        speakers,
        np.frombuffer(bytes.fromhex("".join(place.digest for place in stored)), np.uint8).reshape(len(stored), -1),
    )


@dataclass(frozen=True, slots=True)
class _UtteranceFeatures:
    frames: StoredFrames | Frames
    rate: int  # of the file
    channels: int


_Outcomes: TypeAlias = list[tuple[int, _UtteranceFeatures | Problem]]


@dataclass(frozen=True, slots=True)
class _FeatureReader:
    card: EncoderCard
    transform: VoiceTransform | None
    store: FeatureStore | None

    def read(self, part: list[tuple[int, Utterance]]) -> _Outcomes:
        """Return the features of each utterance, or its problem."""
        outcomes: _Outcomes = []
        for at, utterance in part:
            check_stop()
            try:
                audio = load_speech(utterance, self.card.sample_rate)
                frames = self._frames(audio.wave, utterance)
                outcomes.append((at, _UtteranceFeatures(frames, audio.rate, audio.channels)))
            except InputError as error:
                outcomes.append((at, utterance_problem(utterance, error)))
        return outcomes

    def _frames(self, wave: Wave, utterance: Utterance) -> StoredFrames | Frames:
        rate, front_end, transform = self.card.sample_rate, self.card.front_end, self.transform
        drawn = () if transform is None else (transform.fingerprint, utterance.id, utterance.speaker)
        key = array_key(wave, front_end, str(rate), _VERSION, *drawn)
        stored = None if self.store is None else self.store.find(key)
        if stored is not None:
            return stored
        frames = FRONT_ENDS[front_end](protect(wave, rate, utterance, transform)).astype(np.float16)
        return frames if self.store is None else self.store.add(key, frames)


def _open_reader(card: EncoderCard, store: Path) -> Callable[[list[tuple[int, Utterance]]], _Outcomes]:
    """Return the function of a process that reads speech."""
    return _FeatureReader(card, None, FeatureStore(store, BANDS).__enter__()).read


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"

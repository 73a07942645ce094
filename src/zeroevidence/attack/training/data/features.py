"""Features of a corpus to train on: read by all cores and cached on disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.speech.array_store import ArrayStore, array_key
from zeroevidence.attack.speech.batches import collect, in_batches, utterance_problem
from zeroevidence.attack.speech.front_ends import BANDS, FRONT_ENDS
from zeroevidence.attack.speech.protection import VoiceTransform, protect
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.data.speech.audio import Wave, load_speech
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import LISTER, InputError, Problem
from zeroevidence.interruption import check_stop
from zeroevidence.linkage.optional import one_blas_thread
from zeroevidence.uncertainty.resampling.draws import Progress

_BATCH = 16
_VERSION = "1"  # of the front ends; raised whenever features would change


@dataclass(frozen=True, slots=True)
class AudioConversions:
    """Numbers of files with several channels, by channels, and at other rates than the encoder's, by rate."""

    channels: Counter[int] = field(default_factory=Counter)
    rates: Counter[int] = field(default_factory=Counter)

    def sentences(self) -> list[str]:
        """Return a sentence for each kind of conversion.

        Examples
        --------
        >>> AudioConversions(Counter({2: 12}), Counter({8000: 1})).sentences()
        ['12 files had 2 channels, averaged', '1 file at 8 kHz, resampled']
        """
        averaged = [f"{_files(n)} had {channels} channels, averaged" for channels, n in sorted(self.channels.items())]
        return averaged + [f"{_files(n)} at {rate / 1000:g} kHz, resampled" for rate, n in sorted(self.rates.items())]


def read_features(
    utterances: Sequence[Utterance],
    card: EncoderCard,
    *,
    transform: VoiceTransform | None = None,
    store: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[FrameSet, AudioConversions]:
    """Return the features of utterances that an encoder takes, and which files were converted.

    Parameters
    ----------
    utterances
        The utterances.
    card
        The card of the encoder.
    transform
        Protects each waveform before features are computed.
    store
        A folder that caches the features of every utterance, so that interrupted reading continues.
    workers
        Threads, each on one core; as many as there are cores by default.
    progress
        Called with the number of utterances done and of all.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    if card.front_end not in FRONT_ENDS:
        raise InputError(f"{card.name}: takes {card.front_end}; expected an encoder of features")
    reader = _FeatureReader(card, transform, None if store is None else ArrayStore(store, BANDS))
    threads = workers or os.cpu_count() or 1
    with one_blas_thread(), closing(in_batches(reader.read, utterances, _BATCH, threads)) as batches:
        results, problems = collect(batches, len(utterances), progress)
    if problems:
        raise InputError.of(problems, LISTER if transform is None else "")
    ordered = [results[at] for at in range(len(utterances))]
    files = {utterance.path: result for utterance, result in zip(utterances, ordered, strict=True)}.values()
    conversions = AudioConversions(
        Counter(file.channels for file in files if file.channels > 1),
        Counter(file.rate for file in files if file.rate != card.sample_rate),
    )
    speakers = [utterance.speaker for utterance in utterances]
    return FrameSet.join([result.frames for result in ordered], speakers), conversions


@dataclass(frozen=True, slots=True)
class _UtteranceFeatures:
    frames: NDArray[np.float32]
    rate: int  # of the file
    channels: int


@dataclass(frozen=True, slots=True)
class _FeatureReader:
    card: EncoderCard
    transform: VoiceTransform | None
    store: ArrayStore | None

    def read(self, part: list[tuple[int, Utterance]]) -> list[tuple[int, _UtteranceFeatures | Problem]]:
        """Return the features of each utterance, or its problem."""
        outcomes: list[tuple[int, _UtteranceFeatures | Problem]] = []
        for at, utterance in part:
            check_stop()
            try:
                audio = load_speech(utterance, self.card.sample_rate)
                frames = self._frames(audio.wave, utterance)
                outcomes.append((at, _UtteranceFeatures(frames, audio.rate, audio.channels)))
            except InputError as error:
                outcomes.append((at, utterance_problem(utterance, error)))
        return outcomes

    def _frames(self, wave: Wave, utterance: Utterance) -> NDArray[np.float32]:
        rate, front_end, transform = self.card.sample_rate, self.card.front_end, self.transform
        drawn = () if transform is None else (transform.fingerprint, utterance.id, utterance.speaker)
        key = array_key(wave, front_end, str(rate), _VERSION, *drawn)
        frames = None if self.store is None else self.store.load(key)
        if frames is None:
            frames = FRONT_ENDS[front_end](protect(wave, rate, utterance, transform))
            if self.store is not None:
                self.store.save(key, frames)
        return frames


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"

"""Features of a corpus to train on: read by all cores, kept on disk meanwhile, and what had to be converted."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.speech.array_store import FrameStore
from zeroevidence.attack.speech.batches import in_batches
from zeroevidence.attack.speech.front_ends import BANDS, FRONT_ENDS
from zeroevidence.attack.speech.protection import VoiceTransform, protected
from zeroevidence.attack.training.data.frame_set import FrameSet
from zeroevidence.data.speech.audio import Wave, load_speech
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.errors import InputError, Problem
from zeroevidence.linkage.optional import one_blas_thread
from zeroevidence.uncertainty.resampling.draws import Progress

_BATCH = 16
_VERSION = "1"  # of the front ends; raised whenever features would change


@dataclass(frozen=True, slots=True)
class AudioConversions:
    """How many files had more channels than one, and other rates than the encoder's, by channels and by rate."""

    channels: Counter[int] = field(default_factory=Counter)
    rates: Counter[int] = field(default_factory=Counter)

    def sentences(self) -> list[str]:
        """What was done to files, in words.

        Examples
        --------
        >>> AudioConversions(Counter({2: 12}), Counter({8000: 1})).sentences()
        ['12 files had 2 channels, averaged', '1 file at 8 kHz, resampled']
        """
        averaged = [f"{_files(n)} had {one} channels, averaged" for one, n in sorted(self.channels.items())]
        return averaged + [f"{_files(n)} at {one / 1000:g} kHz, resampled" for one, n in sorted(self.rates.items())]


def read_features(
    utterances: Sequence[Utterance],
    card: EncoderCard,
    *,
    transform: VoiceTransform | None = None,
    store: Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[FrameSet, AudioConversions]:
    """Features of utterances as an encoder takes them, and what had to be converted.

    Parameters
    ----------
    transform
        Protects each waveform before features are computed.
    store
        A folder that keeps the features of every utterance, so that reading that was cut off goes on.
    workers
        Threads, each on one core; as many as there are cores unless given.
    progress
        Called with the number of utterances done and of all.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    if card.front_end not in FRONT_ENDS:
        raise InputError(f"{card.name}: takes {card.front_end}; expected an encoder of features")
    reader = _Reader(card, transform, None if store is None else FrameStore(store, BANDS))
    found: dict[int, NDArray[np.float32]] = {}
    problems: list[Problem] = []
    converted = AudioConversions()
    files: set[Path] = set()
    with one_blas_thread():
        for part in in_batches(reader.read, utterances, _BATCH, workers or os.cpu_count() or 1):
            for at, outcome in part:
                if isinstance(outcome, Problem):
                    problems.append(outcome)
                    continue
                found[at] = outcome.frames
                if utterances[at].path not in files:
                    files.add(utterances[at].path)
                    converted.channels.update([outcome.channels] if outcome.channels > 1 else [])
                    converted.rates.update([outcome.rate] if outcome.rate != card.sample_rate else [])
            if progress is not None:
                progress(len(found) + len(problems), len(utterances))
    if problems:
        raise InputError.of(problems)
    frames = FrameSet.join([found[at] for at in range(len(utterances))], [one.speaker for one in utterances])
    return frames, converted


@dataclass(frozen=True, slots=True)
class _Seen:
    frames: NDArray[np.float32]
    rate: int
    channels: int


@dataclass(frozen=True, slots=True)
class _Reader:
    card: EncoderCard
    transform: VoiceTransform | None
    store: FrameStore | None

    def read(self, part: list[tuple[int, Utterance]]) -> list[tuple[int, _Seen | Problem]]:
        """The features of each utterance, or what is wrong with it."""
        found: list[tuple[int, _Seen | Problem]] = []
        for at, one in part:
            try:
                heard = load_speech(one, self.card.sample_rate)
                found.append((at, _Seen(self._frames(heard.wave, one), heard.rate, heard.channels)))
            except InputError as error:
                found.append((at, Problem(str(one.path), None, error.reason)))
        return found

    def _frames(self, wave: Wave, one: Utterance) -> NDArray[np.float32]:
        if self.store is None:
            return self._computed(wave, one)
        words = [self.card.front_end, str(self.card.sample_rate), _VERSION]
        if self.transform is not None:
            words += [self.transform.fingerprint, one.id, one.speaker]
        key = hashlib.sha256("\0".join([*words, ""]).encode() + wave.tobytes()).hexdigest()
        stored = self.store.load(key)
        if stored is None:
            stored = self._computed(wave, one)
            self.store.save(key, stored)
        return stored

    def _computed(self, wave: Wave, one: Utterance) -> NDArray[np.float32]:
        return FRONT_ENDS[self.card.front_end](protected(wave, self.card.sample_rate, one, self.transform))


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"

"""Features of utterances to train on, computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.onnx_cards import BANDS, FRONT_ENDS, EncoderCard
from zeroevidence.attack.training.frame_set import HALF, Frames, FrameSet, StoredFrames, frames_digest
from zeroevidence.attack.utterance_batches import Batch, compute_in_batches, utterance_problem
from zeroevidence.attack.voice_transforms import VoiceTransform, protect
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store, digest
from zeroevidence.errors import LISTER, InputError, Problem, check_stop
from zeroevidence.run import Run, Step, no_step

_VERSION = "1"  # of the front ends; raised whenever features would change


def read_features(
    utterances: Sequence[Utterance],
    card: EncoderCard,
    *,
    transform: VoiceTransform | None = None,
    step: Step = no_step,
    run: Run = Run(),
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
    step
        Called with the number of utterances done and of all.
    run
        Its cores are processes, each on one core. Its cache keeps the features of every utterance, so that interrupted
        reading continues; without one they are in memory. With a scheduler its workers read the speech; files and cache
        must be where they and this machine see them.

    Raises
    ------
    InputError
        Once all others are read, naming a file that is missing, unreadable, silent or too short, and how many more are.
    """
    if card.front_end not in FRONT_ENDS:
        raise InputError(f"{card.name}: takes {card.front_end}; expected an encoder of features")
    store = None if run.cache is None else Store(run.cache.absolute(), "features")
    results, problems = compute_in_batches(_FeatureReader(card, transform, store), utterances, step, run)
    if problems:
        raise InputError.of(problems, LISTER if transform is None else "")
    ordered = [results[at] for at in range(len(utterances))]
    frames = _frame_set(ordered, [utterance.speaker for utterance in utterances], store)
    files = {utterance.path: result for utterance, result in zip(utterances, ordered, strict=True)}.values()
    channels = Counter(file.channels for file in files if file.channels > 1)
    rates = Counter(file.rate for file in files if file.rate != card.sample_rate)
    averaged = [f"{_files(number)} had {count} channels, averaged" for count, number in sorted(channels.items())]
    resampled = [f"{_files(number)} at {rate / 1000:g} kHz, resampled" for rate, number in sorted(rates.items())]
    return frames, averaged + resampled


@dataclass(frozen=True, slots=True)
class _UtteranceFeatures:
    frames: Frames | None  # None where a store keeps them
    key: str
    length: int
    digest: NDArray[np.uint8]
    rate: int  # of the file
    channels: int


def _frame_set(features: list[_UtteranceFeatures], speakers: list[str], store: Store | None) -> FrameSet:
    """Return features with their speakers, where they are."""
    if store is None:
        return FrameSet.join([each.frames for each in features if each.frames is not None], speakers)
    length = np.array([each.length for each in features], np.int64)
    start = np.cumsum(length) - length
    frames = StoredFrames(store, tuple(each.key for each in features), start, (int(length.sum()), BANDS))
    digests = np.stack([each.digest for each in features])
    return FrameSet(frames, start, length, np.array(speakers, dtype=np.str_), digests)


_Outcomes: TypeAlias = list[tuple[int, _UtteranceFeatures | Problem]]


@dataclass(frozen=True, slots=True)
class _FeatureReader:
    card: EncoderCard
    transform: VoiceTransform | None
    store: Store | None

    def __call__(self, batch: Batch) -> _Outcomes:
        """Return the features of each utterance, or its problem."""
        outcomes: _Outcomes = []
        for at, utterance in batch:
            check_stop()
            try:
                outcomes.append((at, self._read(utterance)))
            except InputError as error:
                outcomes.append((at, utterance_problem(utterance, error)))
        return outcomes

    def _read(self, utterance: Utterance) -> _UtteranceFeatures:
        rate, front_end, transform = self.card.sample_rate, self.card.front_end, self.transform
        audio = load_speech(utterance, rate)
        drawn = () if transform is None else (transform.fingerprint, utterance.id, utterance.speaker)
        key = digest(front_end, str(rate), _VERSION, *drawn, audio.wave)
        kept = None if self.store is None else self.store.load(key)
        if kept is not None:
            frames = np.frombuffer(kept, HALF).reshape(-1, BANDS)
        else:
            frames = FRONT_ENDS[front_end](protect(audio.wave, rate, utterance, transform)).astype(HALF)
            if self.store is not None:
                self.store.save(key, frames.tobytes())
        sent = frames if self.store is None else None
        return _UtteranceFeatures(sent, key, len(frames), frames_digest(frames), audio.rate, audio.channels)


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"

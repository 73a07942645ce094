"""Features of utterances with their speakers: read once, and held in memory or on disk."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.attack.onnx_cards import BANDS, FRONT_ENDS, EncoderCard
from zeroevidence.attack.training import LEAST_PEOPLE
from zeroevidence.attack.voice_transforms import VoiceTransform, compute_one_by_one, protect, protection_key
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import HEADER, Store, digest
from zeroevidence.data.waves import Wave
from zeroevidence.errors import LISTER, InputError
from zeroevidence.run import Run, Step, no_step

Frames = NDArray[np.float32] | NDArray[np.float16]

HALF = np.dtype("<f2")
_LEVELS = 255  # steps between the least and the largest feature of a band
_VERSION = "2"  # of the front ends and of `_packed`; raised whenever features would change


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrames:
    """Frames of utterances end to end, which are read from a store when they are asked for.

    Parameters
    ----------
    store
        The store.
    keys
        Key of each utterance.
    start
        First frame of each utterance.
    shape
        Number of all frames, and of bands.
    """

    store: Store
    keys: tuple[str, ...]
    start: IntArray
    shape: tuple[int, int]
    dtype = HALF

    def __getitem__(self, part: slice) -> Frames:
        """Return frames of one utterance."""
        number = int(np.searchsorted(self.start, part.start, "right")) - 1
        width = self.shape[1]
        before = (part.start - int(self.start[number])) * width
        with self.store.path(self.keys[number]).open("rb") as stream:
            stream.seek(HEADER)
            scale = np.fromfile(stream, HALF, 2 * width)
            levels = np.fromfile(stream, np.uint8, (part.stop - part.start) * width, offset=before)
        return _unpacked(scale, levels)


@dataclass(frozen=True, slots=True, eq=False)
class FrameSet:
    """Features of utterances; parts of a set share its frames and copy nothing.

    Parameters
    ----------
    frames
        The frames of all utterances, frames x bands, in single or half precision.
    start
        First frame of each utterance.
    length
        Number of frames of each utterance.
    speakers
        Speaker of each utterance.
    digests
        The sha256 of the features of each utterance, utterances x bytes.
    """

    frames: Frames | StoredFrames
    start: IntArray
    length: IntArray
    speakers: StrArray
    digests: NDArray[np.uint8]

    @classmethod
    def join(cls, utterances: Sequence[Frames], speakers: Sequence[str] | StrArray) -> FrameSet:
        """Join utterances end to end in memory: in half precision where all are, else in single precision.

        Examples
        --------
        >>> joined = FrameSet.join([np.zeros((3, 80)), np.ones((5, 80))], ["ann", "bob"])
        >>> len(joined), joined.length.tolist()
        (2, [3, 5])
        """
        if not utterances or len(utterances) != len(speakers):
            raise InputError(f"expected a speaker for each of at least one utterance, got {len(speakers)}")
        length = np.array([len(frames) for frames in utterances], dtype=np.int64)
        if (length < 1).any() or len({frames.shape[1] for frames in utterances}) > 1:
            raise InputError("expected frames of one number of bands, and at least one frame in each utterance")
        half = all(frames.dtype == np.float16 for frames in utterances)
        together = np.concatenate(utterances)
        joined: Frames = np.asarray(together, np.float16) if half else np.asarray(together, np.float32)
        if not np.isfinite(joined).all():
            raise InputError("features hold NaN or infinite numbers")
        start = np.cumsum(length) - length
        digests = np.stack([frames_digest(joined[first : first + n]) for first, n in zip(start, length, strict=True)])
        names = np.asarray(speakers, dtype=np.str_)
        return cls(joined, start, length, names, digests)

    @classmethod
    def gather(
        cls, parts: Iterable[tuple[int, Frames]], length: IntArray, source: FrameSet, folder: Path | None = None
    ) -> FrameSet:
        """Join what was computed from each utterance of a set, in any order, so that two copies never are in memory.

        Parameters
        ----------
        parts
            Frames in half precision, with the numbers of their utterances.
        length
            Number of these frames of each utterance.
        source
            What they were computed from; the result has its speakers and digests.
        folder
            Where a nameless file holds the frames, which goes when the set goes; None for memory.

        Examples
        --------
        >>> source = FrameSet.join([np.zeros((4, 80)), np.ones((2, 80))], ["ann", "bob"])
        >>> parts = ((i, np.full((2 - i, 3), i, np.float16)) for i in (1, 0))
        >>> FrameSet.gather(parts, np.array([2, 1]), source).utterance(1).tolist()
        [[1.0, 1.0, 1.0]]
        """
        start = np.cumsum(length) - length
        held: NDArray[np.float16] | None = None
        for number, part in parts:
            if held is None:
                shape = int(length.sum()), part.shape[1]
                held = np.empty(shape, np.float16) if folder is None else _nameless_file(folder, shape)
            held[start[number] : start[number] + length[number]] = part
        assert held is not None
        return cls(held, start, length, source.speakers, source.digests)

    def __len__(self) -> int:
        return len(self.length)

    @property
    def bands(self) -> int:
        """Number of bands of each frame."""
        return int(self.frames.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Half or single precision."""
        return self.frames.dtype

    @property
    def nbytes(self) -> int:
        """Size of the frames of all utterances, in bytes."""
        return int(self.length.sum()) * self.bands * self.dtype.itemsize

    @property
    def digest(self) -> str:
        """The sha256 of speakers, lengths and the digests of all utterances."""
        return digest("\0".join(self.speakers.tolist()), self.length.astype("<i8"), self.digests)

    def utterance(self, number: int, first: int = 0, count: int | None = None) -> Frames:
        """Return the frames of one utterance, or `count` of them from `first` on."""
        begin = int(self.start[number]) + first
        return self.frames[begin : begin + (int(self.length[number]) - first if count is None else count)]

    def take(self, rows: IntArray | NDArray[np.bool_]) -> FrameSet:
        """Return some of the utterances."""
        at = np.flatnonzero(rows) if rows.dtype == bool else rows
        names = ("start", "length", "speakers", "digests")
        return replace(self, **{name: getattr(self, name)[at] for name in names})

    def in_memory(self) -> Frames:
        """Return the frames of all utterances end to end, copied."""
        frames = np.empty((int(self.length.sum()), self.bands), self.dtype)
        end = 0
        for number, length in enumerate(self.length.tolist()):
            frames[end : end + length] = self.utterance(number)
            end += length
        return frames


def _nameless_file(folder: Path, shape: tuple[int, int]) -> NDArray[np.float16]:
    """Return an array in a file that goes when the array goes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as stream:
        return np.memmap(stream, np.float16, "w+", shape=shape)


def frames_digest(frames: Frames) -> NDArray[np.uint8]:
    """Return the sha256 of the frames of an utterance."""
    return np.frombuffer(hashlib.sha256(np.ascontiguousarray(frames).data).digest(), np.uint8)


@dataclass(frozen=True, slots=True)
class EncoderOutputs:
    """Outputs of an encoder by the digest of the features, as `frames_digest` gives it.

    They are the output of its trunk and the embedding. An encoder that is fine-tuned behind its trunk begins with both,
    and shares the first with the encoder that it came from, so they are computed once for each recording.

    Parameters
    ----------
    fingerprint
        Fingerprint of the encoder.
    trunk_store
        Keeps outputs of trunks.
    vector_store
        Keeps embeddings.
    """

    fingerprint: str
    trunk_store: Store
    vector_store: Store

    def frames(self, features: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """Return the output of the trunk, frames x channels, or None where it is not known."""
        return self.trunk_store.load_array(self.key(features))

    def vector(self, features: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """Return the embedding, or None where it is not known."""
        return self.vector_store.load_array(self.key(features))

    def key(self, features: NDArray[np.uint8]) -> str:
        """Return the key of both in their stores."""
        return digest("features", self.fingerprint, features)


@dataclass(frozen=True, slots=True, eq=False)
class TrainingFrames:
    """Features that an encoder is trained on.

    Parameters
    ----------
    training
        Features of the people to learn from.
    development
        Features of other people, to stop on.
    outputs
        What the encoder made of some of the utterances before training, where that is known.
    """

    training: FrameSet
    development: FrameSet
    outputs: EncoderOutputs | None = None

    def check_people(self) -> None:
        """Refuse people who are too few, or in both sets."""
        people = np.unique(self.training.speakers)
        common = np.intersect1d(people, self.development.speakers)
        if len(common):
            raise InputError(f"training and development share {len(common)} speaker(s), among them {str(common[0])!r}")
        if len(people) < LEAST_PEOPLE:
            few = f"an encoder that learns from fewer than {LEAST_PEOPLE} learns them by heart"
            raise InputError(f"{len(people)} training people; {few}")
        if len(np.unique(self.development.speakers)) < 2:
            raise InputError("expected at least two development people to stop on")


def read_features(
    utterances: Sequence[Utterance],
    card: EncoderCard,
    *,
    transform: VoiceTransform | None = None,
    step: Step = no_step,
    run: Run = Run(),
) -> tuple[FrameSet, list[str]]:
    """Return the features of utterances that an encoder takes, as `kept_features` does, and a line on each conversion.

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
    read = partial(_read_utterance, card, transform, store)
    ordered = compute_one_by_one(read, utterances, step, run, LISTER if transform is None else "")
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


def _read_utterance(
    card: EncoderCard, transform: VoiceTransform | None, store: Store | None, utterance: Utterance
) -> _UtteranceFeatures:
    audio = load_speech(utterance, card.sample_rate)
    key, frames = kept_features(audio.wave, utterance, card, transform, store)
    sent = frames if store is None else None
    return _UtteranceFeatures(sent, key, len(frames), frames_digest(frames), audio.rate, audio.channels)


def kept_features(
    wave: Wave, utterance: Utterance, card: EncoderCard, transform: VoiceTransform | None, store: Store | None
) -> tuple[str, NDArray[np.float16]]:
    """Return the key of a recording's features and the features, rounded to 8 bits in each band, kept or not.

    Parameters
    ----------
    wave
        Its waveform, at the rate of the encoder.
    utterance
        The recording.
    card
        The card of the encoder.
    transform
        Protects the waveform before features are computed.
    store
        Keeps features.
    """
    rate = card.sample_rate
    key = digest(card.front_end, str(rate), _VERSION, *protection_key(wave, rate, utterance, transform), wave)
    content = None if store is None else store.load(key)
    if content is None:
        content = _packed(FRONT_ENDS[card.front_end](protect(wave, rate, utterance, transform)))
        if store is not None:
            store.save(key, content)
    scale = np.frombuffer(content, HALF, 2 * BANDS)
    return key, _unpacked(scale, np.frombuffer(content, np.uint8, offset=scale.nbytes))


def _packed(frames: NDArray[np.float32]) -> bytes:
    """Return frames in 8 bits behind the least number and the step of each band, which have half precision."""
    low = frames.min(axis=0).astype(HALF)
    step = ((frames.max(axis=0) - low) / _LEVELS).astype(HALF)
    levels = np.rint((frames - low) / np.where(step > 0, step, 1)).clip(0, _LEVELS)
    return b"".join([low.tobytes(), step.tobytes(), levels.astype(np.uint8).tobytes()])


def _unpacked(scale: NDArray[np.float16], levels: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Return frames in half precision."""
    low, step = scale.astype(np.float32).reshape(2, -1)
    return (low + step * levels.reshape(-1, len(low))).astype(HALF)


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"

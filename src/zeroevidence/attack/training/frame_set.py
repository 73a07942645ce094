"""Features of utterances with their speakers, in memory or on disk."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.attack.training import LEAST_PEOPLE
from zeroevidence.data.store import HEADER, Store, digest
from zeroevidence.errors import InputError

Frames = NDArray[np.float32] | NDArray[np.float16]

HALF = np.dtype("<f2")


@dataclass(frozen=True, slots=True, eq=False)
class StoredFrames:
    """Frames of utterances end to end in half precision, which are read from a store when they are asked for.

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
        before = HEADER + (part.start - int(self.start[number])) * width * HALF.itemsize
        count = (part.stop - part.start) * width
        frames: Frames = np.fromfile(self.store.path(self.keys[number]), HALF, count, offset=before)
        return frames.reshape(-1, width)


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
        return self.trunk_store.load_array(self._key(features))

    def vector(self, features: NDArray[np.uint8]) -> NDArray[np.float32] | None:
        """Return the embedding, or None where it is not known."""
        return self.vector_store.load_array(self._key(features))

    def save_frames(self, features: NDArray[np.uint8], frames: NDArray[np.float32]) -> None:
        """Keep the output of the trunk."""
        self.trunk_store.save_array(self._key(features), frames)

    def save_vector(self, features: NDArray[np.uint8], vector: NDArray[np.float32]) -> None:
        """Keep an embedding."""
        self.vector_store.save_array(self._key(features), vector)

    def _key(self, features: NDArray[np.uint8]) -> str:
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

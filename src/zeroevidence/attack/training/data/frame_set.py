"""Features of utterances, end to end in one array, with their speakers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.errors import InputError

Frames = NDArray[np.float32] | NDArray[np.float16]


@dataclass(frozen=True, slots=True, eq=False)
class FrameSet:
    """Features of utterances.

    Parameters
    ----------
    frames
        All utterances end to end, frames x bands, in single precision, or the output of a trunk in half precision.
    start
        First frame of each utterance.
    length
        Number of frames of each utterance.
    speakers
        Speaker of each utterance.
    """

    frames: Frames
    start: IntArray
    length: IntArray
    speakers: StrArray

    @classmethod
    def join(cls, utterances: Sequence[Frames], speakers: Sequence[str] | StrArray) -> FrameSet:
        """Join utterances end to end.

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
        joined = np.concatenate([np.asarray(frames, np.float32) for frames in utterances])
        if not np.isfinite(joined).all():
            raise InputError("features hold NaN or infinite numbers")
        return cls(joined, np.cumsum(length) - length, length, np.asarray(speakers, dtype=np.str_))

    @classmethod
    def gather(cls, parts: Iterable[tuple[int, Frames]], length: IntArray, speakers: StrArray) -> FrameSet:
        """Join numbered utterances that come in any order, so that two copies never are in memory.

        Examples
        --------
        >>> parts = ((i, np.full((2 - i, 3), i, np.float16)) for i in (1, 0))
        >>> FrameSet.gather(parts, np.array([2, 1]), np.array(["ann", "bob"])).frames[:, 0].tolist()
        [0.0, 0.0, 1.0]
        """
        start = np.cumsum(length) - length
        frames: Frames = np.empty((0, 0), np.float32)
        for number, part in parts:
            if not frames.size:
                frames = np.empty((int(length.sum()), part.shape[1]), part.dtype)
            frames[start[number] : start[number] + length[number]] = part
        return cls(frames, start, length, speakers)

    def __len__(self) -> int:
        return len(self.length)

    @property
    def digest(self) -> str:
        """The sha256 of frames, lengths and speakers."""
        digest = hashlib.sha256("\0".join(self.speakers.tolist()).encode())
        digest.update(self.length.tobytes())
        digest.update(self.frames.tobytes())
        return digest.hexdigest()

    def utterance(self, number: int) -> Frames:
        """Return the frames of one utterance."""
        return self.frames[self.start[number] : self.start[number] + self.length[number]]

    def take(self, rows: IntArray | NDArray[np.bool_]) -> FrameSet:
        """Return some of the utterances."""
        at = np.flatnonzero(rows) if rows.dtype == bool else rows
        return FrameSet.join([self.utterance(int(i)) for i in at], self.speakers[at])

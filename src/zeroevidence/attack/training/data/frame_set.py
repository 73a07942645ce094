"""What an encoder is trained on: features of utterances end to end in one array, and whose each is."""

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
        All utterances end to end, frames x bands, in single precision, or in half what a trunk made of features.
    start, length
        Where each utterance begins, and how many frames it has.
    speakers
        Whose each utterance is.
    """

    frames: Frames
    start: IntArray
    length: IntArray
    speakers: StrArray

    @classmethod
    def join(cls, utterances: Sequence[Frames], speakers: Sequence[str] | StrArray) -> FrameSet:
        """Utterances end to end.

        Examples
        --------
        >>> joined = FrameSet.join([np.zeros((3, 80)), np.ones((5, 80))], ["ann", "bob"])
        >>> len(joined), joined.length.tolist()
        (2, [3, 5])
        """
        if not utterances or len(utterances) != len(speakers):
            raise InputError(f"expected a speaker for each of at least one utterance, got {len(speakers)}")
        length = np.array([len(one) for one in utterances], dtype=np.int64)
        if (length < 1).any() or len({one.shape[1] for one in utterances}) > 1:
            raise InputError("expected frames of one number of bands, and at least one frame in each utterance")
        frames = np.concatenate([np.asarray(one, np.float32) for one in utterances])
        if not np.isfinite(frames).all():
            raise InputError("features hold NaN or infinite numbers")
        return cls(frames, np.cumsum(length) - length, length, np.asarray(speakers, dtype=np.str_))

    @classmethod
    def gather(cls, found: Iterable[tuple[int, Frames]], length: IntArray, speakers: StrArray) -> FrameSet:
        """Utterances by number in any order, each put in its place as it comes: two copies never are in memory.

        Examples
        --------
        >>> parts = ((i, np.full((2 - i, 3), i, np.float16)) for i in (1, 0))
        >>> FrameSet.gather(parts, np.array([2, 1]), np.array(["ann", "bob"])).frames[:, 0].tolist()
        [0.0, 0.0, 1.0]
        """
        start = np.cumsum(length) - length
        frames: Frames = np.empty((0, 0), np.float32)
        for number, one in found:
            if not frames.size:
                frames = np.empty((int(length.sum()), one.shape[1]), one.dtype)
            frames[start[number] : start[number] + length[number]] = one
        return cls(frames, start, length, speakers)

    def __len__(self) -> int:
        return len(self.length)

    @property
    def digest(self) -> str:
        """Of frames, lengths and speakers: the same data have the same."""
        found = hashlib.sha256("\0".join(self.speakers.tolist()).encode())
        found.update(self.length.tobytes())
        found.update(self.frames.tobytes())
        return found.hexdigest()

    def utterance(self, number: int) -> Frames:
        """The frames of one utterance."""
        return self.frames[self.start[number] : self.start[number] + self.length[number]]

    def take(self, rows: IntArray | NDArray[np.bool_]) -> FrameSet:
        """Some of the utterances."""
        at = np.flatnonzero(rows) if rows.dtype == bool else rows
        return FrameSet.join([self.utterance(int(i)) for i in at], self.speakers[at])

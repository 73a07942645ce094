"""Blocks of frames: an array in memory, or a file that is mapped into it and of which little stays there."""

from __future__ import annotations

import mmap
import tempfile
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zeroevidence.errors import InputError

Frames = NDArray[np.float32] | NDArray[np.float16]

HALF = np.dtype("<f2")
_VISITED = 1 << 26  # bytes of a mapped file after whose use its pages are given back


class FrameBlock(Protocol):
    """An array of frames that utterances are parts of."""

    frames: Any  # frames x bands

    def visited(self, size: int) -> None:
        """Take note that so many bytes were used."""


class MemoryFrames:
    """Frames in memory."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames

    def visited(self, size: int) -> None:
        """Do nothing: what is in memory stays there."""


class MappedFrames:
    """Frames of a file in half precision.

    What was read stays in the operating system's cache as long as there is room, but counts as memory of this process
    only for a while, whatever the size of the file.

    Parameters
    ----------
    path
        The file; it is not closed before the block and all views of its frames are gone.
    bands
        Bands of each frame.
    """

    def __init__(self, path: Path, bands: int) -> None:
        with path.open("rb") as stream:
            self._open(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), bands)
        self.path: Path | None = path

    @classmethod
    def new(cls, folder: Path, shape: tuple[int, int]) -> MappedFrames:
        """Return a block whose frames are to be written, in a nameless file of a folder."""
        block = cls.__new__(cls)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.truncate(shape[0] * shape[1] * HALF.itemsize)
            block._open(mmap.mmap(stream.fileno(), 0), shape[1])
        block.path = None
        return block

    def _open(self, pages: mmap.mmap, bands: int) -> None:
        self._pages, self._used = pages, 0
        whole = len(pages) // (bands * HALF.itemsize)
        self.frames = np.frombuffer(pages, HALF, whole * bands).reshape(whole, bands)

    def visited(self, size: int) -> None:
        """Take note that so many bytes were used; after enough of them the pages are given back."""
        self._used += size
        if self._used > _VISITED and hasattr(mmap, "MADV_DONTNEED"):
            self._used = 0
            self._pages.madvise(mmap.MADV_DONTNEED)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise InputError("a nameless file cannot be sent to another process")
        return MappedFrames, (self.path, self.frames.shape[1])

"""Features on disk, in half precision: written once, found again by key, and mapped into memory.

A writer appends the frames of utterances to a file of its own, and then a line with their key, place, length and digest
to the index beside it. So several processes may write into one folder, and what an interrupted one wrote whole is used
by the next: a line that is torn, or whose frames are not as its digest says, counts for nothing.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from zeroevidence.attack.training.data.frame_set import HALF, Frames, MappedFrames, frames_digest

_FRAMES, _INDEX = ".frames", ".index"
_DIGITS = 18  # of a place in a file


@dataclass(frozen=True, slots=True)
class StoredFrames:
    """Where the frames of an utterance are."""

    file: str
    start: int
    length: int
    digest: str


@dataclass(slots=True)
class FeatureStore:
    """A folder of features by key; a context, at whose end its files are closed.

    Parameters
    ----------
    folder
        The folder.
    bands
        Bands of each frame.
    """

    folder: Path
    bands: int
    _known: dict[str, StoredFrames] = field(default_factory=dict)
    _maps: dict[str, MappedFrames] = field(default_factory=dict)
    _writer: _Writer | None = None
    _lock: Any = field(default_factory=threading.Lock)

    def __enter__(self) -> FeatureStore:
        for index in sorted(self.folder.glob(f"*{_INDEX}")):
            self._known.update(_read_index(index, self.bands))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def find(self, key: str) -> StoredFrames | None:
        """Return where the features of a key are, or None where there are none that are whole."""
        stored = self._known.get(key)
        if stored is None:
            return None
        with self._lock:
            block = self.open(stored.file)
        frames = block.frames[stored.start : stored.start + stored.length]
        whole = len(frames) == stored.length and frames_digest(frames).tobytes().hex() == stored.digest
        block.visited(frames.nbytes)
        return stored if whole else None

    def open(self, file: str) -> MappedFrames:
        """Return the frames of a file."""
        if file not in self._maps:
            self._maps[file] = MappedFrames(self.folder / file, self.bands)
        return self._maps[file]

    def add(self, key: str, frames: Frames) -> StoredFrames:
        """Store the frames of a key.

        Raises
        ------
        OSError
            Naming the folder, when it cannot be written.
        """
        with self._lock:
            try:
                if self._writer is None:
                    self._writer = _Writer(self.folder)
                return self._writer.append(key, frames)
            except OSError as error:
                self._writer = None  # its last frames may be torn
                raise OSError(error.errno, f"features cannot be stored: {error.strerror}", str(self.folder)) from None


class _Writer:
    """Appends to a file of frames and to its index."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = secrets.token_hex(8)
        self.file = name + _FRAMES
        self._frames: IO[bytes] = (folder / self.file).open("xb", buffering=0)
        self._index: IO[bytes] = (folder / f"{name}{_INDEX}").open("xb", buffering=0)
        self._end = 0

    def append(self, key: str, frames: Frames) -> StoredFrames:
        half = np.ascontiguousarray(frames, HALF)
        stored = StoredFrames(self.file, self._end, len(half), frames_digest(half).tobytes().hex())
        _write(self._frames, half.data.cast("B"))
        _write(self._index, memoryview(f"{key} {stored.start} {stored.length} {stored.digest}\n".encode()))
        self._end += len(half)
        return stored

    def close(self) -> None:
        for stream in (self._frames, self._index):
            stream.close()


def _write(stream: IO[bytes], data: memoryview) -> None:
    while data:
        data = data[stream.write(data) :]


def _read_index(index: Path, bands: int) -> Mapping[str, StoredFrames]:
    """Return what the lines of an index say, as far as they are whole and the frames are there."""
    file = index.with_suffix(_FRAMES)
    try:
        size = file.stat().st_size // (bands * HALF.itemsize)
        *lines, _ = index.read_text(encoding="ascii", errors="replace").split("\n")
    except OSError:
        return {}
    stored = {}
    for line in lines:
        key, *rest = line.split(" ")
        if len(rest) != 3 or not all(number.isdecimal() and len(number) <= _DIGITS for number in rest[:2]):
            continue
        start, length = int(rest[0]), int(rest[1])
        if length > 0 and start + length <= size:
            stored[key] = StoredFrames(file.name, start, length, rest[2])
    return stored

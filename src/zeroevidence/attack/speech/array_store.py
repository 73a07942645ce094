"""Vectors and frames on disk, each in a file of its own, written under another name first and carrying a checksum.

What an interruption leaves behind is not found again; what was finished is.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.files.writing import TEMPORARY_PREFIX

Vector = NDArray[np.float32]

_CHECK = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class FrameStore:
    """A folder of arrays of `dim` columns and any number of rows by key, each key a word of hexadecimal digits."""

    folder: Path
    dim: int

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / key[2:]

    def load(self, key: str) -> Vector | None:
        """The array, rows x columns, or None where there is no whole one."""
        try:
            data = self._file(key).read_bytes()
        except OSError:
            return None
        check, body = data[:_CHECK], data[_CHECK:]
        if not body or len(body) % (4 * self.dim) or hashlib.sha256(body).digest() != check:
            return None
        return np.frombuffer(body, "<f4").astype(np.float32).reshape(-1, self.dim)

    def save(self, key: str, frames: Vector) -> None:
        """Keep an array.

        Raises
        ------
        OSError
            When it cannot be written; names the folder.
        """
        file = self._file(key)
        body = frames.astype("<f4", copy=False).tobytes()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=file.parent)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(body).digest() + body)
                Path(name).replace(file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise OSError(error.errno, f"vectors cannot be stored: {error.strerror}", str(self.folder)) from None


@dataclass(frozen=True, slots=True)
class VectorStore:
    """A folder of vectors of one dimension by key."""

    folder: Path
    dim: int

    def load(self, key: str) -> Vector | None:
        """The vector, or None where there is no whole one."""
        found = FrameStore(self.folder, self.dim).load(key)
        return None if found is None or len(found) != 1 else found[0]

    def save(self, key: str, vector: Vector) -> None:
        """Keep a vector.

        Raises
        ------
        OSError
            When it cannot be written; names the folder.
        """
        FrameStore(self.folder, self.dim).save(key, vector)

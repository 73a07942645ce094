"""A cache of arrays on disk, each in a file with a checksum, written atomically.

An array whose writing was interrupted is computed again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.files.writing import TEMPORARY_PREFIX

Array = NDArray[np.float32]

LARGEST = 8 << 30  # bytes of a limited store
_CHECK = hashlib.sha256().digest_size


def array_key(wave: NDArray[Any], *parts: str) -> str:
    """Return the key of what is computed from a waveform: the sha256 of `parts`, such as fingerprints, and samples."""
    text = "\0".join([*parts, ""])
    return hashlib.sha256(text.encode() + np.asarray(wave, "<f4").tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class ArrayStore:
    """A folder of arrays of `dim` columns and any number of rows by key, as `array_key` makes them."""

    folder: Path
    dim: int

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / key[2:]

    def load(self, key: str) -> Array | None:
        """Return the array, rows x columns, or None where there is no complete one."""
        try:
            data = self._file(key).read_bytes()
        except OSError:
            return None
        check, body = data[:_CHECK], data[_CHECK:]
        if not body or len(body) % (4 * self.dim) or hashlib.sha256(body).digest() != check:
            return None
        return np.frombuffer(body, "<f4").astype(np.float32).reshape(-1, self.dim)

    def save(self, key: str, array: Array) -> None:
        """Store an array.

        Raises
        ------
        OSError
            Naming the folder, when it cannot be written.
        """
        file = self._file(key)
        body = array.astype("<f4", copy=False).tobytes()
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


class LimitedStore:
    """A store of arrays that can be computed again: it takes them as long as there is room.

    Parameters
    ----------
    folder
        The folder.
    dim
        Columns of each array.
    most
        Bytes that it may hold, what is there included; half of the free disk is never exceeded.
    """

    def __init__(self, folder: Path, dim: int, most: int = LARGEST) -> None:
        self.folder, self._store, self._lock = folder, ArrayStore(folder, dim), threading.Lock()
        self._used = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        self.most = min(most, self._used + _free_disk(folder) // 2)

    def load(self, key: str) -> Array | None:
        """Return the array, rows x columns, or None where there is no complete one."""
        return self._store.load(key)

    def save(self, key: str, array: Array) -> None:
        """Store an array if there is room."""
        with self._lock:
            fits = self._used + array.nbytes <= self.most
            self._used += array.nbytes if fits else 0
        if fits:
            with suppress(OSError):  # a full disk is no reason to stop
                self._store.save(key, array)


def _free_disk(folder: Path) -> int:
    """Return the free bytes where a folder is, or will be."""
    home = folder.absolute()
    return shutil.disk_usage(next(each for each in (home, *home.parents) if each.exists())).free

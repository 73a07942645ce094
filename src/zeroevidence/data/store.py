"""What was computed, kept in a folder by what it was computed from, so that the same work need not be done twice."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.json_values import plain, read_json, typed
from zeroevidence.data.writing import TEMPORARY_PREFIX
from zeroevidence.errors import OutputError

Value = TypeVar("Value")
MAGIC = b"ZESTORE1"
HEADER = 64  # bytes before the content of an entry: what it is, and a digest of key and content
ENCODERS = "encoders"  # folder of trained encoders: files by key, as users have them, beside the entries
LARGEST = 8 << 30  # bytes that entries which can do without may take


def digest(*parts: str | bytes | NDArray[Any]) -> str:
    """Return a key: the sha256 of texts, bytes and arrays, each behind its length.

    Examples
    --------
    >>> digest("a", "bc") == digest("ab", "c")
    False
    """
    result = hashlib.sha256()
    for part in parts:
        text = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        data = text if isinstance(text, bytes) else text.tobytes()
        result.update(len(data).to_bytes(8, "little"))
        result.update(data)
    return result.hexdigest()


@dataclass(frozen=True, slots=True)
class Store:
    """Entries of one kind in a folder, each a file; several processes may use it at the same time.

    An entry is written whole or not at all, and one that is cut off, damaged or of another key is not there.

    Parameters
    ----------
    folder
        The folder, which may hold entries of other kinds.
    kind
        What the entries are, such as ``vectors``: the name of a folder within.
    reserve
        Bytes of the disk that are left free: with less, nothing more is kept. None where entries must be kept.

    Examples
    --------
    >>> store = Store(Path(tempfile.mkdtemp()), "vectors")
    >>> store.save_array(digest("a recording"), np.arange(3.0))
    >>> store.load_array(digest("a recording")).tolist(), store.load(digest("another"))
    ([0.0, 1.0, 2.0], None)
    """

    folder: Path
    kind: str
    reserve: int | None = None

    @classmethod
    def optional(cls, folder: Path, kind: str, most: int = LARGEST) -> Store:
        """Return a store of what can be computed again: of `most` bytes, and half of what the disk has free."""
        home = folder.absolute()
        there = next(place for place in (home, *home.parents) if place.exists())
        free = shutil.disk_usage(there).free
        return cls(home, kind, max(free // 2, free - most))

    @property
    def home(self) -> Path:
        """The folder of these entries."""
        return self.folder / self.kind

    def path(self, key: str) -> Path:
        """Return where the entry of a key is, if there is one."""
        return self.home / key[:2] / key[2:]

    def load(self, key: str) -> bytes | None:
        """Return the content of an entry, None where there is none that is whole."""
        try:
            data = self.path(key).read_bytes()
        except OSError:
            return None
        content = memoryview(data)[HEADER:]
        return bytes(content) if data[:HEADER] == _header(key, content) else None

    def save(self, key: str, content: bytes | memoryview) -> None:
        """Keep an entry.

        Raises
        ------
        OutputError
            When it cannot be written, of a store that must keep it.
        """
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.reserve is not None and shutil.disk_usage(path.parent).free - len(content) < self.reserve:
                return
            handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(_header(key, content))
                    stream.write(content)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            if self.reserve is None:
                raise OutputError(error, self.home) from None

    def load_array(self, key: str) -> NDArray[Any] | None:
        """Return an array that was kept."""
        content = self.load(key)
        return None if content is None else np.load(io.BytesIO(content), allow_pickle=False)

    def save_array(self, key: str, array: NDArray[Any]) -> None:
        """Keep an array."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        self.save(key, buffer.getbuffer())

    def array(self, key: str, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array that was kept, or is computed now and kept."""
        result = self.load_array(key)
        if result is None:
            result = compute()
            self.save_array(key, result)
        return result

    def load_arrays(self, key: str) -> dict[str, NDArray[Any]] | None:
        """Return arrays that were kept together, by their names."""
        content = self.load(key)
        if content is None:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def save_arrays(self, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep arrays together."""
        buffer, named = io.BytesIO(), dict[str, Any](arrays)
        np.savez(buffer, **named)
        self.save(key, buffer.getbuffer())

    def load_value(self, key: str, kind: type[Value]) -> Value | None:
        """Return a value of a dataclass that was kept."""
        content = self.load(key)
        return None if content is None else typed(kind, read_json(content.decode(), self.path(key)), self.kind)

    def save_value(self, key: str, value: Any) -> None:
        """Keep a value of a dataclass."""
        self.save(key, json.dumps(plain(asdict(value))).encode())

    def remove(self, key: str | None = None) -> None:
        """Remove an entry, or all of this kind."""
        if key is None:
            shutil.rmtree(self.home, ignore_errors=True)
        else:
            self.path(key).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()  # where nothing else is in it


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that belongs to a store.

    Parameters
    ----------
    path
        The file.
    kind
        What it is.
    is_finished
        Whether it was written to its end.
    """

    path: Path
    kind: str
    is_finished: bool = True

    def is_whole(self) -> bool:
        """Return whether it is what was written; its content is read."""
        folder = self.path.parent
        key = folder.name + self.path.name
        return self.kind == ENCODERS or Store(folder.parent.parent, self.kind).load(key) is not None


def find_files(folder: Path) -> Iterator[StoredFile]:
    """Yield the files of all stores in a folder and the folders within, nothing else; links are not followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        home = Path(place)
        for name in sorted(names):
            path = home / name
            if home.parent.name == ENCODERS and re.fullmatch("[0-9a-f]{64}", home.name):
                yield StoredFile(path, ENCODERS, not name.startswith(TEMPORARY_PREFIX))
            elif re.fullmatch("[0-9a-f]{2}", home.name) and not path.is_symlink():
                if name.startswith(TEMPORARY_PREFIX):
                    yield StoredFile(path, home.parent.name, is_finished=False)
                elif re.fullmatch("[0-9a-f]{62}", name) and _is_entry(path):
                    yield StoredFile(path, home.parent.name)


def _is_entry(path: Path) -> bool:
    """Return whether a file begins as an entry does, or holds nothing, as one whose content a power cut has lost."""
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)).strip(b"\0") in (MAGIC, b"")


def _header(key: str, content: bytes | memoryview) -> bytes:
    check = hashlib.sha256(key.encode())
    check.update(content)
    return (MAGIC + len(content).to_bytes(8, "little") + check.digest()).ljust(HEADER, b"\0")

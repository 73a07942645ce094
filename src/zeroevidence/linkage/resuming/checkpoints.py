"""Checkpoints of a search: blocks of results on disk, each complete or absent.

A block is written to a temporary file, flushed to the disk and renamed; `lock_folder` removes temporary files of killed
processes. Its header holds the length and a digest of the
payload, of its name and of the search it belongs to, so that a file that is cut off, damaged or of another search is
never taken for a block: the block is computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.files.errors import reading_file
from zeroevidence.data.files.json_values import load_json, typed
from zeroevidence.data.files.writing import write_atomically
from zeroevidence.errors import InputError, UsageError

_MAGIC = b"ZEBLOCK2"
_HEADER = len(_MAGIC) + 8 + 32
SCHEMA = "zeroevidence/link/1"
BLOCKS = "blocks"  # folder of the blocks within that of the search


class Checkpoints:
    """Blocks of one search, in a folder of their own."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    def load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of a block, None where it is missing, cut off, damaged or of another search."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        payload = data[_HEADER:]
        if data[:_HEADER] != self._header(name, payload):
            return None
        with reading_file(self.folder / name, "a block"), np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
            return {array: arrays[array] for array in arrays.files}

    def save(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write a block, atomically."""
        self.folder.mkdir(exist_ok=True)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        payload = buffer.getvalue()
        _write_durably(self.folder / name, self._header(name, payload), payload)

    def clear(self) -> None:
        """Remove all blocks."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _header(self, name: str, payload: bytes) -> bytes:
        digest = hashlib.sha256(f"{self.key} {name} ".encode() + payload).digest()
        return _MAGIC + len(payload).to_bytes(8, "little") + digest


@dataclass(frozen=True, slots=True, eq=False)
class WorkFolder:
    """A folder with one search: its settings, its blocks, and later its results."""

    folder: Path
    settings: Mapping[str, Any]
    checkpoints: Checkpoints
    done: bool  # already, when the folder was opened

    def finish(self) -> None:
        """Record that the results are complete, then remove the blocks."""
        _write_manifest(self.folder / "manifest.json", self.checkpoints.key, self.settings, done=True)
        self.checkpoints.clear()


def open_work_folder(
    folder: str | Path, settings: Mapping[str, Any], *, outputs: Sequence[str] = (), overwrite: bool = False
) -> WorkFolder:
    """Begin a search in a folder, or continue it.

    Parameters
    ----------
    folder
        Folder of its manifest, blocks and results.
    settings
        Everything that the results depend on, as JSON has it; other settings are another search.
    outputs
        Names of result files, which are removed when the search starts over.
    overwrite
        Start over where the folder holds something else, or a search that is done.

    Raises
    ------
    UsageError
        When the folder holds something else and must not be overwritten.
    """
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise UsageError(f"{home}: is a file; expected a folder")
    home.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()
    checkpoints = Checkpoints(home / BLOCKS, key)
    manifest = _read_manifest(home / "manifest.json")
    if manifest is not None and manifest.key != key:
        if not overwrite:
            differing = [name for name in settings if manifest.settings.get(name) != settings[name]]
            raise UsageError(
                f"{home}: holds a search with other {', '.join(differing) or 'inputs'}; "
                "overwriting starts over, or name another folder"
            )
        manifest = None
    if manifest is None:
        if not overwrite and any(home.iterdir()):
            raise UsageError(f"{home}: is not empty; overwriting starts over there, or name another folder")
        for name in outputs:
            (home / name).unlink(missing_ok=True)
        checkpoints.clear()
        _write_manifest(home / "manifest.json", key, settings, done=False)
    elif manifest.done and not overwrite:
        return WorkFolder(home, settings, checkpoints, done=True)
    return WorkFolder(home, settings, checkpoints, done=False)


@dataclass(frozen=True, slots=True)
class _Manifest:
    """Content of `manifest.json`."""

    schema: str
    key: str
    settings: Mapping[str, Any]
    done: bool


def _read_manifest(path: Path) -> _Manifest | None:
    """Return the manifest, None where it is missing, damaged or of something else: the search then starts over."""
    try:
        manifest = typed(_Manifest, load_json(path), "manifest")
    except InputError:
        return None
    return manifest if manifest.schema == SCHEMA else None


def _write_manifest(path: Path, key: str, settings: Mapping[str, Any], *, done: bool) -> None:
    content = asdict(_Manifest(SCHEMA, key, dict(settings), done))
    _write_durably(path, f"{json.dumps(content, indent=1, sort_keys=True)}\n".encode())


def _write_durably(path: Path, *parts: bytes) -> None:
    """Write a file that is there completely or not at all, even after a loss of power."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())

    write_atomically(path, write)

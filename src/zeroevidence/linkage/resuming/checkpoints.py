"""Work that survives a kill: blocks of results on disk, each whole or not there.

A block is written beside its place, flushed to the disk and moved into it. Its header holds the length and a digest of
the payload, of its name and of the work it belongs to, so that a file that is cut off, damaged or of other work is
never taken for a block: it is worked out again.
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
from zeroevidence.errors import InputError, UsageError

_MAGIC = b"ZEBLOCK2"
_HEADER = len(_MAGIC) + 8 + 32
SCHEMA = "zeroevidence/link/1"


class Checkpoints:
    """The blocks of one piece of work, in a folder of its own."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    def load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """The arrays of a block, or None where it is missing, cut off, damaged or of other work."""
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
        """Write a block: a reader finds it whole, or not at all."""
        self.folder.mkdir(exist_ok=True)
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        payload = buffer.getvalue()
        temporary = self.folder / f".{name}.{os.getpid()}"
        with temporary.open("wb") as stream:
            stream.write(self._header(name, payload))
            stream.write(payload)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.folder / name)

    def clear(self) -> None:
        """Forget all blocks."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a kill left half-written."""
        for leftover in self.folder.glob(".*"):
            leftover.unlink(missing_ok=True)

    def _header(self, name: str, payload: bytes) -> bytes:
        digest = hashlib.sha256(f"{self.key} {name} ".encode() + payload).digest()
        return _MAGIC + len(payload).to_bytes(8, "little") + digest


@dataclass(frozen=True, slots=True, eq=False)
class WorkFolder:
    """A folder with one piece of work: its settings, its blocks, and later its results."""

    folder: Path
    settings: Mapping[str, Any]
    checkpoints: Checkpoints
    done: bool  # already, when the folder was opened

    def finish(self) -> None:
        """Say that the results are whole, then forget the blocks."""
        _write_manifest(self.folder / "manifest.json", self.checkpoints.key, self.settings, done=True)
        self.checkpoints.clear()


def open_work_folder(
    folder: str | Path, settings: Mapping[str, Any], *, outputs: Sequence[str] = (), overwrite: bool = False
) -> WorkFolder:
    """Begin a piece of work, or go on with it.

    Parameters
    ----------
    folder
        Where its manifest, its blocks and its results go.
    settings
        Everything that the results depend on, as JSON has it; other settings are other work.
    outputs
        Names of result files, which are removed when the work starts over.
    overwrite
        Start over where the folder holds something else, or work that is done.

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
    checkpoints = Checkpoints(home / "blocks", key)
    found = _manifest(home / "manifest.json")
    if found is not None and found.key != key:
        if not overwrite:
            differing = [name for name in settings if found.settings.get(name) != settings[name]]
            raise UsageError(
                f"{home}: holds a search with other {', '.join(differing) or 'inputs'}; "
                "overwriting starts over, or name another folder"
            )
        found = None
    if found is None:
        if not overwrite and any(home.iterdir()) and not _only_ours(home):
            raise UsageError(f"{home}: is not empty; overwriting starts over there, or name another folder")
        for name in outputs:
            (home / name).unlink(missing_ok=True)
        checkpoints.clear()
        _write_manifest(home / "manifest.json", key, settings, done=False)
    elif found.done and not overwrite:
        return WorkFolder(home, settings, checkpoints, done=True)
    if checkpoints.folder.is_dir():
        checkpoints.sweep()
    return WorkFolder(home, settings, checkpoints, done=False)


def _only_ours(output: Path) -> bool:
    """Whether nothing is there but what a kill before the first manifest can leave."""
    return all(path.name.startswith(".manifest.json.") for path in output.iterdir())


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What `manifest.json` holds."""

    schema: str
    key: str
    settings: Mapping[str, Any]
    done: bool


def _manifest(path: Path) -> _Manifest | None:
    """The manifest of a folder, None where it is missing, damaged or of something else: the work then starts over."""
    try:
        found = typed(_Manifest, load_json(path), "manifest")
    except InputError:
        return None
    return found if found.schema == SCHEMA else None


def _write_manifest(path: Path, key: str, settings: Mapping[str, Any], *, done: bool) -> None:
    content = asdict(_Manifest(SCHEMA, key, dict(settings), done))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(content, indent=1, sort_keys=True) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)

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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.errors import UsageError

_MAGIC = b"ZEBLOCK1"
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
        with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
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


def open_work(output: Path, key: str, settings: Mapping[str, Any], *, overwrite: bool) -> tuple[Checkpoints, bool]:
    """The checkpoints of a piece of work, and whether it is done already.

    Raises
    ------
    UsageError
        When the folder holds other work and must not be overwritten.
    """
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output}: is a file; expected a folder")
    output.mkdir(parents=True, exist_ok=True)
    manifest = output / "manifest.json"
    found = _manifest(manifest)
    checkpoints = Checkpoints(output / "blocks", key)
    if found is not None and found.get("key") != key:
        if not overwrite:
            differing = [name for name in settings if found.get("settings", {}).get(name) != settings[name]]
            raise UsageError(
                f"{output}: holds a search with other {', '.join(differing) or 'inputs'}; "
                "--overwrite starts anew, or name another folder"
            )
        found = None
    if found is None:
        if not overwrite and any(output.iterdir()) and not _only_ours(output):
            raise UsageError(f"{output}: is not empty; --overwrite starts anew there, or name another folder")
        for name in ("result.json", "trials.parquet", "trials.csv"):
            (output / name).unlink(missing_ok=True)
        checkpoints.clear()
        _write_manifest(manifest, {"schema": SCHEMA, "key": key, "settings": dict(settings), "done": False})
    elif found.get("done") and not overwrite:
        return checkpoints, True
    if checkpoints.folder.is_dir():
        checkpoints.sweep()
    return checkpoints, False


def finish_work(output: Path, checkpoints: Checkpoints, settings: Mapping[str, Any]) -> None:
    """Say that the results are whole, then forget the blocks."""
    manifest = {"schema": SCHEMA, "key": checkpoints.key, "settings": dict(settings), "done": True}
    _write_manifest(output / "manifest.json", manifest)
    checkpoints.clear()


def _only_ours(output: Path) -> bool:
    """Whether nothing is there but what a kill before the first manifest can leave."""
    return all(path.name.startswith(".manifest.json.") for path in output.iterdir())


def _manifest(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None


def _write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps(content, indent=1, sort_keys=True) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def digest_of(*arrays: NDArray[Any] | None) -> str:
    """SHA-256 of arrays with their types and shapes, read in blocks so that memory-mapped ones stay on disk."""
    hasher = hashlib.sha256()
    for array in arrays:
        if array is None:
            hasher.update(b"none")
            continue
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        step = max(1, (1 << 24) // max(1, array.itemsize * (array.shape[1] if array.ndim > 1 else 1)))
        for start in range(0, len(array), step):
            hasher.update(np.ascontiguousarray(array[start : start + step]).data.cast("B"))
    return hasher.hexdigest()

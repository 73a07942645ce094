"""Files are written whole or not at all, and never over another without being told."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from zeroevidence.errors import UsageError


def refuse_existing(path: str | Path | None, overwrite: bool) -> None:
    """Say before any work that the output would replace a file, or has no folder to lie in."""
    if path is None:
        return
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"{path}: is a folder; expected a file name")
    if place.exists() and not overwrite:
        raise UsageError(f"{path}: exists; --overwrite replaces it")
    if not place.absolute().parent.is_dir():
        raise UsageError(f"{path}: the folder {place.parent} does not exist")


def refuse_used_folder(path: str | Path) -> None:
    """Say before any work that a folder would not be new: it holds something, or is a file."""
    place = Path(path)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{path}: exists; expected a new folder")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write atomically: a reader of the file sees the old or the new content, never a part."""
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

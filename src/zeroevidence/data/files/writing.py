"""Atomic writing: a file is whole or not there, and replaces another only where that was asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from zeroevidence.errors import OutputError, UsageError

TEMPORARY_PREFIX = ".zeroevidence-"  # of the names of files that are not whole yet


def refuse_existing(path: str | Path | None, overwrite: bool) -> None:
    """Refuse, before any work, an output that would replace a file or whose folder does not exist."""
    if path is None:
        return
    place = Path(path)
    if _exists(place) and place.is_dir():
        raise UsageError(f"{path}: is a folder; expected a file name")
    if place.exists() and not overwrite and not _is_device(place):
        raise UsageError(f"{path}: exists; --overwrite replaces it")
    if not place.absolute().parent.is_dir():
        raise UsageError(f"{path}: the folder {place.parent} does not exist")


def refuse_used_folder(path: str | Path, *, unfinished: Sequence[str] = ()) -> None:
    """Refuse, before any work, a folder that holds more than a killed process leaves.

    Parameters
    ----------
    path
        The folder.
    unfinished
        Names of files that are written before the last one, which completes a folder.
    """
    place = Path(path)
    if _exists(place) and (not place.is_dir() or any(not _is_left(entry, unfinished) for entry in place.iterdir())):
        raise UsageError(f"{path}: exists; expected a new folder")


def _is_left(path: Path, unfinished: Sequence[str]) -> bool:
    return path.name.startswith(TEMPORARY_PREFIX) or path.name in unfinished


def _is_device(place: Path) -> bool:
    """Return whether it is a pipe or a device, such as /dev/stdout, which cannot be replaced and holds nothing."""
    return place.exists() and not place.is_file() and not place.is_dir()


def _exists(place: Path) -> bool:
    """Return whether there is such a file; a name that none can have is refused."""
    try:
        return place.exists()
    except (OSError, ValueError) as error:
        raise UsageError(f"{place}: {getattr(error, 'strerror', None) or error}; expected another name") from None


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that a reader sees the old or the new content, never a part.

    A symbolic link is replaced, not followed, unless it leads to a pipe or a device.

    Parameters
    ----------
    path
        The file.
    write
        Writes the content to the temporary file that it is given.
    """
    device = _is_device(path)
    try:
        handle, name = tempfile.mkstemp(dir=None if device else path.absolute().parent, prefix=TEMPORARY_PREFIX)
    except OSError as error:
        raise OutputError(error, path) from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        if device:
            path.write_bytes(temporary.read_bytes())
            temporary.unlink()
            return
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OutputError(error, path) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

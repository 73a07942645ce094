"""Locks on folders: a folder that a search, an audit or a training writes into belongs to one process.

The lock is one of the operating system, on a small file beside the folder, so it ends with its process however that
ends; the file names the process. A lock file that a killed process left is taken over by the next.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from zeroevidence.data.files.writing import TEMPORARY_PREFIX
from zeroevidence.errors import OutputError, UsageError


@contextmanager
def lock_folder(folder: str | Path, *, continued_from: Sequence[str | Path] = ()) -> Iterator[None]:
    """Context in which a folder belongs to this process; temporary files of killed processes are removed first.

    Where an error ends it, folders that were made within and are empty are removed, and a note on the error says what
    is kept.

    Parameters
    ----------
    folder
        The folder.
    continued_from
        Names of folders within it, or paths of others, from which the same work continues if it was interrupted.

    Raises
    ------
    UsageError
        When another process has the folder; the message says which and since when.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home, lock_folder(f"{home}/out"):
    ...     [path.name for path in Path(home).iterdir()]
    ['.out.lock']
    """
    place = Path(folder).absolute()
    lock = place.with_name(f".{place.name}.lock")
    new_parents = [parent for parent in place.parents if not parent.exists()]
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = _lock(lock, folder)
    except OSError as error:
        _remove_empty(new_parents)
        raise OutputError(error, folder) from None
    before = set(_folders(place))
    try:
        _sweep(place)
        yield
    except BaseException as error:
        _remove_empty([made for made in _folders(place) if made not in before])
        for name in continued_from:
            _note_kept(error, Path(folder, name))
        raise
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)
        _remove_empty(new_parents)


def _note_kept(error: BaseException, folder: Path) -> None:
    """Note on an error how much a folder holds."""
    kept = sum(path.is_file() for path in folder.rglob("*")) if folder.is_dir() else 0
    if kept:
        files = "1 file" if kept == 1 else f"{kept} files"
        error.add_note(f"{folder} keeps {files}, from which the same command continues")


def _folders(place: Path) -> list[Path]:
    """Return a folder and those within, the innermost first; none where there is no such folder."""
    return [Path(folder) for folder, _, _ in os.walk(place, topdown=False)]


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that hold nothing; the innermost come first."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _lock(lock: Path, folder: str | Path) -> int:
    """Lock the file and return it open, once it is still the file of this name."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(handle)
            os.close(handle)
            raise UsageError(f"{folder}: {owner} writes into it; wait for it, or name another folder") from None
        with suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == lock.stat().st_ino:
                try:
                    _sign(handle)
                except BaseException:  # such as a full disk
                    lock.unlink(missing_ok=True)
                    os.close(handle)
                    raise
                return handle
        os.close(handle)  # its last holder has just removed the file


def _sign(handle: int) -> None:
    owner = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
    }
    os.ftruncate(handle, 0)
    os.write(handle, json.dumps(owner).encode())


def _owner(handle: int) -> str:
    try:
        owner = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(owner['process'])} on {str(owner['host'])[:60]} since {str(owner['since'])[:30]}"
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return "another process"


def _sweep(place: Path) -> None:
    """Remove temporary files of killed processes, at any depth; the process that holds the lock has none yet."""
    if place.is_dir() and not place.is_symlink():
        for leftover in list(place.rglob(f"{TEMPORARY_PREFIX}*")):
            leftover.unlink(missing_ok=True)

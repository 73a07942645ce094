"""Locks on folders: a folder that a search, an audit or a training writes into belongs to one process.

The lock is one of the operating system, on a small file beside the folder, so it ends with its process however that
ends; the file names the process. A lock file that a killed process left is taken over by the next.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from zeroevidence.data.files.writing import TEMPORARY_PREFIX
from zeroevidence.errors import OutputError, UsageError

try:
    import fcntl
except ImportError:  # Windows has other locks; there nothing keeps two processes apart
    fcntl = None  # type: ignore[assignment]


@contextmanager
def lock_folder(folder: str | Path) -> Iterator[None]:
    """Context in which a folder belongs to this process; temporary files of killed processes are removed first.

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
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = _lock(lock, folder)
    except OSError as error:
        raise OutputError(error, folder) from None
    try:
        _sweep(place)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _lock(lock: Path, folder: str | Path) -> int:
    """Lock the file and return it open, once it is still the file of this name."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        if fcntl is None:
            return handle
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(handle)
            os.close(handle)
            raise UsageError(f"{folder}: {owner} writes into it; wait for it, or name another folder") from None
        with suppress(FileNotFoundError):
            if os.fstat(handle).st_ino == lock.stat().st_ino:
                _sign(handle)
                return handle
        os.close(handle)  # the one before has just removed it


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

"""Writing files atomically, in folders that one process at a time may change."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
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
    if (place.exists() or place.is_symlink()) and not overwrite and not _is_device(place):
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
    if not _exists(place):
        return
    names = [entry.name for entry in place.iterdir()] if place.is_dir() else [""]
    if not all(name.startswith(TEMPORARY_PREFIX) or name in unfinished for name in names):
        raise UsageError(f"{path}: exists; expected a new folder")


def _is_device(place: Path) -> bool:
    """Return whether it is a pipe or a device, such as /dev/stdout, which cannot be replaced and holds nothing."""
    return place.exists() and not place.is_file() and not place.is_dir()


def _exists(place: Path) -> bool:
    """Return whether there is such a file; a name that none can have is refused."""
    try:
        return place.exists()
    except (OSError, ValueError) as error:
        raise UsageError(f"{place}: {getattr(error, 'strerror', None) or error}; expected another name") from None


def write_file(path: str | Path, content: str | bytes, *, overwrite: bool = True, mode: int = 0o666) -> None:
    """Write bytes, or a text as UTF-8 with the line ends that it has; otherwise as `write_atomically`."""
    data = content.encode() if isinstance(content, str) else content
    write_atomically(Path(path), lambda temporary: temporary.write_bytes(data), overwrite=overwrite, mode=mode)


def write_atomically(path: Path, write: Callable[[Path], object], *, overwrite: bool = True, mode: int = 0o666) -> None:
    """Write a file so that a reader sees the old or the new content, never a part; its folder is made where missing.

    A symbolic link is replaced, not followed, unless it leads to a pipe or a device.

    Parameters
    ----------
    path
        The file.
    write
        Writes the content to the temporary file that it is given.
    overwrite
        Whether a file that is there by then is replaced; else it is an error, whoever has written it meanwhile.
    mode
        Who may read and write the file, as far as the user's mask lets them.
    """
    device = _is_device(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=None if device else path.absolute().parent, prefix=TEMPORARY_PREFIX)
    except OSError as error:
        raise OutputError(error, path) from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        if device:
            path.write_bytes(temporary.read_bytes())
            return
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(mode & ~umask)
        if not overwrite:
            _take_name(path, temporary)
        temporary.replace(path)
    except FileExistsError:
        raise UsageError(f"{path}: exists; --overwrite replaces it") from None
    except OSError as error:
        raise OutputError(error, path) from None
    finally:
        temporary.unlink(missing_ok=True)  # also the second of two names of a file, which `replace` leaves


def _take_name(path: Path, temporary: Path) -> None:
    """Give a finished file its name unless another file has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))


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
    lock = lock_file(place)
    new_parents = [parent for parent in place.parents if not parent.exists()]
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = _lock(lock, folder)
    except OSError as error:
        _remove_empty(new_parents)
        raise OutputError(error, folder) from None
    before = set(_folders(place))
    try:
        if place.is_dir() and not place.is_symlink():  # temporary files of killed processes: this one has none yet
            for leftover in list(place.rglob(f"{TEMPORARY_PREFIX}*")):
                leftover.unlink(missing_ok=True)
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


def lock_file(place: Path) -> Path:
    """Return the file that is there as long as a process has a folder."""
    return place.parent / f".{place.name}.lock"


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
    since = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    owner = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
    os.ftruncate(handle, 0)
    os.write(handle, json.dumps(owner).encode())


def _owner(handle: int) -> str:
    try:
        owner = json.loads(os.pread(handle, 4096, 0))
        return f"process {int(owner['process'])} on {str(owner['host'])[:60]} since {str(owner['since'])[:30]}"
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return "another process"

"""Files that are read: errors of those that cannot be, those that change meanwhile, limits on what they unpack to."""

from __future__ import annotations

import itertools
import math
import os
import re
import stat
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, IntArray
from zeroevidence.errors import InputError, UsageError, ZeroEvidenceError

_LONGEST = 200
FileState: TypeAlias = tuple[int, int, int] | None


def file_state(path: str | Path) -> FileState:
    """Return what another content of a file changes: inode, size and time; None where there is no regular file."""
    try:
        now = Path(path).stat()
    except (OSError, ValueError):
        return None
    return (now.st_ino, now.st_size, now.st_mtime_ns) if stat.S_ISREG(now.st_mode) else None


@contextmanager
def unchanged(path: str | Path, since: FileState = None) -> Iterator[None]:
    """Context in which a file is read: one that has changed, or has gone, at its end is refused.

    Whatever was read of such a file, and whatever reading it raised, is about no file that there was.

    Parameters
    ----------
    path
        The file; anything but a regular file is not compared.
    since
        Its state when it was opened first; now unless given.
    """
    before = since or file_state(path)

    try:
        yield
    except Exception:
        if before is not None and file_state(path) != before:
            raise changed(path) from None
        raise
    if before is not None and file_state(path) != before:
        raise changed(path)


def changed(path: str | Path) -> InputError:
    """Return the error about a file that changed while it was read."""
    return InputError("changed while it was read; expected a file that stays as it is", path=path)


class ArrayOnDisk:
    """Rows of an npy file, which are read when they are asked for; the file must stay as it was when it was opened.

    A memory map would do the same, but where a file gets shorter, touching a map of it kills the process.
    """

    def __init__(self, path: str | Path, layout: np.memmap[Any, Any], state: FileState) -> None:
        self.path, self.state = str(path), state
        self.shape, self.dtype, self.ndim, self._offset = layout.shape, layout.dtype, layout.ndim, layout.offset

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice | IntArray | BoolArray) -> NDArray[Any]:
        if isinstance(rows, slice):
            some = range(len(self))[rows]
            return self._read([(some.start, max(some.start, some.stop))])
        distinct, places = np.unique(np.arange(len(self))[rows], return_inverse=True)
        edges = np.flatnonzero(np.diff(distinct, prepend=-2, append=len(self) + 1) != 1)
        runs = [(int(distinct[a]), int(distinct[b - 1]) + 1) for a, b in itertools.pairwise(edges)]
        return self._read(runs)[places]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or self.dtype, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:  # another machine may not have the file
        return np.asarray, (self[:],)

    def _read(self, runs: list[tuple[int, int]]) -> NDArray[Any]:
        """Return the rows of some runs, one after the other."""
        size = self.dtype.itemsize * int(self.shape[1])
        data = np.empty(size * sum(stop - start for start, stop in runs), np.uint8)
        left = data
        with unchanged(self.path, self.state), open(self.path, "rb", buffering=0) as stream:
            for start, stop in runs:
                stream.seek(self._offset + size * start)
                here, left = left[: size * (stop - start)], left[size * (stop - start) :]
                while len(here):
                    read = stream.readinto(here.data)
                    if not read:
                        raise InputError("ends before its last vector; the file is damaged", path=self.path)
                    here = here[read:]
        vectors: NDArray[Any] = data.view(self.dtype).reshape(-1, self.shape[1])
        return vectors


def open_array(path: str | Path) -> Any:
    """Return the array of an npy file, whose rows stay on disk until they are asked for."""
    state = file_state(path)
    with reading_file(path, "NumPy npy"):
        layout = np.load(path, mmap_mode="r", allow_pickle=False)  # whose pages are not touched
        rows = layout.ndim == 2 and layout.size and layout.dtype.kind == "f" and layout.flags.c_contiguous
        return ArrayOnDisk(path, layout, state) if rows else np.load(path, allow_pickle=False)


@contextmanager
def reading_file(path: str | Path, kind: str) -> Iterator[None]:
    """Context in which a file is read: an error becomes ``path: cannot be read as KIND: reason``.

    Libraries fail on damaged files in as many ways as there are damages, so every error is taken here; only errors of
    this package and a lack of memory pass. A file that changes meanwhile is refused. Nothing but reading belongs
    within.

    Parameters
    ----------
    path
        The file.
    kind
        What it was read as, such as "a model".

    Examples
    --------
    >>> with reading_file("model.bin", "a model"):
    ...     {}["weights"]
    Traceback (most recent call last):
        ...
    zeroevidence.errors.InputError: model.bin: cannot be read as a model: KeyError: 'weights'
    """
    try:
        with unchanged(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a file that can be read
            yield
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=path, line=error.line) from None
    except (ZeroEvidenceError, MemoryError, KeyboardInterrupt, GeneratorExit, SystemExit, TimeoutError):
        raise
    except BaseException as error:  # libraries written in Rust panic with something that is no Exception
        raise InputError(f"cannot be read as {kind}: {error_reason(error)}", path=path) from None


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Context that adds the name of a file to an `InputError` that names none."""
    try:
        yield
    except InputError as error:
        raise error if error.path is not None else InputError(error.reason, path=path) from None


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder; False for names that no file can have."""
    return os.path.isdir(path)  # noqa: PTH112 - `Path.is_dir` raises for some of these


def is_file(path: str | Path) -> bool:
    """Return whether a path is a file; False for names that no file can have."""
    return os.path.isfile(path)  # noqa: PTH113 - `Path.is_file` raises for some of these


def unreadable_reason(path: str | Path, expected: str = "", *, folder: bool = False) -> str:
    """Return why there is no file, or no folder, of that name that could be read; empty where there is one.

    Parameters
    ----------
    path
        The name.
    expected
        What should be there, for a message about something else; left out where empty.
    folder
        Whether a folder should be there.

    Examples
    --------
    >>> unreadable_reason("absent.wav"), unreadable_reason("absent", folder=True)
    ('no such file', 'no such folder')
    """
    noun = "folder" if folder else "file"
    try:
        place = Path(path)
        mode = place.stat().st_mode
        if folder and stat.S_ISDIR(mode):
            next(place.iterdir(), None)
    except (FileNotFoundError, NotADirectoryError):
        return f"no such {noun}"
    except (OSError, ValueError) as error:
        return f"cannot be read: {error_reason(error)}"
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return ""
    kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "device or a pipe"
    return f"is a {kind}; expected {expected}" if expected else f"is a {kind}"


def error_reason(error: BaseException) -> str:
    """Return the first line of an error's message; with the type of the error where the line alone is no sentence.

    The message of a panic of Rust is about the code of a library, and no reason.
    """
    if type(error).__name__ == "PanicException":
        return "it is damaged"
    first = str(getattr(error, "strerror", None) or error).strip().partition("\n")[0][:_LONGEST]
    return first if first and not isinstance(error, KeyError) else f"{type(error).__name__}: {first}".removesuffix(": ")


_STANDARD_ERROR = 2
_PANIC = b"\nthread '"  # how the report of a panic begins
_REDIRECTING = threading.Lock()


@contextmanager
def silent_panics() -> Iterator[None]:
    """Context in which panics print nothing.

    Whatever the process writes to standard error within is held back and written afterwards, but not the report of a
    panic that became an exception. Nothing but the call of such a library belongs within.
    """
    with _REDIRECTING, ExitStack() as stack:
        try:
            held, terminal = stack.enter_context(tempfile.TemporaryFile()), os.dup(_STANDARD_ERROR)
        except OSError:  # nowhere to hold it, or standard error is closed: the file is read all the same
            terminal = None
        if terminal is None:
            yield
            return
        os.dup2(held.fileno(), _STANDARD_ERROR)
        ended = False
        try:
            yield
            ended = True
        finally:
            os.dup2(terminal, _STANDARD_ERROR)
            os.close(terminal)
            _write_again(held, whole=ended)


def _write_again(held: IO[bytes], *, whole: bool) -> None:
    """Write to standard error what was held back; up to the report of a panic unless all of it is wanted."""
    held.seek(0)
    text = held.read()
    rest = text if whole else text.partition(_PANIC)[0]
    while rest:
        rest = rest[os.write(_STANDARD_ERROR, rest) :]


LIMIT_VARIABLE = "ZEROEVIDENCE_UNPACK_LIMIT"
LIMIT = 8 << 30  # bytes
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)")


def unpack_limit() -> int:
    """Return how many bytes a compressed file may become: 8 GiB, or what the environment says, such as ``32G``."""
    value = os.environ.get(LIMIT_VARIABLE, str(LIMIT))
    size = _SIZE.fullmatch(value.strip().upper())
    if size is None:
        raise UsageError(f"{LIMIT_VARIABLE}={value}: expected a number of bytes, such as 32G")
    return int(size[1]) * _UNITS[size[2]]


def check_size(size: int, path: str | Path, limit: int | None = None, *, so_far: bool = False) -> None:
    """Refuse a file that would become larger than the limit.

    Parameters
    ----------
    size
        Bytes that it would become.
    path
        The file.
    limit
        Bytes that it may become, `unpack_limit` unless given.
    so_far
        Whether it may become larger still.

    Examples
    --------
    >>> check_size(9 << 30, "vectors.npz")
    Traceback (most recent call last):
        ...
    zeroevidence.errors.InputError: vectors.npz: unpacks to 9.0 GiB, and the limit is 8.0 GiB; \
ZEROEVIDENCE_UNPACK_LIMIT=9G raises it
    """
    most = unpack_limit() if limit is None else limit
    if size > most:
        becomes, limited = (f"{part / (1 << 30):.1f} GiB" for part in (size, most))
        sizes = f"{'at least ' if so_far else ''}{becomes}, and the limit is {limited}"
        raise InputError(f"unpacks to {sizes}; {LIMIT_VARIABLE}={-(-size // (1 << 30))}G raises it", path=path)


def check_archive(stream: BinaryIO, path: str | Path) -> None:
    """Refuse a zip archive (npz, pt) that unpacks to too much, or whose arrays announce more than they hold."""
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        check_size(sum(item.file_size for item in members if item.compress_type != zipfile.ZIP_STORED), path)
        for item in members:
            if item.filename.endswith(".npy"):
                with archive.open(item) as member:
                    check_array(member, item.file_size, f"{path}: {item.filename}")
    stream.seek(0)


def check_array(stream: Any, held: int, path: str | Path) -> None:
    """Refuse an npy array whose header announces more bytes than the `held` ones of the file."""
    shape, dtype = array_header(stream)
    size = dtype.itemsize * math.prod(map(int, shape))
    if size > held and not dtype.hasobject:
        raise InputError(f"announces {size} bytes, but has {held}; the file is damaged", path=path)


def array_header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type that an npy announces; none of a version that no array of ours has."""
    version = np.lib.format.read_magic(stream)
    if version > (2, 0):
        return (), np.dtype(object)  # NumPy reads it or refuses it
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it takes longer to read what Python 2 wrote
        shape, _, dtype = read(stream)
    return shape, dtype

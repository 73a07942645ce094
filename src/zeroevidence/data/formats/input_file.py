"""Input files: a file, a pipe or standard input, and its kind.

The kind is decided by the first bytes, never by the name: a score file is often called just ``scores``.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroevidence.data.files import (
    FileState,
    check_size,
    file_state,
    is_folder,
    reading_file,
    silent_panics,
    unchanged,
    unpack_limit,
)
from zeroevidence.errors import InputError

if TYPE_CHECKING:
    import polars as pl

STDIN = "<stdin>"
TEXT = "text"


@dataclass(frozen=True, slots=True)
class Container:
    """A kind of binary file.

    Parameters
    ----------
    name
        Its short name.
    title
        What messages call it.
    magic
        The bytes that such a file may begin with.
    """

    name: str
    title: str
    magic: tuple[bytes, ...]


PARQUET = Container("parquet", "Parquet", (b"PAR1",))
NPZ = Container("npz", "NumPy", (b"PK\x03\x04", b"PK\x05\x06"))
NPY = Container("npy", "NumPy", (b"\x93NUMPY",))
HDF5 = Container("hdf5", "HDF5", (b"\x89HDF\r\n\x1a\n",))
_EARLY_PICKLES = (b"(dp0\n", b"(lp0\n", b"ccopy_reg\n", b"cnumpy.core.multiarray\n", b"}q\x00", b"]q\x00")
PICKLE = Container("pickle", "pickle", (*(b"\x80%c" % protocol for protocol in range(2, 6)), *_EARLY_PICKLES))
EXPORT = "np.savez('scores.npz', scores=scores, labels=labels)"  # how the scores of a pickle are written

_CONTAINERS = (PARQUET, NPZ, NPY, HDF5, PICKLE)
_COMPRESSED = {
    "gzip": (b"\x1f\x8b",),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "xz": (b"\xfd7zXZ\x00",),
    "bzip2": tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)),
    "zlib": (b"\x78\x01", b"\x78\x9c", b"\x78\xda"),
}
# Polars would unpack others too, unasked and without a limit, so they are refused.
_UNPACKERS: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "xz": lzma.open, "bzip2": bz2.open}
_ENDINGS = (".gz", ".xz", ".bz2")  # of the names of compressed files
_START = 64  # bytes that are looked at to recognise a container
_PORTION = 1 << 20  # bytes that are unpacked at a time


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input, opened once: `held` keeps what cannot be read twice, everything else stays on disk.

    Parameters
    ----------
    name
        The file as the user wrote it.
    start
        Its first bytes.
    path
        Where it lies.
    held
        All of its bytes where they cannot be read again, otherwise None.
    state
        What it was when it was opened, which it must be whenever it is read.
    """

    name: str
    start: bytes
    path: Path
    held: bytes | None
    state: FileState = None

    @classmethod
    def holding(cls, name: str, data: bytes) -> InputFile:
        """An input whose bytes are in no file here."""
        return cls(name, data[:_START], Path(name), data)

    @property
    def kind(self) -> str:
        """The name of its container, "text" where it is none of the usual ones."""
        return next((container.name for container in _CONTAINERS if self.is_in(container)), TEXT)

    def is_in(self, container: Container) -> bool:
        """Whether it begins like the files of a container."""
        return self.start.startswith(container.magic) if container.magic else self.kind == container.name

    def check_text(self, expected: str = "text") -> None:
        """Refuse a file of another kind than text."""
        if self.kind != TEXT:
            raise InputError(f"is a {self.kind} file; expected {expected}", path=self.name)

    def read(self) -> bytes:
        """Return all bytes."""
        with self.reading() as stream:
            return stream.read()

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.reading() as stream:
            return stream.read(size)

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield whole lines together, about so many bytes at a time, so that a large file is never held as a whole."""
        with self.reading() as stream:
            start = 0
            while True:
                stream.seek(start + size)
                end = start + size + len(stream.readline())
                stream.seek(start)
                block = stream.read(end - start)
                if not block:
                    return
                yield block
                start += len(block)

    @contextmanager
    def reading(self) -> Iterator[BufferedReader | BytesIO]:
        """Context with the open file; its errors name the file."""
        try:
            with self.stream() as stream:
                yield stream
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=self.name) from None

    @contextmanager
    def stream(self) -> Iterator[BufferedReader | BytesIO]:
        """Context with the open file, which must not have changed since it was opened first.

        Libraries read through it rather than by its name, which they may not take where it is not UTF-8.
        """
        if self.held is not None:
            yield BytesIO(self.held)
            return
        with unchanged(self.path, self.state), self.path.open("rb") as stream:
            yield stream


def open_input(path: str | Path) -> InputFile:
    """Return the input of that name; "-" is standard input.

    Raises
    ------
    InputError
        When there is no such file, it is a folder, it cannot be read, or it is compressed in a way that is not known
        here or to less than the limit on what a file may become.
    """
    if str(path) == "-":
        try:
            return _unpack(InputFile.holding(STDIN, sys.stdin.buffer.read()))
        except OSError as error:  # it is closed
            raise InputError(f"cannot be read: {error.strerror}", path=STDIN) from None
    file, state = Path(path), file_state(path)
    if is_folder(path):
        raise InputError("is a folder; expected a file", path=path)
    try:
        with file.open("rb") as stream:
            # Pipes and process substitutions can be read only once, so they are held from the start.
            held = None if file.is_file() else stream.read()
            start = stream.read(_START) if held is None else held[:_START]
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", path=path) from None
    return _unpack(InputFile(str(path), start, file, held, state))


def open_frame(frame: Any, name: str) -> InputFile:
    """Return a data frame of polars, pandas or another library that narwhals knows, as a Parquet file of that name."""
    import narwhals
    import polars as pl

    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        reason = f"is a {type(frame).__name__}; expected a file, or a data frame in memory"
        raise InputError(reason, path=name) from None
    columns = {}
    for column in table.iter_columns():
        cells: Any = column.to_numpy() if column.dtype.is_numeric() else column.to_list()
        if table.implementation.is_polars():
            cells = column.to_native()
        elif column.is_null().any():
            nulls = column.is_null().to_list()
            cells = [None if null else cell for cell, null in zip(column.to_list(), nulls, strict=True)]
        columns[str(column.name)] = pl.Series(cells, strict=False)
    content = BytesIO()
    pl.DataFrame(columns).write_parquet(content, compression="uncompressed")
    return InputFile.holding(name, content.getvalue())


def refuse_pickle(file: InputFile, export: str) -> None:
    """Refuse a pickle, which runs code when it is read; `export` is Python that writes its content in another way."""
    if file.is_in(PICKLE):
        raise pickled(file.name, export)


def pickled(name: str, export: str) -> InputError:
    """Return the error about a file that is a pickle, or holds one."""
    return InputError(f"a pickle, which is never read, as that may run code; export it: {export}", path=name)


def _unpack(file: InputFile) -> InputFile:
    """Return a file, unpacked where it is compressed in a way that the standard library knows."""
    method = _compression(file)
    if method is None:
        return file
    if method not in _UNPACKERS:
        methods = ", ".join(_UNPACKERS)
        raise InputError(f"compressed with {method}; expected it unpacked, or with {methods}", path=file.name, line=1)
    limit, size = unpack_limit(), 0
    try:
        # Counted first: what it becomes is held only where it is within the limit.
        with file.stream() as packed, _UNPACKERS[method](packed) as stream:
            while part := stream.read(_PORTION):
                size += len(part)
                check_size(size, file.name, limit, so_far=True)
        with file.stream() as packed, _UNPACKERS[method](packed) as stream:
            unpacked = InputFile.holding(file.name, stream.read())
    except (EOFError, OSError, lzma.LZMAError, zlib.error):
        raise InputError(f"damaged: it does not unpack with {method} to its end", path=file.name) from None
    if _compression(unpacked):
        raise InputError("compressed twice; expected it to be unpacked once", path=file.name)
    return unpacked


def uncompressed_name(name: str) -> str:
    """Return the name of a file without the ending that tells how it is compressed."""
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)


def _compression(file: InputFile) -> str | None:
    """Return the name of the method that a file is compressed with, None where it is not."""
    return next((method for method, magic in _COMPRESSED.items() if file.start.startswith(magic)), None)


def load_parquet(file: InputFile) -> pl.DataFrame:
    """Return the table of a Parquet file, unless its rows would not fit: kilobytes can hold billions of equal ones."""
    import polars as pl

    with reading_file(file.name, "Parquet"), silent_panics():
        with file.stream() as stream:
            table = pl.scan_parquet(stream, hive_partitioning=False)
            rows = int(table.select(pl.len()).collect().item())
            check_size(8 * rows * max(1, len(table.collect_schema())), file.name)  # eight bytes for each cell
        with file.stream() as stream:
            return pl.read_parquet(stream, hive_partitioning=False)

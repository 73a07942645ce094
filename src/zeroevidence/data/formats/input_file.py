"""Input files: a file, a pipe or standard input, and its kind.

The kind is decided by the first bytes, never by the name: a score file is often called just ``scores``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from zeroevidence.data.files.errors import is_folder, reading_file
from zeroevidence.data.files.size_limits import check_size
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

_CONTAINERS = (PARQUET, NPZ, NPY, HDF5)
_START = 64  # bytes that are looked at to recognise a container


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
    """

    name: str
    start: bytes
    path: Path
    held: bytes | None

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

    def read(self) -> bytes:
        """Return all bytes."""
        if self.held is not None:
            return self.held
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=self.name) from None

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

    def open(self) -> Path | BytesIO:
        """Return what array libraries take: the path where there is one, so that large files are not held twice."""
        return self.path if self.held is None else BytesIO(self.held)

    def stream(self) -> BufferedReader | BytesIO:
        """Return the open file, which the caller closes (NumPy leaves files open when it fails)."""
        return self.path.open("rb") if self.held is None else BytesIO(self.held)


def open_input(path: str | Path) -> InputFile:
    """Return the input of that name; "-" is standard input.

    Raises
    ------
    InputError
        When there is no such file, it is a folder, or it cannot be read.
    """
    if str(path) == "-":
        return InputFile.holding(STDIN, sys.stdin.buffer.read())
    file = Path(path)
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
    return InputFile(str(path), start, file, held)


def load_parquet(file: InputFile) -> pl.DataFrame:
    """Return the table of a Parquet file, unless its rows would not fit: kilobytes can hold billions of equal ones."""
    import polars as pl

    with reading_file(file.name, "Parquet"):
        table = pl.scan_parquet(file.open(), hive_partitioning=False)
        rows = int(table.select(pl.len()).collect().item())
        check_size(8 * rows * max(1, len(table.collect_schema())), file.name)  # eight bytes for each cell
        return pl.read_parquet(file.open(), hive_partitioning=False)

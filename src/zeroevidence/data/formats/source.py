"""Where bytes come from: a file, a pipe or standard input, and what kind of file they are.

The kind is decided by the first bytes, never by the name: a score file is often called just ``scores``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from zeroevidence.errors import InputError

STDIN = "<stdin>"

_MAGIC = (
    (b"PAR1", "parquet"),
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),
    (b"\x93NUMPY", "npy"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """One input, opened once: `held` keeps what cannot be read twice, everything else stays on disk."""

    name: str
    kind: str
    path: Path
    held: bytes | None

    def read(self) -> bytes:
        """All bytes."""
        if self.held is not None:
            return self.held
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=self.name) from None

    def open(self) -> Path | BytesIO:
        """What array libraries take: the path where there is one, so that large files are not held twice."""
        return self.path if self.held is None else BytesIO(self.held)

    def stream(self) -> BinaryIO:
        """The same as an open file that the caller closes (NumPy leaves files open when it fails)."""
        return self.path.open("rb") if self.held is None else BytesIO(self.held)


def locate(path: str | Path) -> Source:
    """The source behind a name, "-" being standard input.

    Raises
    ------
    InputError
        When there is no such file, it is a folder, or it cannot be read.
    """
    if str(path) == "-":
        data = sys.stdin.buffer.read()
        return Source(STDIN, _kind(data[:8]), Path(STDIN), data)
    file = Path(path)
    if is_folder(path):
        raise InputError("is a folder; expected a file", path=path)
    try:
        with file.open("rb") as stream:
            # Pipes and process substitutions can be read only once, so they are held from the start.
            held = None if file.is_file() else stream.read()
            head = stream.read(8) if held is None else held[:8]
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", path=path) from None
    return Source(str(path), _kind(head), file, held)


def is_folder(path: str | Path) -> bool:
    """Whether a name is a folder; False for names that no file can have."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _kind(head: bytes) -> str:
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "text")

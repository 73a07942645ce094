"""What a small file may become in memory: sizes are looked up and compared with a limit before anything is unpacked."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from zeroevidence.errors import InputError, UsageError

LIMIT_VARIABLE = "ZEROEVIDENCE_UNPACK_LIMIT"
LIMIT = 8 << 30  # bytes
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)")


def unpack_limit() -> int:
    """Bytes that a compressed file may become: 8 GiB, or what the environment variable says, such as ``32G``."""
    given = os.environ.get(LIMIT_VARIABLE)
    if given is None:
        return LIMIT
    found = _SIZE.fullmatch(given.strip().upper())
    if found is None:
        raise UsageError(f"{LIMIT_VARIABLE}={given}: expected a number of bytes, such as 32G")
    return int(found[1]) * _UNITS[found[2]]


def check_size(size: int, path: str | Path, limit: int | None = None) -> None:
    """Refuse what would become larger than the limit.

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
        wanted = -(-size // (1 << 30))
        raise InputError(
            f"unpacks to {size / (1 << 30):.1f} GiB, and the limit is {most / (1 << 30):.1f} GiB; "
            f"{LIMIT_VARIABLE}={wanted}G raises it",
            path=path,
        )


def check_archive(stream: BinaryIO, path: str | Path) -> None:
    """Refuse a zip archive (npz, pt) that unpacks to too much, or arrays that say they hold more than they do."""
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        packed = [one for one in members if one.compress_type != zipfile.ZIP_STORED]
        check_size(sum(one.file_size for one in packed), path)
        for one in members:
            if one.filename.endswith(".npy"):
                with archive.open(one) as member:
                    check_array(member, one.file_size, f"{path}: {one.filename}")
    stream.seek(0)


def check_array(stream: Any, held: int, path: str | Path) -> None:
    """Refuse an npy array whose header asks for more memory than the file has numbers for."""
    version = np.lib.format.read_magic(stream)
    if version > (2, 0):
        return  # field names in UTF-8, which no array of ours has; NumPy reads it or refuses it
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    size = dtype.itemsize
    for one in shape:
        size *= int(one)
    if size > held and not dtype.hasobject:
        raise InputError(f"says that it holds {size} bytes, but has {held}; it is damaged", path=path)


def check_rows(rows: int, columns: int, path: str | Path) -> None:
    """Refuse a table whose rows alone, at eight bytes for each cell, would be too much."""
    check_size(8 * rows * max(1, columns), path)

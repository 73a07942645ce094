"""Limits on what a small file may become in memory, checked before anything is unpacked."""

from __future__ import annotations

import math
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
        raise InputError(
            f"unpacks to {'at least ' if so_far else ''}{size / (1 << 30):.1f} GiB, "
            f"and the limit is {most / (1 << 30):.1f} GiB; "
            f"{LIMIT_VARIABLE}={-(-size // (1 << 30))}G raises it",
            path=path,
        )


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
    version = np.lib.format.read_magic(stream)
    if version > (2, 0):
        return  # field names in UTF-8, which no array of ours has; NumPy reads it or refuses it
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    size = dtype.itemsize * math.prod(map(int, shape))
    if size > held and not dtype.hasobject:
        raise InputError(f"announces {size} bytes, but has {held}; the file is damaged", path=path)

"""Kaldi vectors: text and binary ark, and scp files that point into them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.formats.source import Source
from zeroevidence.errors import InputError

_TYPES: dict[bytes, np.dtype[Any]] = {b"FV ": np.dtype("<f4"), b"DV ": np.dtype("<f8")}


def read_ark(data: bytes, name: str) -> dict[str, FloatArray]:
    """Vectors of an archive by utterance, in order; each utterance once."""
    found: dict[str, FloatArray] = {}
    at, entry = 0, 0
    while at < len(data):
        if data[at : at + 1].isspace():
            at += 1
            continue
        entry += 1
        end = data.find(b" ", at)
        line = data.find(b"\n", at)
        if end < 0 or (0 <= line < end):
            raise InputError(
                f"entry {entry}: no vector after the identifier; expected `utterance [ 1.0 2.0 ]`", path=name
            )
        key = _text(data[at:end], entry, name)
        if key in found:
            raise InputError(f"entry {entry}: {key!r} occurs twice; expected once", path=name)
        found[key], at = _vector(data, end + 1, f"{key!r}", name)
    return found


def _text(raw: bytes, entry: int, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"entry {entry}: its identifier is not UTF-8; is this a Kaldi archive?", path=name) from None


def _vector(data: bytes, at: int, what: str, name: str) -> tuple[FloatArray, int]:
    """The vector at a place, and the place after it."""
    if data[at : at + 2] == b"\x00B":
        kind = data[at + 2 : at + 5]
        if kind not in _TYPES:
            raise InputError(f"{what}: binary type {kind!r}; expected a vector of floats (FV, DV)", path=name)
        if data[at + 5 : at + 6] != b"\x04" or len(data) < at + 10:
            raise InputError(f"{what}: its header is damaged or cut off", path=name)
        (count,) = struct.unpack("<i", data[at + 6 : at + 10])
        dtype, start = _TYPES[kind], at + 10
        stop = start + count * dtype.itemsize
        if count < 0 or stop > len(data):
            raise InputError(f"{what}: says {count} entries, but the file ends before; it is cut off", path=name)
        return np.frombuffer(data, dtype, count, start).copy(), stop
    end = data.find(b"]", at)
    if end < 0 or b"[" not in data[at:end]:
        raise InputError(f"{what}: expected `[ 1.0 2.0 ]` or a binary vector", path=name)
    inside = data[at:end].split(b"[", 1)[1]
    if b"\n" in inside.strip():
        raise InputError(f"{what}: a matrix; expected a vector", path=name)
    try:
        return np.array(inside.split(), dtype=np.float64).astype(np.float32), end + 1
    except ValueError:
        raise InputError(f"{what}: an entry is not a number", path=name) from None


def read_scp(source: Source) -> dict[str, FloatArray]:
    """Vectors that an scp file points to: lines of `utterance archive:offset`."""
    found: dict[str, FloatArray] = {}
    archives: dict[str, bytes] = {}
    for number, raw in enumerate(source.read().decode("utf-8", "replace").splitlines(), 1):
        cells = raw.split(maxsplit=1)
        if not cells:
            continue
        place = cells[1].rsplit(":", 1) if len(cells) == 2 else []
        if len(place) != 2 or not place[1].strip().isdigit():
            raise InputError("expected `utterance archive:offset`", path=source.name, line=number)
        if cells[0] in found:
            raise InputError(f"{cells[0]!r} occurs twice; expected once", path=source.name, line=number)
        archive = place[0]
        if archive not in archives:
            archives[archive] = _archive(archive, source, number)
        found[cells[0]], _ = _vector(archives[archive], int(place[1]), repr(cells[0]), archive)
    return found


def _archive(archive: str, source: Source, number: int) -> bytes:
    for path in (Path(archive), source.path.parent / archive):
        if path.is_file():
            return path.read_bytes()
    raise InputError(f"{archive}: no such archive", path=source.name, line=number)

"""Kaldi vectors: text and binary ark, and scp files that point into them, with ``utt2spk`` beside them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import unchanged
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.vectors.read import VECTOR_FORMATS, VectorFormat, read_list
from zeroevidence.data.printable import compose
from zeroevidence.errors import InputError

_OFFSET = re.compile("[0-9]{1,18}")  # ASCII digits alone
_TYPES: dict[bytes, np.dtype[Any]] = {b"FV ": np.dtype("<f4"), b"DV ": np.dtype("<f8")}


def read_ark(data: bytes, name: str) -> dict[str, FloatArray]:
    """Return the vectors of an archive by utterance, in order; each utterance once."""
    vectors: dict[str, FloatArray] = {}
    at, entry = 0, 0
    while at < len(data):
        if data[at : at + 1].isspace():
            at += 1
            continue
        entry += 1
        end = data.find(b" ", at)
        line = data.find(b"\n", at)
        if end < 0 or (0 <= line < end):
            reason = f"entry {entry}: no vector after the identifier; expected `utterance [ 1.0 2.0 ]`"
            raise InputError(reason, path=name)
        try:
            key = data[at:end].decode("utf-8")
        except UnicodeDecodeError:
            reason = f"entry {entry}: its identifier is not UTF-8; is this a Kaldi archive?"
            raise InputError(reason, path=name) from None
        if key in vectors:
            raise InputError(f"entry {entry}: {key!r} occurs twice; expected once", path=name)
        vectors[key], at = _vector(data, end + 1, f"{key!r}", name)
    return vectors


def _vector(data: bytes, at: int, what: str, name: str) -> tuple[FloatArray, int]:
    """Return the vector at a position, and the position after it."""
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
        return np.array(inside.split(), dtype=np.float64), end + 1
    except ValueError:
        raise InputError(f"{what}: an entry is not a number", path=name) from None


def read_scp(file: InputFile) -> dict[str, FloatArray]:
    """Return the vectors that an scp file points to: lines of `utterance archive:offset`."""
    vectors: dict[str, FloatArray] = {}
    archives: dict[str, bytes] = {}
    for number, raw in enumerate(file.read().decode("utf-8", "replace").splitlines(), 1):
        cells = raw.split(maxsplit=1)
        if not cells:
            continue
        place = cells[1].rsplit(":", 1) if len(cells) == 2 else []
        if len(place) != 2 or not _OFFSET.fullmatch(place[1].strip()):
            raise InputError("expected `utterance archive:offset`", path=file.name, line=number)
        if cells[0] in vectors:
            raise InputError(f"{cells[0]!r} occurs twice; expected once", path=file.name, line=number)
        archive = place[0]
        if archive not in archives:
            path = next((path for path in (Path(archive), file.path.parent / archive) if path.is_file()), None)
            if path is None:
                raise InputError(f"{archive}: no such archive", path=file.name, line=number)
            with unchanged(path):
                archives[archive] = path.read_bytes()
        vectors[cells[0]], _ = _vector(archives[archive], int(place[1]), repr(cells[0]), archive)
    return vectors


def _embeddings(vectors: Mapping[str, FloatArray], file: InputFile) -> Embeddings:
    """Return vectors by name, with the speakers of ``utt2spk`` where it lists all of them."""
    path = file.path.parent / "utt2spk"
    beside = read_list(path) if file.held is None and path.is_file() else []
    listed, names = {compose(name): speaker for name, speaker in beside}, list(map(compose, vectors))
    speakers = np.array([listed[name] or "" for name in names]) if listed.keys() >= set(names) else None
    return Embeddings(stack_vectors(vectors, file.name), np.array(list(vectors)), speakers)


def stack_vectors(vectors: Mapping[str, FloatArray], name: str) -> FloatArray:
    """Return vectors by name as one array; all must have the same length."""
    if not vectors:
        raise InputError("empty; expected one vector per line", path=name)
    first = len(next(iter(vectors.values())))
    for key, vector in vectors.items():
        if len(vector) != first:
            reason = f"{key!r} has {len(vector)} entries, the first vector {first}"
            raise InputError(f"{reason}; expected the same", path=name)
    return np.stack(list(vectors.values()))


VECTOR_FORMATS.add(
    VectorFormat(
        name="kaldi scp",
        description="Kaldi scp, lines of `utterance archive:offset`; `utt2spk` beside it",
        read=lambda file: _embeddings(read_scp(file), file),
        suffix=".scp",
        place=50,
    ),
    VectorFormat(
        name="kaldi ark",
        description="Kaldi ark, `utterance [ 1.2 ... ]` or binary (FV, DV); `utt2spk` beside it",
        read=lambda file: _embeddings(read_ark(file.read(), file.name), file),
        place=1000,
    ),
)

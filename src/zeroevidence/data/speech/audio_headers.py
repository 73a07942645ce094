"""Headers of audio files that say how many bytes of samples follow: a decoder reads what is there and says nothing."""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_STREAMED = (0, 0xFFFFFFFF)  # sizes of a file that was written before its length was known
_MOST_CHUNKS = 10_000
_NIST_FIELD = re.compile(rb"^(sample_count|channel_count|sample_n_bytes) -i ([0-9]{1,18})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SampleBytes:
    """Bytes of samples of a file: as its header announces them, and as they are there."""

    announced: int
    held: int


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A named part of a file: where its body begins, and how long it is said to be."""

    name: bytes
    body: int
    size: int


def sample_bytes(stream: BinaryIO) -> SampleBytes | None:
    """Return the bytes of samples of an audio file; None for containers, and streamed files, that do not say.

    Parameters
    ----------
    stream
        The open file: RIFF, RF64, W64, AIFF, AU and NIST are known.
    """
    stream.seek(0)
    start = stream.read(1024)
    chunk: _Chunk | None = None
    if start[:4] in (b"RIFF", b"RIFX", b"RF64"):
        chunk = _riff_data(stream, start)
    elif start[:4] == b"riff":
        chunk = _find(_chunks(stream, 40, "<16sQ", align=8, counts_head=True), b"data")
    elif start[:4] == b"FORM":
        chunk = _find(_chunks(stream, 12, ">4sI", align=2), b"SSND", b"BODY")
    elif start[:4] in (b".snd", b"dns.") and len(start) >= 12:
        body, size = struct.unpack(">II" if start[:4] == b".snd" else "<II", start[4:12])
        chunk = None if size in _STREAMED else _Chunk(b"", body, size)
    elif start[:8] == b"NIST_1A\n":
        fields = {name: int(value) for name, value in _NIST_FIELD.findall(start)}
        header = start[8:16].strip()
        if len(fields) == 3 and header.isdigit():
            chunk = _Chunk(
                b"", int(header), fields[b"sample_count"] * fields[b"channel_count"] * fields[b"sample_n_bytes"]
            )
    if chunk is None:
        return None
    return SampleBytes(chunk.size, max(0, stream.seek(0, os.SEEK_END) - chunk.body))


def repaired_stream(stream: BinaryIO) -> io.BytesIO | None:
    """Return a copy of a streamed WAV file whose sizes are all 0, such that decoders read to its end; None for others.

    Decoders take a file of 8 bytes for one that was not closed, and count its samples themselves.
    """
    stream.seek(0)
    start = stream.read(12)
    if start[:4] != b"RIFF" or len(start) < 12 or struct.unpack("<I", start[4:8])[0] not in _STREAMED:
        return None
    chunk = _find(_chunks(stream, 12, "<4sI", align=2), b"data")
    if chunk is None or chunk.size:
        return None
    stream.seek(0)
    return io.BytesIO(start[:4] + struct.pack("<I", 8) + stream.read()[8:])


def _riff_data(stream: BinaryIO, start: bytes) -> _Chunk | None:
    """Return the chunk of samples of a WAV file; None where its size is not known."""
    large: int | None = None
    for chunk in _chunks(stream, 12, ">4sI" if start[:4] == b"RIFX" else "<4sI", align=2):
        if chunk.name == b"ds64" and start[:4] == b"RF64":
            stream.seek(chunk.body + 8)
            size = stream.read(8)
            large = int.from_bytes(size, "little") if len(size) == 8 else None
        elif chunk.name == b"data":
            if chunk.size == _STREAMED[1] and large:
                return _Chunk(chunk.name, chunk.body, large)
            return None if chunk.size in _STREAMED else chunk
    return None


def _find(chunks: Iterator[_Chunk], *names: bytes) -> _Chunk | None:
    return next((chunk for chunk in chunks if chunk.name in names), None)


def _chunks(stream: BinaryIO, at: int, head: str, *, align: int, counts_head: bool = False) -> Iterator[_Chunk]:
    """Yield the chunks of a file from a position on; `counts_head` where sizes include name and size."""
    layout = struct.Struct(head)
    for _ in range(_MOST_CHUNKS):
        stream.seek(at)
        raw = stream.read(layout.size)
        if len(raw) < layout.size:
            return
        name, size = layout.unpack(raw)
        size = max(0, size - layout.size) if counts_head else size
        yield _Chunk(name[:4], at + layout.size, size)
        at += layout.size + size + -size % align
        if at > 1 << 62:  # beyond any file, and any position that can be sought
            return

"""Streams of samples: headers that are repaired, channels that are mixed, rates that are changed."""

from __future__ import annotations

import io
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.corpus import SEGMENT_RATE
from zeroevidence.optional import optional

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
            chunk = _Chunk(b"", int(header), prod(fields.values()))
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


Wave = NDArray[np.float32]

SILENCE = 1e-4
_AROUND = 1024  # samples of the lower rate on either side of a part: several times the length of the filter


@dataclass(frozen=True, slots=True)
class FilePart:
    """Which samples of a file are decoded for a part of its waveform at another rate.

    Parameters
    ----------
    first
        The first sample of the file that is decoded.
    last
        Where decoding ends, exclusive; None at the end of the file.
    start
        The first sample of the file that belongs to the part.
    end
        Where the part ends in the file, exclusive; None at its end.
    skipped
        Samples of the result that lie before the part.
    length
        Samples of the part in the result; None for all that follow.
    """

    first: int
    last: int | None
    start: int
    end: int | None
    skipped: int
    length: int | None

    @classmethod
    def of(cls, start: int | None, end: int | None, file_rate: int, rate: int) -> FilePart:
        """Return the part between two samples at 16 kHz of a file at `file_rate`, wanted at `rate`."""
        around = 0 if file_rate == rate else _AROUND * max(1, -(-file_rate // rate))
        first_sample = _scaled(start or 0, rate)
        # Resampling that begins at a common multiple of both periods has its samples where that of the whole file has.
        common = gcd(file_rate, rate)
        periods = max(0, first_sample * file_rate // rate - around) // (file_rate // common)
        last_sample = None if end is None else _scaled(end, rate)
        return cls(
            first=periods * (file_rate // common),
            last=None if last_sample is None else -(-last_sample * file_rate // rate) + around,
            start=(start or 0) * file_rate // SEGMENT_RATE,
            end=None if end is None else -(-end * file_rate // SEGMENT_RATE),
            skipped=first_sample - periods * (rate // common),
            length=None if last_sample is None else last_sample - first_sample,
        )


class Mixer:
    """Averages channels and resamples a part of a file, piece by piece.

    Parameters
    ----------
    part
        The part.
    file_rate
        The rate of the file.
    rate
        The rate of the result.
    channels
        Channels of the file.
    """

    def __init__(self, part: FilePart, file_rate: int, rate: int, channels: int) -> None:
        self.peak = 0.0  # of the mean of the channels
        self._part, self._position = part, part.first
        self._resampler = None if file_rate == rate else _resampler(file_rate, rate)
        self._waves: list[Wave] = []
        self._low, self._high = np.full(channels, np.inf), np.full(channels, -np.inf)

    def add(self, samples: NDArray[np.float32]) -> None:
        """Take in the next piece, samples x channels."""
        wave = samples.mean(axis=1, dtype=np.float32) if samples.shape[1] > 1 else samples[:, 0]
        self.peak = float(np.maximum(self.peak, np.abs(wave).max()))  # not a number where any sample is not
        before, self._position = self._position, self._position + len(samples)
        end = None if self._part.end is None else max(0, self._part.end - before)
        inside = samples[max(0, self._part.start - before) : end]
        if len(inside):
            self._low = np.minimum(self._low, inside.min(axis=0))
            self._high = np.maximum(self._high, inside.max(axis=0))
        self._waves.append(wave if self._resampler is None else self._resampler.resample_chunk(wave))

    def wave(self) -> Wave:
        """Return the part of what was taken in."""
        if self._resampler is not None:
            self._waves.append(self._resampler.resample_chunk(np.zeros(0, np.float32), last=True))
        first, length = self._part.skipped, self._part.length
        return np.concatenate(self._waves)[first : None if length is None else first + length]

    @property
    def audible(self) -> bool:
        """Whether a channel of the part is not silent: half of its range is no more than its largest deviation."""
        return bool((self._high - self._low).max() >= 2.0 * SILENCE)


def _resampler(file_rate: int, rate: int) -> Any:
    soxr = optional("soxr", "speech", f"resampling from {file_rate} to {rate} Hz")
    return soxr.ResampleStream(file_rate, rate, 1, dtype="float32", quality="VHQ")


def _scaled(samples: int, rate: int) -> int:
    return (samples * rate + SEGMENT_RATE // 2) // SEGMENT_RATE

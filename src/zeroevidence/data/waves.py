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
from zeroevidence.errors import InputError
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

LONGEST_PIECE = 28.0  # seconds of a long recording that are protected at a time; recognisers hear as much at once
FRAME = 0.05  # seconds over which loudness is measured
_FADE = 0.005  # seconds at either end of a piece


def frame_powers(wave: Wave, rate: int) -> NDArray[np.float32]:
    """Return the mean power of each 50 ms of a waveform; what is left at its end is not measured."""
    size = round(FRAME * rate)
    frames = wave[: len(wave) // size * size].reshape(-1, size)
    return np.asarray(np.einsum("fs,fs->f", frames, frames) / np.float32(size))


def first_cut(power: NDArray[np.float32], longest: int) -> int | None:
    """Return the quietest frame in which a piece can end; None where all frames are one piece.

    Parameters
    ----------
    power
        Power of each frame.
    longest
        Frames of a piece at most. It has at least half as many, and what follows it at least a quarter.

    Examples
    --------
    >>> power = np.ones(60, np.float32)
    >>> power[15] = 0.1
    >>> first_cut(power, 20), first_cut(power, 60)
    (15, None)
    """
    if len(power) <= longest:
        return None
    first, last = longest // 2, min(longest, len(power) - longest // 4)
    return first + int(np.argmin(power[first:last]))


def cut_places(power: NDArray[np.float32], rate: int, seconds: float = LONGEST_PIECE) -> list[int]:
    """Return the samples at which a long waveform is cut; none where it is no longer than two pieces.

    Parameters
    ----------
    power
        As `frame_powers` gives it.
    rate
        Of the waveform.
    seconds
        Length of a piece at most.
    """
    size, longest, place = round(FRAME * rate), round(seconds / FRAME), 0
    places: list[int] = []
    while len(power) > 2 * longest and (at := first_cut(power[place:], longest)) is not None:
        place += at
        places.append(place * size + size // 2)
    return places


def faded(wave: Wave, rate: int) -> Wave:
    """Return a piece that begins and ends in silence, so that no click is heard where it meets another."""
    size = min(round(_FADE * rate), len(wave) // 2)
    ramp = (np.arange(size, dtype=np.float32) + 0.5) / np.float32(max(size, 1))
    result = wave.copy()
    result[:size] *= ramp
    result[len(wave) - size :] *= ramp[::-1]
    return result


_BLOCK = 0.25  # seconds that are read at a time
_PCM, _EXTENSIBLE = 1, 0xFFFE  # formats of samples


@dataclass(frozen=True, slots=True)
class PcmInput:
    """A stream of 16-bit samples: a WAV file, or samples alone.

    Parameters
    ----------
    stream
        The stream, after its header.
    rate
        Sample rate.
    channels
        Channels, which are averaged.
    is_wave
        Whether it has a header.
    begun
        Bytes of samples that are read already.
    announced
        Bytes of samples that the header announces; None where it does not say.
    """

    stream: BinaryIO
    rate: int
    channels: int = 1
    is_wave: bool = False
    begun: bytes = b""
    announced: int | None = None

    @classmethod
    def of(cls, stream: BinaryIO, rate: int | None, name: str) -> PcmInput:
        """Read the header, if there is one; `rate` is that of samples without one."""
        start = _read(stream, 12, name)
        if not start:
            raise InputError("empty; expected a WAV file or 16-bit PCM", path=name)
        if start[:4] != b"RIFF" or start[8:] != b"WAVE":
            if rate is None:
                raise InputError("no WAV file; expected one, or --rate with the rate of 16-bit PCM", path=name)
            return cls(stream, rate, begun=start)
        layout = b""
        for _ in range(_MOST_CHUNKS):
            chunk, size = struct.unpack("<4sI", _read(stream, 8, name).ljust(8, b"\0"))
            if chunk == b"data":
                break
            body = _read(stream, min(size + size % 2, 1 << 20), name)
            layout = body if chunk == b"fmt " else layout
            if len(body) < size:
                raise InputError("its header is damaged; expected a chunk of samples", path=name)
        kind, channels, header_rate, _, _, bits = struct.unpack("<HHIIHH", layout[:16].ljust(16, b"\0"))
        kind = int.from_bytes(layout[24:26], "little") if kind == _EXTENSIBLE else kind
        if chunk != b"data" or kind != _PCM or bits != 16 or not channels:
            raise InputError(f"a WAV file of format {kind} with {bits} bits; expected 16-bit PCM", path=name)
        if rate not in (None, header_rate):
            raise InputError(f"a WAV file of {header_rate} Hz; expected the {rate} Hz of --rate", path=name)
        return cls(stream, header_rate, channels, True, announced=None if size in _STREAMED else size)

    def blocks(self, name: str) -> Iterator[Wave]:
        """Yield the mean of the channels, a quarter of a second at a time; a stream that is cut off is an error."""
        size, left, data = 2 * self.channels, self.announced, self.begun
        most = round(_BLOCK * self.rate) * size
        while read := _read(self.stream, most if left is None else min(most, left), name):
            data, left = data + read, None if left is None else left - len(read)
            whole = len(data) // size * size
            yield self._decoded(data[:whole])
            data = data[whole:]
        if len(data) >= size:  # samples that were read with what might have been a header
            yield self._decoded(data[: len(data) // size * size])
        if left or len(data) % size:
            what = f"{left} bytes of samples are missing" if left else "it ends within a sample"
            raise InputError(f"cut off: {what}", path=name)

    def _decoded(self, data: bytes) -> Wave:
        samples = np.frombuffer(data, "<i2").reshape(-1, self.channels)
        return np.asarray(samples.mean(axis=1, dtype=np.float32) / np.float32(1 << 15))


def _read(stream: BinaryIO, size: int, name: str) -> bytes:
    try:
        return stream.read(size)
    except OSError as error:  # it is closed, or a folder
        raise InputError(f"cannot be read: {error.strerror}", path=name) from None


def wave_header(rate: int) -> bytes:
    """Return the header of a WAV file of 16-bit samples in one channel whose length is not known yet."""
    layout = struct.pack("<HHIIHH", _PCM, 1, rate, 2 * rate, 2, 16)
    unknown = struct.pack("<I", _STREAMED[1])
    return b"RIFF" + unknown + b"WAVEfmt " + struct.pack("<I", len(layout)) + layout + b"data" + unknown


def pcm_samples(wave: NDArray[np.floating[Any]]) -> NDArray[np.int16]:
    """Return a waveform as 16-bit samples, limited to full scale; one of such samples gives them again."""
    return np.asarray(np.clip(np.rint(wave * 32768.0), -32768.0, 32767.0), "<i2")


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

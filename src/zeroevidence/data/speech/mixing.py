"""Channels to one, another rate, and parts of long recordings: samples of a file come and go in pieces.

A part of a file at another rate is resampled with what lies around it, so that it is the same as the part of the whole
file resampled, and takes the time and the memory of the part alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.speech.corpus import SEGMENT_RATE
from zeroevidence.errors import MissingExtra

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
            self._low, self._high = (
                np.minimum(self._low, inside.min(axis=0)),
                np.maximum(self._high, inside.max(axis=0)),
            )
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
    try:
        import soxr
    except ImportError:
        raise MissingExtra("speech", f"resampling from {file_rate} to {rate} Hz") from None
    return soxr.ResampleStream(file_rate, rate, 1, dtype="float32", quality="VHQ")


def _scaled(samples: int, rate: int) -> int:
    return (samples * rate + SEGMENT_RATE // 2) // SEGMENT_RATE

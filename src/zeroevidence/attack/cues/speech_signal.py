"""An utterance with what several cues need of it: levels of frames, speech and pauses, their spectra, and pitch.

Each is computed when it is first used, and cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.attack.cues.pitch_tracking import track_pitch
from zeroevidence.errors import InputError

RATE = 16_000
HOP = 160  # samples: frames every 10 ms
FRAMES_PER_SECOND = RATE / HOP
_NOTHING = 1e-7  # of full scale, -140 dB: what is no further from its mean is rounding
_LOWEST = -140.0  # dB
_DEEPEST = 60.0  # dB below the loudest frames: digital silence is no quieter than that
_SHALLOWEST = 6.0  # dB between the quietest and the loudest frames: with less, pauses cannot be detected
_BELOW_LOUDEST = 30.0  # dB: quieter is no speech
_BETWEEN = 0.3  # of the way from the quietest to the loudest frames: quieter is no speech
_SHORTEST_PAUSE, _SHORTEST_SPEECH = 15, 5  # frames
_BEFORE_SPEECH, _AFTER_SPEECH = 5, 15  # frames beside speech that are no pause: soft beginnings, and what reverberates
_DIGITAL_SILENCE = -110.0  # dB of full scale: quieter than the rounding of 16 bits
_STEADY = 6.0  # dB above the quietest tenth of a pause: louder frames are breath, or steps, or soft speech
_WINDOW = 512  # samples of a short-time spectrum, two hops
_BLOCK = 1024  # spectra at a time: bounds the memory that an hour of speech takes


class SpeechSignal:
    """An utterance at 16 kHz without its constant offset.

    Attributes
    ----------
    samples
        Samples in double precision.
    offset
        Their mean.
    wave
        Samples without the offset; all zeros where none is above -140 dB.
    """

    def __init__(self, wave: NDArray[Any]) -> None:
        self.samples: NDArray[np.float64] = np.asarray(wave, np.float64).ravel()
        self.offset = float(self.samples.mean()) if len(self.samples) else 0.0
        if not np.isfinite(self.offset):
            raise InputError("the waveform holds NaN or infinite samples")
        centred = self.samples - self.offset
        self.silent = float(np.abs(centred).max(initial=0.0)) < _NOTHING
        self.wave: NDArray[np.float64] = np.zeros_like(centred) if self.silent else centred

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return len(self.samples) / RATE

    @cached_property
    def levels(self) -> FloatArray:
        """Level of every 10 ms with the 10 ms before and after, in dB of full scale, no lower than -140.

        Such 30 ms hold a whole period of any voice.
        """
        padded = np.pad(self.wave, (0, max(HOP - len(self.wave), 0)))
        power = (padded[: len(padded) // HOP * HOP] ** 2).reshape(-1, HOP).mean(axis=1)
        return decibels(sliding_window_view(np.pad(power, 1, mode="edge"), 3).mean(axis=1), _LOWEST)

    @cached_property
    def threshold(self) -> float:
        """The level in dB above which a frame may be speech, relative to the utterance's quiet and loud frames."""
        high = float(np.percentile(self.levels, 97))
        low = max(float(np.percentile(self.levels, 5)), high - _DEEPEST)
        if high - low < _SHALLOWEST:
            return -np.inf
        return max(low + _BETWEEN * (high - low), high - _BELOW_LOUDEST)

    @cached_property
    def speech(self) -> BoolArray:
        """Frames that are speech: loud ones with the gaps under 150 ms between them, but no bursts under 50 ms."""
        mask = np.zeros(len(self.levels), np.bool_)
        loud = np.pad(self.levels > self.threshold, 1, constant_values=True)
        starts, ends = runs(loud[:-2] & loud[1:-1] & loud[2:])  # a level reaches into its neighbours
        if self.silent or not len(starts):
            return mask
        long_gap = starts[1:] - ends[:-1] >= _SHORTEST_PAUSE
        starts, ends = starts[np.append(True, long_gap)], ends[np.append(long_gap, True)]
        for start, end in zip(starts, ends, strict=True):
            mask[start:end] = end - start >= _SHORTEST_SPEECH
        return mask

    @cached_property
    def pauses(self) -> BoolArray:
        """Frames in which nobody is heard: away from speech, not digitally silent, and as quiet as the quietest."""
        width = _BEFORE_SPEECH + _AFTER_SPEECH
        reach = np.convolve(self.speech, np.ones(width + 1))[_BEFORE_SPEECH : _BEFORE_SPEECH + len(self.speech)]
        mask: BoolArray = (reach < 0.5) & (self.levels > _DIGITAL_SILENCE)
        if self.silent or not mask.any():
            return np.zeros_like(mask)
        return mask & (self.levels <= np.percentile(self.levels[mask], 10) + _STEADY)

    @cached_property
    def pitch(self) -> FloatArray:
        """The fundamental frequency of each frame in Hz; NaN where there is no speech or no voice."""
        return track_pitch(self.wave, RATE, HOP, self.speech)

    @cached_property
    def spectrum(self) -> FloatArray:
        """The mean power in each of 257 bins from 0 to 8 kHz; the sum is the mean square."""
        padded = np.pad(self.wave, (0, max(_WINDOW - len(self.wave), 0)))
        return _mean_power(sliding_window_view(padded, _WINDOW)[:: _WINDOW // 2])

    @cached_property
    def pause_spectrum(self) -> FloatArray:
        """The same of the pauses alone; all zeros without any."""
        if not self.pauses.any():
            return np.zeros(_WINDOW // 2 + 1)
        beside = (_WINDOW - HOP) // 2
        windows = sliding_window_view(np.pad(self.wave, (beside, _WINDOW)), _WINDOW)
        return _mean_power(windows[np.flatnonzero(self.pauses) * HOP])

    @property
    def pause_samples(self) -> BoolArray:
        """Which samples are in pauses."""
        inside = np.repeat(self.pauses, HOP)[: len(self.wave)]
        return np.pad(inside, (0, len(self.wave) - len(inside)))


def _mean_power(frames: FloatArray) -> FloatArray:
    """Return the mean power of windowed frames in each bin."""
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_WINDOW) / _WINDOW)
    total = np.zeros(_WINDOW // 2 + 1)
    for part in blocks(len(frames)):
        turned = scipy.fft.rfft(frames[part] * window, axis=1)
        total += np.einsum("fk,fk->k", turned.real, turned.real) + np.einsum("fk,fk->k", turned.imag, turned.imag)
    total[1:-1] *= 2.0
    result: FloatArray = total / (len(frames) * _WINDOW * float(window @ window))
    return result


def decibels(power: FloatArray, lowest: float) -> FloatArray:
    """Return the level of a power in dB, no lower than `lowest`."""
    result: FloatArray = 10.0 * np.log10(np.maximum(power, 10.0 ** (lowest / 10.0)))
    return result


def runs(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the starts of runs of True, and their ends."""
    steps = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)


def blocks(count: int) -> Iterator[slice]:
    """Yield slices of bounded size over so many rows."""
    for start in range(0, count, _BLOCK):
        yield slice(start, min(start + _BLOCK, count))

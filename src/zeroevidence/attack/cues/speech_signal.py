"""An utterance as cues measure it: frames, level, voice, spectrum and pitch, each computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import InputError

LOWEST, HIGHEST = 60.0, 500.0  # Hz
_COMPARED = 0.030  # seconds that are compared with what follows
_SMOOTH = 0.001  # seconds: takes out what lies above 2 kHz
_RUMBLE = 0.025  # seconds: what changes more slowly is taken out
_CANDIDATES = 5
_UNVOICED = 0.5  # a likeness of so much is as good as no voice
_LONG_LAG = 0.1  # off the likeness at the longest lag: twice the period is no better than the period
_ON_OFF = 0.1  # costs a change between voice and no voice
_JUMP = 0.7  # costs a jump by a factor of e
_QUIET = 1e-6  # of the mean energy: frames that are no louder have no pitch
_PITCH_BLOCK = 1024  # frames at a time


def track_pitch(wave: FloatArray, rate: int, hop: int, speech: BoolArray) -> FloatArray:
    """Return the fundamental frequency in Hz of each hop.

    Parameters
    ----------
    wave
        The waveform.
    rate
        Its sampling rate in Hz.
    hop
        Samples between two frames.
    speech
        Which hops are speech; the others have no voice.

    Returns
    -------
    FloatArray
        One frequency per hop, 60 to 500 Hz; NaN where there is no voice.
    """
    result = np.full(len(speech), np.nan)
    at = np.flatnonzero(speech)
    if not len(at):
        return result
    size, longest = round(rate * _COMPARED), int(np.ceil(rate / LOWEST)) + 1
    before = (size + longest) // 2
    padded = np.pad(_filtered(wave, rate), (before, size + longest))
    views = sliding_window_view(padded, size + longest)
    floor = _QUIET * size * float(np.mean(padded**2)) + np.finfo(np.float64).tiny
    blocks = (at[start : start + _PITCH_BLOCK] for start in range(0, len(at), _PITCH_BLOCK))
    parts = [_candidates(views[block * hop + hop // 2], size, rate, floor) for block in blocks]
    frequency, likeness = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    chosen = _best_path(frequency, likeness, np.diff(at) == 1)
    voiced = np.flatnonzero(chosen < _CANDIDATES)
    result[at[voiced]] = frequency[voiced, chosen[voiced]]
    return result


def _filtered(wave: FloatArray, rate: int) -> FloatArray:
    """Return the waveform without rumble, and smoothed, so that a peak is wide enough to interpolate."""
    smooth = np.hanning(round(rate * _SMOOTH) + 2)
    low = np.convolve(wave, smooth / smooth.sum(), "same")
    width = round(rate * _RUMBLE) // 2
    sums = np.cumsum(np.pad(low, (width + 1, width), mode="edge"))
    return np.asarray(low - (sums[2 * width + 1 :] - sums[: -2 * width - 1]) / (2 * width + 1))


def _candidates(segments: FloatArray, size: int, rate: int, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return frequencies of the most periodic lags of each frame, and the correlation there; 0 where none."""
    n_fft = scipy.fft.next_fast_len(segments.shape[1], real=True)
    whole = scipy.fft.rfft(segments, n_fft, axis=1)
    head = scipy.fft.rfft(segments[:, :size], n_fft, axis=1)
    products = scipy.fft.irfft(whole * np.conj(head), n_fft, axis=1)[:, : segments.shape[1] - size + 1]
    energy = np.cumsum(np.pad(segments**2, ((0, 0), (1, 0))), axis=1)
    moved = energy[:, size:] - energy[:, :-size]
    likeness = products / np.sqrt(np.maximum(moved * moved[:, :1], 0.0) + floor**2)
    first, last = int(rate / HIGHEST), likeness.shape[1] - 1
    lags = np.arange(first, last)
    left, here, right = likeness[:, first - 1 : last - 1], likeness[:, first:last], likeness[:, first + 1 :]
    worth = np.where((here > left) & (here >= right), here * (1.0 - _LONG_LAG * lags / last), -1.0)
    best = np.argpartition(-worth, _CANDIDATES, axis=1)[:, :_CANDIDATES]
    a, b, c = (np.take_along_axis(values, best, axis=1) for values in (left, here, right))
    peak = np.take_along_axis(worth, best, axis=1) > 0.0
    aside = np.divide(0.5 * (a - c), a - 2.0 * b + c, out=np.zeros_like(b), where=peak)  # a parabola's top
    exact = lags[best] + aside
    height = (b - 0.25 * (a - c) * aside) * (1.0 - _LONG_LAG * exact / last)
    inside = (exact >= rate / HIGHEST) & (exact <= rate / LOWEST)
    return rate / exact, np.where(peak & inside, height, 0.0)


def _best_path(frequency: FloatArray, likeness: FloatArray, adjoining: BoolArray) -> IntArray:
    """Return the candidate of each frame; one past the last is no voice. Frames that do not adjoin are independent."""
    count, states = len(frequency), _CANDIDATES + 1
    local = np.full((count, states), 1.0 - _UNVOICED)
    local[:, :-1] = np.where(likeness > 0.0, 1.0 - likeness, 2.0)
    tone = np.log(frequency)
    change = np.full((count - 1, states, states), _ON_OFF)
    change[:, :-1, :-1] = _JUMP * np.abs(tone[:-1, :, None] - tone[1:, None, :])
    change[:, -1, -1] = 0.0
    change *= adjoining[:, None, None]
    came_from = np.zeros((count, states), np.int64)
    cost = local[0]
    for k in range(1, count):
        total = cost[:, None] + change[k - 1]
        came_from[k] = total.argmin(axis=0)
        cost = total.min(axis=0) + local[k]
    path = np.empty(count, np.int64)
    path[-1] = int(cost.argmin())
    for k in range(count - 1, 0, -1):
        path[k - 1] = came_from[k, path[k]]
    return path


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


def _mean_power(frames: FloatArray) -> FloatArray:
    """Return the mean power of windowed frames in each bin."""
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_WINDOW) / _WINDOW)
    total = np.zeros(_WINDOW // 2 + 1)
    for start in range(0, len(frames), _BLOCK):
        turned = scipy.fft.rfft(frames[start : start + _BLOCK] * window, axis=1)
        total += np.einsum("fk,fk->k", turned.real, turned.real) + np.einsum("fk,fk->k", turned.imag, turned.imag)
    total[1:-1] *= 2.0
    return np.asarray(total / (len(frames) * _WINDOW * float(window @ window)))


def decibels(power: FloatArray, lowest: float) -> FloatArray:
    """Return the level of a power in dB, no lower than `lowest`."""
    return np.asarray(10.0 * np.log10(np.maximum(power, 10.0 ** (lowest / 10.0))))


def runs(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the starts of runs of True, and their ends."""
    steps = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)

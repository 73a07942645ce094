"""Fundamental frequency by the normalised cross-correlation of a frame with what follows it [Talkin 1995].

Each frame has candidates, the lags at which it is most like itself. Dynamic programming over the frames finds the path
through these that is most periodic and jumps least.

D. Talkin: A robust algorithm for pitch tracking (RAPT). In W. B. Kleijn, K. K. Paliwal (eds): Speech coding and
synthesis, Elsevier 1995.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.lib.stride_tricks import sliding_window_view

from zeroevidence._typing import BoolArray, FloatArray, IntArray

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
_BLOCK = 1024  # frames at a time


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
    parts = [
        _candidates(views[at[start : start + _BLOCK] * hop + hop // 2], size, rate, floor)
        for start in range(0, len(at), _BLOCK)
    ]
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
    result: FloatArray = low - (sums[2 * width + 1 :] - sums[: -2 * width - 1]) / (2 * width + 1)
    return result


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

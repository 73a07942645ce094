"""What may be kept of a recording beside its codes: coarse contours of pitch and loudness, and an even rate."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues.speech_signal import SpeechSignal
from zeroevidence.protect.voices.processing import Wave

_SMOOTHED = 13  # codes, a third of a second, over which contours are averaged
_LEVELS = 2  # of pitch to either side of the middle
_STEP = 2 ** (2 / 12)  # ratio of two levels of pitch: two semitones
_DECIBELS, _DEEPEST = 3.0, 9.0  # of a step of loudness, and to either side of the middle
_CHANGES = 0.42  # changes of the code per frame that an even rate has
_FASTEST = 2.0  # the rate is changed by no more than that factor


def _smooth(values: FloatArray) -> FloatArray:
    padded = np.pad(values, _SMOOTHED // 2, mode="edge")
    return np.convolve(padded, np.full(_SMOOTHED, 1.0 / _SMOOTHED), mode="valid")


def _at_codes(values: FloatArray, number: int) -> FloatArray:
    """Return values of frames at the middle of as many codes."""
    return np.interp((np.arange(number) + 0.5) / number, (np.arange(len(values)) + 0.5) / len(values), values)


def coarse_pitch(wave: Wave, number: int) -> FloatArray:
    """Return the ratio of the pitch to that of the voice, for each of a number of codes.

    It has five levels; middle and spread of the recording are taken out, so that neither says whose pitch it was.
    """
    pitch = SpeechSignal(wave).pitch
    voiced = np.flatnonzero(np.isfinite(pitch))
    if len(voiced) < 2:
        return np.ones(number)
    logs = np.log(pitch[voiced])
    spread = float(np.subtract(*np.percentile(logs, [75, 25]))) or 1.0
    normalised = np.interp(np.arange(len(pitch)), voiced, (logs - np.median(logs)) / spread)
    level = np.rint(_smooth(_at_codes(normalised, number)) * _LEVELS).clip(-_LEVELS, _LEVELS)
    return _smooth(_STEP**level)


def coarse_loudness(wave: Wave, number: int) -> FloatArray:
    """Return a factor for each of a number of codes: the level of the recording in steps, against its middle."""
    signal = SpeechSignal(wave)
    if not signal.speech.any():
        return np.ones(number)
    decibels = signal.levels - float(np.median(signal.levels[signal.speech]))
    steps = np.rint(_smooth(_at_codes(decibels, number)) / _DECIBELS) * _DECIBELS
    return _smooth(10.0 ** (steps.clip(-_DEEPEST, _DEEPEST) / 20.0))


def even_places(codes: IntArray) -> IntArray:
    """Return which code to speak at each frame, so that codes change equally often in all recordings.

    Examples
    --------
    >>> len(even_places(np.repeat(np.arange(50), 5))), len(even_places(np.arange(100)))
    (125, 200)
    """
    if len(codes) < 2:
        return np.arange(len(codes))
    changes = float(np.mean(codes[1:] != codes[:-1]))
    factor = min(max(changes / _CHANGES, 1.0 / _FASTEST), _FASTEST)
    length = max(1, round(len(codes) * factor))
    return ((np.arange(length) + 0.5) * len(codes) / length).astype(np.int64)

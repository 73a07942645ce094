"""The channel: level, hum, band and the marks of a codec, as far as no voice is in them.

`level` and `band` measure the whole recording, so some of their features depend on the voice. Here the band is that of
the pauses, and the level is that of the speech: how loud a recording is depends on gain and distance more than on who
speaks.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.band import steepest_fall
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.level import clipping, scaled_offset, speech_level
from zeroevidence.attack.cues.speech_signal import HOP, RATE, SpeechSignal, decibels

_FEWEST = 5  # frames of pauses from which hum and band are measured
_MAINS = (50.0, 60.0)  # Hz
_HARMONICS = 3
_LEAST_HUM = -30.0  # dB of the pauses: less is noise
_EMPTY = 30.0  # dB below the mean of the bins of pauses: what is quieter counts as empty
_FINEST = -16.0  # powers of two of full scale: the step of finer samples is not told


def channel(signal: SpeechSignal) -> FloatArray:
    """Measure what gain, recorder and codec leave; hum and band are those of the pauses."""
    return np.array(
        [
            speech_level(signal),
            clipping(signal),
            scaled_offset(signal),
            digital_silence(signal),
            sample_step(signal.samples),
            *(_pause_band(signal) if np.count_nonzero(signal.pauses) >= _FEWEST else np.full(4, np.nan)),
        ]
    )


def digital_silence(signal: SpeechSignal) -> float:
    """Return the root of the share of zeros among the samples outside of speech; NaN without any of these."""
    quiet = ~np.repeat(signal.speech, HOP)[: len(signal.samples)]
    zeros = signal.samples[: len(quiet)][quiet] == 0.0
    return float(np.sqrt(np.count_nonzero(zeros) / len(zeros))) if len(zeros) else np.nan


def sample_step(samples: FloatArray) -> float:
    """Return the binary logarithm of the smallest step between samples, from -16 up: -15 of 16 bits, -7 of 8."""
    steps = np.diff(np.unique(samples))
    return float(max(np.log2(steps.min()), _FINEST)) if len(steps) else np.nan


def _pause_band(signal: SpeechSignal) -> list[float]:
    """Measure hum of 50 and of 60 Hz, the highest frequency that is not empty, and the steepest fall."""
    inside = signal.pause_samples
    at, wave = np.flatnonzero(inside) / RATE, signal.wave[inside]
    energy = float(wave @ wave)
    hum = [
        sum(abs(np.exp(-2j * np.pi * k * mains * at) @ wave) ** 2 for k in range(1, _HARMONICS + 1))
        * 2.0
        / (len(wave) * energy)
        for mains in _MAINS
    ]
    level = decibels(signal.pause_spectrum / signal.pause_spectrum.mean(), -_EMPTY)
    cut_off = np.flatnonzero(level > -_EMPTY)[-1] * RATE / 2 / (len(level) - 1)
    return [*decibels(np.array(hum), _LEAST_HUM).tolist(), float(cut_off), steepest_fall(level)]


CUES.add(
    Cue(
        "channel",
        "Level, clipping, offset, hum, band of the pauses and marks of a codec.",
        (
            Feature("speech level", "dB", -22.0, 5.0),
            Feature("clipping", "log10 of the share", -6.0, 1.0),
            Feature("offset", "asinh of 1e-4 of full scale", 0.0, 1.0),
            Feature("digital silence", "root of the share", 0.0, 0.2),
            Feature("sample step", "log2 of full scale", -15.0, 1.0),
            Feature("hum of 50 Hz", "dB of the pauses", -18.0, 6.0),
            Feature("hum of 60 Hz", "dB of the pauses", -18.0, 6.0),
            Feature("cut-off", "Hz", 8000.0, 500.0),
            Feature("steepest fall", "dB", 6.0, 4.0),
        ),
        channel,
    )
)

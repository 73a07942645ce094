"""The frequency band of a recording, as microphone, room, codec and resampling left it."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import RATE, SpeechSignal, decibels

_DEEPEST = 100.0  # dB below the loudest bin
_CUT_OFF = 50.0  # dB below the loudest bin: what is quieter counts as empty
_TILT = (100.0, 7000.0)  # Hz
_FALL = 8  # bins, 250 Hz: a filter's edge is no wider
_FALL_ABOVE = 1000.0  # Hz: falls further down are a voice's own


def band(signal: SpeechSignal) -> FloatArray:
    """Measure the long-term average spectrum."""
    result = np.full(6, np.nan)
    power = signal.spectrum
    if not power.max() > 0.0:
        return result
    frequency = np.linspace(0.0, RATE / 2, len(power))
    level = decibels(power / power.max(), -_DEEPEST)
    share = np.cumsum(power) / power.sum()
    result[:2] = np.interp((0.99, 0.90), share, frequency)
    result[2] = float(power @ frequency) / float(power.sum())
    inside = (frequency >= _TILT[0]) & (frequency <= _TILT[1])
    octave, weight = np.log2(frequency[inside]), 1.0 / frequency[inside]  # octaves count alike, however many bins
    octave = octave - np.average(octave, weights=weight)
    result[3] = float((weight * octave) @ level[inside]) / float((weight * octave) @ octave)
    result[4] = frequency[np.flatnonzero(level > -_CUT_OFF)[-1]]
    result[5] = steepest_fall(level)
    return result


def steepest_fall(level: FloatArray) -> float:
    """Return by how many dB a spectrum falls at most over the edge of a filter, above 1 kHz."""
    frequency = np.linspace(0.0, RATE / 2, len(level))
    smooth = np.convolve(level, np.ones(3) / 3.0, "same")[1:-1]
    falls = (smooth[:-_FALL] - smooth[_FALL:])[frequency[1 : -1 - _FALL] >= _FALL_ABOVE]
    return float(falls.max())


CUES.add(
    Cue(
        "band",
        "Bandwidth, tilt and upper end of the spectrum.",
        (
            Feature("bandwidth 99 %", "Hz", 5000.0, 2000.0),
            Feature("bandwidth 90 %", "Hz", 1500.0, 1500.0),
            Feature("centroid", "Hz", 750.0, 400.0),
            Feature("tilt", "dB/octave", -4.0, 2.0),
            Feature("cut-off", "Hz", 8000.0, 500.0),
            Feature("steepest fall", "dB", 13.0, 6.0),
        ),
        band,
    )
)

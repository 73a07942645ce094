"""Level and noise of a recording, clipping and constant offset."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import SpeechSignal, decibels

_LOWEST = -100.0  # dB of full scale: below the rounding of 16 bits
_FULL = 0.999  # of full scale: clipped
_RAREST = 1e-6  # share of clipped samples that is as good as none
_OFFSET = 1e-4  # of full scale: offsets much smaller count as they are, larger ones by their logarithm


def level(signal: SpeechSignal) -> FloatArray:
    """Measure in dB of full scale, no lower than -100; the noise is the level that 5 % of the frames stay below."""
    frames = np.maximum(signal.levels, _LOWEST)
    low, tenth, high = np.percentile(frames, (5, 10, 95))
    squares, count = signal.wave**2, max(len(signal.wave), 1)
    mean, peak = decibels(np.array([squares.sum() / count, squares.max(initial=0.0)]), _LOWEST)
    return np.array(
        [
            mean,
            peak - mean,
            high - tenth,
            _speech_frames(signal).std(),
            low,
            speech_level(signal) - low,
            clipping(signal),
            scaled_offset(signal),
        ]
    )


def _speech_frames(signal: SpeechSignal) -> FloatArray:
    """Return the levels of speech, of everything without any."""
    frames = np.maximum(signal.levels, _LOWEST)
    return frames[signal.speech] if signal.speech.any() else frames


def speech_level(signal: SpeechSignal) -> float:
    """Return the level of the mean power of speech in dB of full scale."""
    return float(10.0 * np.log10(np.mean(10.0 ** (_speech_frames(signal) / 10.0))))


def clipping(signal: SpeechSignal) -> float:
    """Return the decimal logarithm of the share of samples at full scale."""
    clipped = np.count_nonzero(np.abs(signal.samples) >= _FULL) / max(len(signal.samples), 1)
    return float(np.log10(max(clipped, _RAREST)))


def scaled_offset(signal: SpeechSignal) -> float:
    """Return the mean of the samples, on a scale that is linear near zero and logarithmic beyond."""
    return float(np.arcsinh(signal.offset / _OFFSET))


CUES.add(
    Cue(
        "level",
        "Level, dynamics, noise, clipping and constant offset.",
        (
            Feature("level", "dB", -25.0, 5.0),
            Feature("crest", "dB", 17.0, 2.0),
            Feature("dynamic range", "dB", 40.0, 8.0),
            Feature("speech deviation", "dB", 8.5, 1.6),
            Feature("noise floor", "dB", -60.0, 7.0),
            Feature("signal to noise", "dB", 37.0, 8.0),
            Feature("clipping", "log10 of the share", -6.0, 1.0),
            Feature("offset", "asinh of 1e-4 of full scale", 0.0, 1.0),
        ),
        level,
    )
)

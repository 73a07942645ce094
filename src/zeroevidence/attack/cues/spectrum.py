"""Long-term average spectrum of a recording in coarse bands."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import RATE, SpeechSignal, decibels

_BANDS = 20
_LOWEST = -80.0  # dB of the total
_TOP = 2595.0 * np.log10(1.0 + RATE / 2 / 700.0)
EDGES: FloatArray = 700.0 * (10.0 ** (np.linspace(0.0, _TOP, _BANDS + 1) / 2595.0) - 1.0)  # Hz, alike in mel
_USUAL = (-34, -16, -7, -9, -8, -11, -15, -17, -20, -23, -25, -25, -25, -25, -26, -26, -26, -26, -26, -28)  # dB
_SPREAD = (10, 8, 3, 4, 3, 4, 5, 5, 6, 6, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10)  # dB


def spectrum(signal: SpeechSignal) -> FloatArray:
    """Measure the share of the power in each band."""
    return band_shares(signal.spectrum)


def band_shares(power: FloatArray) -> FloatArray:
    """Return the share of each band in dB of the total; a bin that an edge cuts counts in part for both."""
    total = float(power.sum())
    if not total > 0.0:
        return np.full(_BANDS, np.nan)
    bins = np.linspace(0.0, RATE / 2, len(power))
    upper = np.concatenate([[0.0], (bins[1:] + bins[:-1]) / 2.0, [RATE / 2]])
    below = np.interp(EDGES, upper, np.concatenate([[0.0], np.cumsum(power)]))
    return decibels(np.diff(below) / total, _LOWEST)


CUES.add(
    Cue(
        "spectrum",
        "The long-term average spectrum in 20 bands.",
        tuple(
            Feature(f"{low:.0f} to {high:.0f} Hz", "dB of the total", usual, spread)
            for low, high, usual, spread in zip(EDGES[:-1], EDGES[1:], _USUAL, _SPREAD, strict=True)
        ),
        spectrum,
    )
)

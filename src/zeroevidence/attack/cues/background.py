"""The background: an embedding of the pauses alone, in which no voice is heard."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.spectrum import EDGES, band_shares
from zeroevidence.attack.cues.speech_signal import SpeechSignal

_FEWEST = 5  # frames of pauses from which the background is measured
_USUAL = (-10, -7, -9, -11, -13, -15, -15, -16, -17, -17, -19, -19, -19, -19, -20, -19, -20, -20, -20, -23)  # dB
_SPREAD = 7.0  # dB


def background(signal: SpeechSignal) -> FloatArray:
    """Measure the level of the pauses, how it changes, and their spectrum in bands of equal width in mel."""
    levels = signal.levels[signal.pauses]
    if len(levels) < _FEWEST:
        return np.full(2 + len(_USUAL), np.nan)
    return np.array([levels.mean(), levels.std(), *band_shares(signal.pause_spectrum)])


CUES.add(
    Cue(
        "background",
        "Level and spectrum of the pauses, in which no voice is heard.",
        (
            Feature("level", "dB", -60.0, 8.0),
            Feature("level deviation", "dB", 1.5, 0.8),
            *(
                Feature(f"{low:.0f} to {high:.0f} Hz", "dB of the pauses", usual, _SPREAD)
                for low, high, usual in zip(EDGES[:-1], EDGES[1:], _USUAL, strict=True)
            ),
        ),
        background,
    )
)

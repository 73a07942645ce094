"""Duration of an utterance, and silence before and after speech."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import FRAMES_PER_SECOND, SpeechSignal

_FINEST = 0.05  # seconds: differences between shorter silences do not count much


def length(signal: SpeechSignal) -> FloatArray:
    """Measure logarithms of seconds; without speech silences are not measured."""
    duration = np.log(signal.seconds) if signal.seconds else np.nan
    at = np.flatnonzero(signal.speech)
    if not len(at):
        return np.array([duration, np.nan, np.nan])
    lead = at[0] / FRAMES_PER_SECOND
    trail = (len(signal.speech) - 1 - at[-1]) / FRAMES_PER_SECOND
    return np.array([duration, np.log(lead + _FINEST), np.log(trail + _FINEST)])


CUES.add(
    Cue(
        "length",
        "Duration, and silence before and after speech.",
        (
            Feature("duration", "ln s", 1.3, 0.4),
            Feature("leading silence", "ln (s + 0.05)", -0.6, 0.5),
            Feature("trailing silence", "ln (s + 0.05)", -0.6, 0.5),
        ),
        length,
    )
)

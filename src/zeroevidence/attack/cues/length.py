"""How long an utterance is, and how it was cut."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import Feature, register_cue
from zeroevidence.attack.cues.speech_signal import FRAMES_PER_SECOND, SpeechSignal

_FINEST = 0.05  # seconds: differences between shorter silences do not count much


@register_cue(
    "length",
    "Duration, and silence before and after speech.",
    Feature("duration", "ln s", 1.3, 0.4),
    Feature("leading silence", "ln (s + 0.05)", -0.6, 0.5),
    Feature("trailing silence", "ln (s + 0.05)", -0.6, 0.5),
)
def length(sound: SpeechSignal) -> FloatArray:
    """In logarithms of seconds; without speech nothing is told about silences."""
    duration = np.log(sound.seconds) if sound.seconds else np.nan
    at = np.flatnonzero(sound.speech)
    if not len(at):
        return np.array([duration, np.nan, np.nan])
    lead = at[0] / FRAMES_PER_SECOND
    trail = (len(sound.speech) - 1 - at[-1]) / FRAMES_PER_SECOND
    return np.array([duration, np.log(lead + _FINEST), np.log(trail + _FINEST)])

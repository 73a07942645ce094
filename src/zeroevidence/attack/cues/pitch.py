"""Height of the pitch, how far it moves, and how fast."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import FRAMES_PER_SECOND, SpeechSignal

_FEWEST = 10  # voiced frames from which pitch is measured
_APART = 4  # frames over which a slope is taken


def pitch(signal: SpeechSignal) -> FloatArray:
    """Measure voiced frames; the range is from the 5th to the 95th percentile."""
    result = np.full(7, np.nan)
    track = np.log(signal.pitch)
    voiced = track[~np.isnan(track)]
    if len(voiced) < _FEWEST:
        return result
    low, high = np.percentile(voiced, (5, 95))
    result[:4] = voiced.mean(), np.median(voiced), voiced.std(), high - low
    inside = np.convolve(~np.isnan(track), np.ones(_APART + 1), "valid") > _APART + 0.5
    slopes = ((track[_APART:] - track[:-_APART]) * (FRAMES_PER_SECOND / _APART))[inside]
    if len(slopes):
        result[4:] = slopes.mean(), slopes.std(), (slopes > 0.0).mean()
    return result


CUES.add(
    Cue(
        "pitch",
        "Height, range and movement of the pitch, in natural logarithms of Hz.",
        (
            Feature("mean", "ln Hz", 5.3, 0.25),
            Feature("median", "ln Hz", 5.3, 0.25),
            Feature("deviation", "ln Hz", 0.18, 0.08),
            Feature("range", "ln Hz", 0.5, 0.3),
            Feature("mean slope", "ln Hz/s", -0.17, 0.3),
            Feature("slope deviation", "ln Hz/s", 1.5, 0.8),
            Feature("rising share", "share", 0.44, 0.09),
        ),
        pitch,
    )
)

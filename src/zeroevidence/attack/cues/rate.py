"""Speaking rate, pauses and rhythm, from the course of the level."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues.cue import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import FRAMES_PER_SECOND, SpeechSignal, runs

_SMOOTH = 11  # frames: syllables follow one another more slowly
_DIP = 2.0  # dB between two syllables [de Jong & Wempe 2009]
_DEEPEST = 10.0  # dB below the threshold of speech: how quiet a pause is does not matter
_SHORTEST = 0.2  # seconds of speech that have a rate


def syllables(signal: SpeechSignal) -> IntArray:
    """Return the frames at which the smoothed level peaks within speech."""
    from scipy.signal import find_peaks  # its package takes half a second to import

    window = np.hanning(_SMOOTH + 2)[1:-1]
    lowest = max(signal.threshold, float(signal.levels.max()) - 60.0) - _DEEPEST
    levels = np.pad(np.maximum(signal.levels, lowest), _SMOOTH // 2, mode="edge")
    smooth = np.convolve(levels, window / window.sum(), "valid")
    # What comes before and after is quiet, or a syllable at either end would be no peak.
    peaks, _ = find_peaks(np.pad(smooth, 1, constant_values=lowest - _DIP), prominence=_DIP)
    frames: IntArray = peaks - 1
    return frames[signal.speech[frames]]


def rate(signal: SpeechSignal) -> FloatArray:
    """Measure from the first to the last frame of speech; pauses last 150 ms or more."""
    result = np.full(8, np.nan)
    speech = signal.speech
    starts, ends = runs(speech)
    if not len(starts):
        return result
    span, spoken = (int(ends[-1] - starts[0]) / FRAMES_PER_SECOND, int(speech.sum()) / FRAMES_PER_SECOND)
    voiced = ~np.isnan(signal.pitch)
    voiced_starts, voiced_ends = runs(voiced)
    if spoken >= _SHORTEST:
        peaks = syllables(signal)
        result[:2] = len(peaks) / span, len(peaks) / spoken
        if len(peaks) >= 3:
            result[2] = np.diff(peaks).std() / FRAMES_PER_SECOND
        pauses = (starts[1:] - ends[:-1]) / FRAMES_PER_SECOND
        result[3:6] = pauses.sum() / span, pauses.mean() if len(pauses) else 0.0, len(pauses) / span
    result[6] = voiced.sum() / speech.sum()
    if len(voiced_starts):
        result[7] = (voiced_ends - voiced_starts).mean() / FRAMES_PER_SECOND
    return result


CUES.add(
    Cue(
        "rate",
        "Speaking rate, pauses and rhythm.",
        (
            Feature("speech rate", "syllables/s", 3.0, 0.75),
            Feature("articulation rate", "syllables/s", 3.2, 0.65),
            Feature("syllable gap deviation", "s", 0.15, 0.1),
            Feature("pause share", "share", 0.08, 0.12),
            Feature("pause length", "s", 0.18, 0.25),
            Feature("pauses", "1/s", 0.23, 0.3),
            Feature("voiced share", "share", 0.8, 0.11),
            Feature("voiced run", "s", 0.34, 0.25),
        ),
        rate,
    )
)

"""Cues of the way of speaking: length, pitch and rate."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import FRAMES_PER_SECOND, SpeechSignal, runs

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
        "length",
        "Duration, and silence before and after speech.",
        (
            Feature("duration", "ln s", 1.3, 0.4),
            Feature("leading silence", "ln (s + 0.05)", -0.6, 0.5),
            Feature("trailing silence", "ln (s + 0.05)", -0.6, 0.5),
        ),
        length,
    ),
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
    ),
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
    ),
)

"""Cues of the recording: background, band, channel, level and long-term spectrum."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues import CUES, Cue, Feature
from zeroevidence.attack.cues.speech_signal import HOP, RATE, SpeechSignal, decibels

_BANDS = 20
_LOWEST_BAND = -80.0  # dB of the total
_TOP = 2595.0 * np.log10(1.0 + RATE / 2 / 700.0)
EDGES: FloatArray = 700.0 * (10.0 ** (np.linspace(0.0, _TOP, _BANDS + 1) / 2595.0) - 1.0)  # Hz, alike in mel
# dB
_USUAL_SPECTRUM = (-34, -16, -7, -9, -8, -11, -15, -17, -20, -23, -25, -25, -25, -25, -26, -26, -26, -26, -26, -28)
_SPECTRUM_SPREAD = (10, 8, 3, 4, 3, 4, 5, 5, 6, 6, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10)  # dB


def band_shares(power: FloatArray) -> FloatArray:
    """Return the share of each band in dB of the total; a bin that an edge cuts counts in part for both."""
    total = float(power.sum())
    if not total > 0.0:
        return np.full(_BANDS, np.nan)
    bins = np.linspace(0.0, RATE / 2, len(power))
    upper = np.concatenate([[0.0], (bins[1:] + bins[:-1]) / 2.0, [RATE / 2]])
    below = np.interp(EDGES, upper, np.concatenate([[0.0], np.cumsum(power)]))
    return decibels(np.diff(below) / total, _LOWEST_BAND)


_FEWEST_PAUSES = 5  # frames of pauses from which the background is measured
# dB
_USUAL_BACKGROUND = (-10, -7, -9, -11, -13, -15, -15, -16, -17, -17, -19, -19, -19, -19, -20, -19, -20, -20, -20, -23)
_BACKGROUND_SPREAD = 7.0  # dB


def background(signal: SpeechSignal) -> FloatArray:
    """Measure the level of the pauses, how it changes, and their spectrum in bands of equal width in mel."""
    levels = signal.levels[signal.pauses]
    if len(levels) < _FEWEST_PAUSES:
        return np.full(2 + len(_USUAL_BACKGROUND), np.nan)
    return np.array([levels.mean(), levels.std(), *band_shares(signal.pause_spectrum)])


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
    levels = mean, peak - mean, high - tenth, _speech_frames(signal).std(), low, speech_level(signal) - low
    return np.array([*levels, clipping(signal), scaled_offset(signal)])


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


_FEWEST = 5  # frames of pauses from which hum and band are measured
_MAINS = (50.0, 60.0)  # Hz
_HARMONICS = 3
_LEAST_HUM = -30.0  # dB of the pauses: less is noise
_EMPTY = 30.0  # dB below the mean of the bins of pauses: what is quieter counts as empty
_FINEST = -16.0  # powers of two of full scale: the step of finer samples is not told


def channel(signal: SpeechSignal) -> FloatArray:
    """Measure what gain, recorder and codec leave; hum and band are those of the pauses."""
    gain = speech_level(signal), clipping(signal), scaled_offset(signal)
    pauses = _pause_band(signal) if np.count_nonzero(signal.pauses) >= _FEWEST else [np.nan] * 4
    return np.array([*gain, digital_silence(signal), sample_step(signal.samples), *pauses])


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
    samples = np.flatnonzero(np.repeat(signal.pauses, HOP)[: len(signal.wave)])
    at, wave = samples / RATE, signal.wave[samples]
    harmonics = range(1, _HARMONICS + 1)
    powers = [sum(abs(np.exp(-2j * np.pi * k * mains * at) @ wave) ** 2 for k in harmonics) for mains in _MAINS]
    hum = np.array(powers) * 2.0 / (len(wave) * float(wave @ wave))
    level = decibels(signal.pause_spectrum / signal.pause_spectrum.mean(), -_EMPTY)
    cut_off = np.flatnonzero(level > -_EMPTY)[-1] * RATE / 2 / (len(level) - 1)
    return [*decibels(hum, _LEAST_HUM).tolist(), float(cut_off), steepest_fall(level)]


CUES.add(
    Cue(
        "spectrum",
        "The long-term average spectrum in 20 bands.",
        tuple(
            Feature(f"{low:.0f} to {high:.0f} Hz", "dB of the total", usual, spread)
            for low, high, usual, spread in zip(EDGES[:-1], EDGES[1:], _USUAL_SPECTRUM, _SPECTRUM_SPREAD, strict=True)
        ),
        lambda signal: band_shares(signal.spectrum),
    ),
    Cue(
        "background",
        "Level and spectrum of the pauses, in which no voice is heard.",
        (
            Feature("level", "dB", -60.0, 8.0),
            Feature("level deviation", "dB", 1.5, 0.8),
            *(
                Feature(f"{low:.0f} to {high:.0f} Hz", "dB of the pauses", usual, _BACKGROUND_SPREAD)
                for low, high, usual in zip(EDGES[:-1], EDGES[1:], _USUAL_BACKGROUND, strict=True)
            ),
        ),
        background,
    ),
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
    ),
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
    ),
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
    ),
)

"""Vowels with known pitch and formants, and how to measure both without the package's own code."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter, resample_poly

FORMANTS = (700.0, 1220.0, 2600.0)


@dataclass(frozen=True)
class Spoken:
    id: str = "s1_u1"
    speaker: str = "s1"


@pytest.fixture
def utterance():
    return Spoken()


@pytest.fixture(scope="session")
def voice():
    """The functions below; test files cannot import each other."""
    return SimpleNamespace(FORMANTS=FORMANTS, Spoken=Spoken, vowel=vowel, pitch_of=pitch_of, formants_of=formants_of)


def vowel(f0, rate=16000, seconds=1.0, formants=FORMANTS):
    """Pulses at a fundamental frequency (a number, or the two ends of a glide) through formant resonances."""
    n = int(seconds * rate)
    phase = np.cumsum(np.linspace(*np.broadcast_to(f0, 2), n)) / rate
    at = np.interp(np.arange(1, int(phase[-1])), phase, np.arange(n))  # between samples: a whole number would jitter
    pulses = np.zeros(n)
    pulses[at.astype(int)] += 1 - at % 1
    pulses[at.astype(int) + 1] += at % 1
    source = lfilter([1.0], [1.0, -0.97], pulses)
    for frequency in formants:
        radius = np.exp(-np.pi * 80.0 / rate)
        source = lfilter([1.0], [1.0, -2 * radius * np.cos(2 * np.pi * frequency / rate), radius**2], source)
    source += 1e-3 * source.std() * np.random.default_rng(0).normal(size=n)
    return (0.3 * source / np.abs(source).max()).astype(np.float32)


def pitch_of(wave, rate):
    """By the first high peak of the autocorrelation between 50 and 500 Hz, interpolated."""
    middle = np.asarray(wave, np.float64)[len(wave) // 4 : -len(wave) // 4]
    power = np.abs(np.fft.rfft(middle * np.hanning(len(middle)), 4 * len(middle))) ** 2
    correlation = np.fft.irfft(power)
    lags = np.arange(rate // 500, rate // 50)
    peak = (correlation[lags] >= correlation[lags - 1]) & (correlation[lags] >= correlation[lags + 1])
    lag = int(lags[peak & (correlation[lags] > 0.8 * correlation[lags].max())][0])
    a, b, c = correlation[lag - 1 : lag + 2]
    return rate / (lag + 0.5 * (a - c) / (a - 2 * b + c))


def formants_of(wave, rate):
    """The three sharpest resonances below 4 kHz of the whole waveform; a glide of the pitch blurs the harmonics."""
    emphasised = np.diff(resample_poly(np.asarray(wave, np.float64), 8000, rate))
    correlation = np.fft.irfft(np.abs(np.fft.rfft(emphasised, 2 * len(emphasised))) ** 2)
    order = 12
    predictor = solve_toeplitz(correlation[:order], -correlation[1 : order + 1])
    poles = np.roots(np.concatenate([[1.0], predictor]))
    frequency = np.angle(poles) * 8000 / (2 * np.pi)
    sharpness = np.where(frequency > 200, np.abs(poles), 0.0)
    return np.sort(frequency[np.argsort(-sharpness)[:3]])

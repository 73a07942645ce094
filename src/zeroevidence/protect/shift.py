"""Pitch without formants, formants without pitch.

Pitch: the waveform is stretched in time by WSOLA [Verhelst & Roelands 1993] and resampled to its length, then given the
spectral envelope it had. Formants: the spectral envelope is stretched in frequency. The envelope is the true envelope,
cepstral smoothing that follows the harmonics and not the valleys between them [Röbel & Rodet 2005].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.protect.waves import Per, Setting, Utterance, Wave, checked, fitted, overlap_add, protected

_VERSION = 1  # of the algorithms: enters cache keys, raise it with any change of the output
_HOP = 0.010  # seconds; spectra of four hops, which tell the harmonics of a low voice apart
_PERIODS = (0.0025, 0.0125)  # seconds: voices from 80 to 400 Hz
_LIFTER = (0.0015, 0.0045)  # seconds: how fine an envelope may be, from high to low voices
_ROUNDS = 12  # of the true envelope
_LARGEST_GAIN = 3.5  # natural log, 30 dB: envelopes are uncertain where there is nothing but noise
_FLOOR = 1e-6  # of a frame's largest amplitude: digital silence has a logarithm
_STRETCH_HOP = 0.015  # seconds; pieces of two hops
_SEARCH = 0.008  # seconds to either side: a whole period of a low voice


@dataclass(frozen=True, slots=True)
class PitchShift:
    """The pitch moved by semitones; formants and timing stay.

    Downwards, the band above ``2 ** (semitones / 12)`` of half the rate is left nearly empty.

    Parameters
    ----------
    semitones
        How far, or a range from which each speaker gets a number; 0 changes (nearly) nothing.
    per
        With a range: whether a speaker (default) or an utterance gets a number of its own.
    seed
        Decides the numbers drawn from a range.
    """

    semitones: float | tuple[float, float] = 4.0
    per: Per | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be computed before any audio is read."""
        self._setting()

    def _setting(self) -> Setting:
        return Setting("pitch", self.semitones, self.per, self.seed, lowest=-12.0, highest=12.0)

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        return f"pitch:{self._setting().text}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"pitch/{_VERSION}(semitones={self._setting().record})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: Utterance) -> Wave:
        """The protected waveform."""
        ratio = Fraction(2.0 ** (self._setting().of(utterance) / 12.0)).limit_denominator(128)

        def change(speech: FloatArray) -> FloatArray:
            return _with_envelope_of(speech, _repitched(speech, ratio, rate), rate)

        return protected(checked(wave, rate, utterance), change)


@dataclass(frozen=True, slots=True)
class FormantShift:
    """The formants moved by a ratio, as if the vocal tract were shorter (above 1) or longer; pitch and timing stay.

    Parameters
    ----------
    ratio
        Formant frequencies are multiplied by it; or a range from which each speaker gets a ratio.
    per
        With a range: whether a speaker (default) or an utterance gets a ratio of its own.
    seed
        Decides the ratios drawn from a range.
    """

    ratio: float | tuple[float, float] = 1.2
    per: Per | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be computed before any audio is read."""
        self._setting()

    def _setting(self) -> Setting:
        return Setting("formant", self.ratio, self.per, self.seed, lowest=0.5, highest=2.0)

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        return f"formant:{self._setting().text}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"formant/{_VERSION}(ratio={self._setting().record})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: Utterance) -> Wave:
        """The protected waveform."""
        ratio = self._setting().of(utterance)

        def change(speech: FloatArray) -> FloatArray:
            return _with_envelope_stretched(speech, ratio, rate)

        return protected(checked(wave, rate, utterance), change)


def log_envelopes(*spectra: NDArray[np.complex128], rate: int) -> list[FloatArray]:
    """Natural log of the true envelope of each row, from the non-negative frequencies of spectra of the same frames.

    A curve of few cepstral coefficients that touches the peaks: smooth, put whatever the spectrum has below the smooth
    curve onto it, repeat. Half a period of the voice, found by its peak in the cepstrum, is as fine as an envelope can
    be seen through the harmonics; envelopes of the same frames are taken equally fine.
    """
    size = 2 * (spectra[0].shape[1] - 1)
    logs = [_log_amplitude(spectrum) for spectrum in spectra]
    shortest, longest = (round(rate * seconds) for seconds in _PERIODS)
    periods = [shortest + scipy.fft.irfft(log, size)[:, shortest:longest].argmax(axis=1) for log in logs]
    coarsest, finest = (round(rate * seconds) for seconds in _LIFTER)
    order = np.clip(np.min(periods, axis=0) // 2, coarsest, finest)
    quefrency = np.minimum(np.arange(size), size - np.arange(size))
    kept = quefrency <= order[:, None]
    return [_touching(log, kept) for log in logs]


def _log_amplitude(spectrum: NDArray[np.complex128]) -> FloatArray:
    amplitude = np.abs(spectrum)
    floor = _FLOOR * amplitude.max(axis=1, keepdims=True)
    result: FloatArray = np.log(np.maximum(amplitude, np.maximum(floor, np.finfo(np.float64).tiny)))
    return result


def _touching(log_amplitude: FloatArray, kept: BoolArray) -> FloatArray:
    smooth = log_amplitude
    for _ in range(_ROUNDS):
        cepstrum = scipy.fft.irfft(np.maximum(log_amplitude, smooth), kept.shape[1], axis=1)
        smooth = np.real(scipy.fft.rfft(cepstrum * kept, axis=1))
    return smooth


def _with_envelope_stretched(speech: FloatArray, ratio: float, rate: int) -> FloatArray:
    def transform(frames: FloatArray) -> FloatArray:
        spectrum = scipy.fft.rfft(frames, axis=1)
        (envelope,) = log_envelopes(spectrum, rate=rate)
        last = spectrum.shape[1] - 1
        source = np.minimum(np.arange(last + 1) / ratio, last)
        below = np.minimum(source.astype(np.int64), last - 1)
        part = source - below
        stretched = envelope[:, below] * (1.0 - part) + envelope[:, below + 1] * part
        return _filtered(spectrum, stretched - envelope)

    return overlap_add((speech,), round(rate * _HOP), 4, transform)


def _with_envelope_of(model: FloatArray, speech: FloatArray, rate: int) -> FloatArray:
    def transform(model_frames: FloatArray, frames: FloatArray) -> FloatArray:
        spectrum = scipy.fft.rfft(frames, axis=1)
        wanted, envelope = log_envelopes(scipy.fft.rfft(model_frames, axis=1), spectrum, rate=rate)
        return _filtered(spectrum, wanted - envelope)

    return overlap_add((model, speech), round(rate * _HOP), 4, transform)


def _filtered(spectrum: NDArray[np.complex128], log_gain: FloatArray) -> FloatArray:
    gain = np.exp(np.clip(log_gain, -_LARGEST_GAIN, _LARGEST_GAIN))
    result: FloatArray = scipy.fft.irfft(spectrum * gain, 2 * (spectrum.shape[1] - 1), axis=1)
    return result


def _repitched(speech: FloatArray, ratio: Fraction, rate: int) -> FloatArray:
    """All frequencies multiplied by the ratio, the length kept: stretched in time, then played faster."""
    from scipy.signal import resample_poly

    long = _stretched(speech, float(ratio), rate)
    return fitted(np.asarray(resample_poly(long, ratio.denominator, ratio.numerator)), len(speech))


def _stretched(speech: FloatArray, ratio: float, rate: int) -> FloatArray:
    """WSOLA: pieces that best continue the piece before, from within reach of where the new speed asks for them."""
    hop, reach = round(rate * _STRETCH_HOP), round(rate * _SEARCH)
    size = 2 * hop
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    length = int(np.ceil(len(speech) * ratio))
    n_pieces = -(-length // hop) + 1
    before = hop + reach
    padded = np.pad(speech, (before, size + hop + 2 * reach + int(n_pieces * hop / ratio)))
    n_fft = scipy.fft.next_fast_len(size + 2 * reach, real=True)
    energy = np.concatenate([[0.0], np.cumsum(padded**2)])
    floor = 1e-9 * float(energy[-1])
    far = 1e-3 * np.abs(np.arange(-reach, reach + 1)) / reach  # among equals, as in silence, the place asked for
    result = np.zeros((n_pieces + 1, hop))
    position = reach
    for k in range(n_pieces):
        if k:
            template = padded[position + hop : position + hop + size]
            first = round(k * hop / ratio)
            area = padded[first : first + size + 2 * reach]
            product = scipy.fft.rfft(area, n_fft) * np.conj(scipy.fft.rfft(template, n_fft))
            likeness = scipy.fft.irfft(product, n_fft)[: 2 * reach + 1]
            loudness = energy[first + size : first + size + 2 * reach + 1] - energy[first : first + 2 * reach + 1]
            likeness /= np.sqrt(loudness + floor)
            best = int(np.argmax(likeness - far * np.sqrt(template @ template + floor)))
            position = first + best
        piece = padded[position : position + size] * window
        result[k] += piece[:hop]
        result[k + 1] += piece[hop:]
    return result.ravel()[hop : hop + length]

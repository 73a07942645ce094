"""Signal processing that voice protectors share: checks, overlap-add, loudness, stretching and resampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError

Wave: TypeAlias = NDArray[np.float32]
Transform: TypeAlias = Callable[..., FloatArray]

LOWEST_RATE, HIGHEST_RATE = 8_000, 48_000
_BLOCK = 1024  # frames at a time: bounds the memory that an hour of speech takes


class UtteranceInfo(Protocol):
    """What a protector may know about an utterance."""

    @property
    def id(self) -> str:
        """Identifies the utterance within its corpus."""

    @property
    def speaker(self) -> str:
        """Whose voice it is."""


def check_wave(wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> FloatArray:
    """Return the waveform in double precision; raise InputError if it cannot be protected."""
    wave, place = np.asarray(wave), f"utterance {utterance.id}"
    if wave.ndim != 1 or not np.issubdtype(wave.dtype, np.floating):
        raise InputError(f"expected one channel of floats, not {wave.dtype} {wave.shape}", path=place)
    if not np.isfinite(wave).all():
        raise InputError("the waveform holds NaN or infinite samples", path=place)
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise InputError(f"{rate} Hz is not between {LOWEST_RATE} and {HIGHEST_RATE} Hz", path=place)
    return wave.astype(np.float32).astype(np.float64)


def apply_change(wave: FloatArray, change: Callable[[FloatArray], FloatArray]) -> Wave:
    """Apply a change to a waveform without its constant offset, and keep length, offset and energy.

    A constant offset is not part of the voice, and a protector that moves resonances would turn it into a tone. The
    result is scaled down only where it would leave [-1, 1].
    """
    if not len(wave):
        return wave.astype(np.float32)
    offset = wave.mean()
    centred = wave - offset
    energy = float(centred @ centred)
    if energy == 0.0:
        return limit_peak(wave)
    result = change(centred)
    result = result - result.mean()
    new_energy = float(result @ result)
    if new_energy > 0.0:
        result *= math.sqrt(energy / new_energy)
    return limit_peak(result + offset)


def limit_peak(wave: FloatArray) -> Wave:
    """Return a waveform in single precision within [-1, 1], scaled down as a whole: clipping adds harmonics."""
    peak = float(np.abs(wave).max(initial=0.0))
    return (wave / peak if peak > 1.0 else wave).astype(np.float32)


def fit_length(wave: FloatArray, length: int) -> FloatArray:
    """Return a waveform cut to a length, or followed by silence up to it."""
    return wave[:length] if len(wave) >= length else np.pad(wave, (0, length - len(wave)))


def overlap_add(waves: tuple[FloatArray, ...], hop: int, overlap: int, transform: Transform) -> FloatArray:
    """Cut waveforms of the same length into windowed frames, transform them, window them again and add them up.

    Frames are ``overlap`` hops long. The window is the square root of Hann's for two hops and Hann's for more, so that
    a transform that changes nothing gives the first waveform back. ``transform`` gets one array (frames x samples) for
    each waveform.
    """
    length, size = len(waves[0]), hop * overlap
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    if overlap == 2:
        window = np.sqrt(window)
    n_frames = -(-length // hop) + overlap - 1
    before = size - hop  # every sample lies in as many frames as any other
    padded = [np.pad(wave, (before, n_frames * hop - length)) for wave in waves]
    total = np.zeros((n_frames + overlap - 1, hop))
    for start in range(0, n_frames, _BLOCK):
        count = min(_BLOCK, n_frames - start)
        parts = [sliding_window_view(wave, size)[start * hop : (start + count) * hop : hop] * window for wave in padded]
        frames = (transform(*parts) * window).reshape(count, overlap, hop)
        for k in range(overlap):
            total[start + k : start + k + count] += frames[:, k]
    weight = (window**2).reshape(overlap, hop).sum(axis=0)
    return np.asarray((total / weight).ravel()[before : before + length])


_HOP = 0.015  # seconds; pieces of two hops
_SEARCH = 0.008  # seconds to either side: a whole period of a low voice
_FILTER_REACH = 10  # zero crossings of the resampling filter to either side
_FILTER_SHAPE = 5.0  # of its Kaiser window: what is folded back lies 60 dB down


def repitched(speech: FloatArray, ratio: Fraction, rate: int) -> FloatArray:
    """Return speech of the same length with all frequencies multiplied by the ratio."""
    return fit_length(resampled(stretched(speech, float(ratio), rate), 1 / ratio), len(speech))


def stretched(speech: FloatArray, ratio: float, rate: int) -> FloatArray:
    """Return speech stretched in time by WSOLA: each piece is the one near its place that best continues the last."""
    hop, reach = round(rate * _HOP), round(rate * _SEARCH)
    size, width = 2 * hop, 2 * reach + 1
    length = int(np.ceil(len(speech) * ratio))
    n_pieces = -(-length // hop) + 1
    padded = np.pad(speech, (hop + reach, size + hop + 2 * reach + int(n_pieces * hop / ratio)))
    energy = np.concatenate([[0.0], np.cumsum(padded**2)])
    loudness = np.sqrt(energy[size:] - energy[:-size] + 1e-9 * energy[-1])  # of the piece that starts at each sample
    far = 1e-3 * np.abs(np.arange(-reach, reach + 1)) / reach  # among equals, as in silence, the nominal place
    starts = np.full(n_pieces, reach)
    for k in range(1, n_pieces):
        first, after = round(k * hop / ratio), starts[k - 1] + hop
        likeness = np.correlate(padded[first : first + size + 2 * reach], padded[after : after + size], "valid")
        likeness /= loudness[first : first + width]
        starts[k] = first + int(np.argmax(likeness - far * loudness[after]))
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(size) / size)
    halves = sliding_window_view(padded, hop)
    result: FloatArray = halves[starts[:-1] + hop] * window[hop:] + halves[starts[1:]] * window[:hop]
    return result.ravel()[:length]


def resampled(wave: FloatArray, ratio: Fraction) -> FloatArray:
    """Return a waveform with that many times its samples, by the windowed sinc that SciPy's ``resample_poly`` uses.

    Every ``up``-th sample of the result sees the input through the same few taps, so each of these is one product.
    SciPy's own function would import all of its signal processing, which takes longer than an utterance.
    """
    up, down = ratio.numerator, ratio.denominator
    if up == down:
        return wave
    reach = _FILTER_REACH * max(up, down)
    place = np.arange(-reach, reach + 1)
    taps = np.kaiser(2 * reach + 1, _FILTER_SHAPE) * np.sinc(place / max(up, down))
    taps *= up / taps.sum()
    length = -(-len(wave) * up // down)
    side = reach // up + 1  # input samples that a result may reach to either side
    windows = sliding_window_view(np.pad(wave, (side, side + down)), 2 * side + 1)
    result, phases = np.empty(length), min(up, length)
    whole, part = np.divmod(np.arange(phases) * down, up)
    tap = reach + part[:, None] - up * np.arange(-side, side + 1)  # which tap meets each input sample
    rows = np.where((tap >= 0) & (tap < len(taps)), taps[np.clip(tap, 0, len(taps) - 1)], 0.0)
    for phase in range(phases):
        result[phase::up] = np.einsum(
            "nk,k->n", windows[whole[phase] :: down][: -(-(length - phase) // up)], rows[phase]
        )
    return result

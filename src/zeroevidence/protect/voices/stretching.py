"""Pitch shift at the same length: time stretching by WSOLA, then resampling.

W. Verhelst, M. Roelands: An overlap-add technique based on waveform similarity (WSOLA) for high quality time-scale
modification of speech. ICASSP 1993.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from zeroevidence._typing import FloatArray
from zeroevidence.protect.voices.processing import fit_length

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
    padded = np.pad(wave, (side, side + down))
    windows = sliding_window_view(padded, 2 * side + 1)
    result = np.empty(length)
    for phase in range(min(up, length)):
        whole, part = divmod(phase * down, up)
        tap = reach + part - up * np.arange(-side, side + 1)  # which tap meets each input sample
        inside = (tap >= 0) & (tap < len(taps))
        row = np.where(inside, taps[np.clip(tap, 0, len(taps) - 1)], 0.0)
        count = -(-(length - phase) // up)
        result[phase::up] = np.einsum("nk,k->n", windows[whole::down][:count], row)
    return result

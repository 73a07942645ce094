r"""Log-mel front ends of speaker encoders in NumPy.

Both take 16 kHz mono in [-1, 1], cut frames of 400 samples every 160, give 80 bands per frame and subtract each band's
mean over the utterance.

`speechbrain-fbank`
    Frames centred, 200 zeros at both ends of the signal; periodic Hamming window; 400-point power spectrum; triangles
    between 0 and 8000 Hz with centres equally spaced on 2595 log10(1 + f/700), on a scale of hertz, both slopes as
    wide as the gap to the next lower one; 10 log10, floored at 1e-10 and at 80 dB below the utterance's maximum.
`kaldi-fbank`
    Whole frames only, mean removed, pre-emphasis 0.97, Povey window; 512-point power spectrum; triangles between 20 and
    8000 Hz on the scale of 1127 ln(1 + f/700); natural logarithm, floored at 1.19e-7. No dither.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from zeroevidence._typing import FloatArray
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError

Features = NDArray[np.float32]

RATE = 16_000
_WIDTH, _STEP, BANDS = 400, 160, 80
_POWER_FLOOR, _RANGE_DB = 1e-10, 80.0
_KALDI_FLOOR = float(np.finfo(np.float32).eps)
_HAMMING: FloatArray = 0.54 - 0.46 * np.cos(2.0 * np.pi * np.arange(_WIDTH) / _WIDTH)
_POVEY: FloatArray = (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_WIDTH) / (_WIDTH - 1))) ** 0.85


def speechbrain_fbank(wave: Wave) -> Features:
    """Return frames x 80 decibels as SpeechBrain computes them for speaker encoders, without the utterance's mean."""
    padded = np.pad(np.asarray(wave, np.float32), _WIDTH // 2)
    turned = np.fft.rfft(_frames(padded) * _HAMMING, axis=1)
    power = _filtered(turned.real**2 + turned.imag**2, _sparse(_speechbrain_filters))
    decibels = 10.0 * np.log10(np.maximum(power, _POWER_FLOOR))
    decibels = np.maximum(decibels, decibels.max() - _RANGE_DB)
    return _centred(decibels)


def kaldi_fbank(wave: Wave) -> Features:
    """Return frames x 80 logarithms as Kaldi's ``compute-fbank-feats`` without dither and the utterance's mean."""
    frames = _frames(np.asarray(wave, np.float64))
    frames = frames - frames.mean(axis=1, keepdims=True)
    emphasised = np.empty_like(frames)
    emphasised[:, 1:] = frames[:, 1:] - 0.97 * frames[:, :-1]
    emphasised[:, 0] = 0.03 * frames[:, 0]
    turned = np.fft.rfft(emphasised * _POVEY, n=512, axis=1)
    power = _filtered(turned.real**2 + turned.imag**2, _sparse(_kaldi_filters))
    return _centred(np.log(np.maximum(power, _KALDI_FLOOR)))


FRONT_ENDS: dict[str, Callable[[Wave], Features]] = {
    "speechbrain-fbank": speechbrain_fbank,
    "kaldi-fbank": kaldi_fbank,
}


def _frames(wave: FloatArray) -> FloatArray:
    """Return whole frames of a signal, without a copy."""
    if len(wave) < _WIDTH:
        raise InputError(f"{len(wave)} samples; expected at least {_WIDTH} (25 ms) for one frame")
    return np.lib.stride_tricks.sliding_window_view(wave, _WIDTH)[::_STEP]


def _filtered(power: FloatArray, filters: Any) -> FloatArray:
    """Return the power in each band. Few bins lie in a filter, and a sparse product leaves the cores to the workers."""
    return np.asarray((filters @ power.T).T)


def _centred(values: FloatArray) -> Features:
    return np.asarray(values - values.mean(axis=0), np.float32)


@cache
def _sparse(filters: Callable[[], FloatArray]) -> Any:
    return csr_array(filters().T)


def _speechbrain_filters() -> FloatArray:
    """201 bins x 80: triangles around centres in hertz, both slopes from the gap below the centre.

    SpeechBrain has them in single precision, where a centre's rounding moves small weights by 1e-5, and so has this.
    """
    single = np.float32
    top = single(2595.0 * np.log10(1.0 + 8000.0 / 700.0))
    step = top / single(BANDS + 1)
    place = np.arange(BANDS + 2, dtype=np.float32)
    mel = np.where(place < (BANDS + 2) // 2, step * place, top - step * (single(BANDS + 1) - place))
    ratio = np.asarray(10.0 ** np.asarray(mel / single(2595.0), np.float64), np.float32)
    hertz = single(700.0) * (ratio - single(1.0))
    gap, centre = np.diff(hertz)[:-1], hertz[1:-1]
    bins = np.linspace(0.0, 8000.0, _WIDTH // 2 + 1, dtype=np.float32)
    slope = (bins[:, None] - centre) / gap
    filters = np.maximum(single(0.0), np.minimum(slope + single(1.0), single(1.0) - slope))
    return np.asarray(filters, np.float64)


def _kaldi_filters() -> FloatArray:
    """257 bins x 80: triangles on the mel scale, in single precision as Kaldi has them, without the last bin."""
    unit, scale, break_hz = np.float32(1.0), np.float32(1127.0), np.float32(700.0)

    def mel(hertz: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(scale * np.log(unit + hertz / break_hz), np.float32)

    low, high = mel(np.array([20.0, 8000.0], np.float32))
    edges = low + np.arange(BANDS + 2, dtype=np.float32) * ((high - low) / np.float32(BANDS + 1))
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    bins = mel(np.arange(257, dtype=np.float32) * np.float32(RATE / 512))[:, None]
    filters = np.where(bins <= centre, (bins - left) / (centre - left), (right - bins) / (right - centre))
    filters = np.maximum(filters, np.float32(0.0))
    filters[-1] = 0.0
    return np.asarray(filters, np.float64)

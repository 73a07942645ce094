"""Cosine transforms, in which smoothing with reflection at both ends is a product."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray


def to_cosines(values: FloatArray | IntArray) -> FloatArray:
    """Return the spectrum (DCT-II) of an even number of values on the last axis: 2 sum x_n cos(pi k (2n + 1) / 2N).

    Examples
    --------
    >>> to_cosines(np.array([1.0, 1.0])).tolist()
    [4.0, 0.0]
    """
    # Makhoul 1980: even places ascending and then odd ones descending make it a Fourier transform of the same length
    n = values.shape[-1]
    folded = np.empty(values.shape)
    folded[..., : n // 2] = values[..., ::2]
    folded[..., n // 2 :] = values[..., ::-2]
    turned = np.fft.rfft(folded)
    turned *= _turns(n)
    spectrum = np.empty(values.shape)
    spectrum[..., : n // 2 + 1] = turned.real
    np.negative(turned.imag[..., -2:0:-1], out=spectrum[..., n // 2 + 1 :])
    return spectrum


def from_cosines(spectrum: FloatArray) -> FloatArray:
    """Return the values of a spectrum along the last axis; undoes `to_cosines`.

    Examples
    --------
    >>> from_cosines(to_cosines(np.array([3.0, 1.0, 4.0, 1.0]))).round(12).tolist()
    [3.0, 1.0, 4.0, 1.0]
    """
    n = spectrum.shape[-1]
    turned = np.empty((*spectrum.shape[:-1], n // 2 + 1), dtype=np.complex128)
    turned.real = spectrum[..., : n // 2 + 1]
    turned.imag[..., 0] = 0.0
    np.negative(spectrum[..., : n // 2 - 1 : -1], out=turned.imag[..., 1:])
    turned *= _turns_back(n)
    folded = np.fft.irfft(turned, n)
    values = np.empty(spectrum.shape)
    values[..., ::2] = folded[..., : n // 2]
    values[..., ::-2] = folded[..., n // 2 :]
    return values


@cache
def _turns(n: int) -> NDArray[np.complex128]:
    turns: NDArray[np.complex128] = 2.0 * np.exp(-0.5j * np.pi * np.arange(n // 2 + 1) / n)
    return turns


@cache
def _turns_back(n: int) -> NDArray[np.complex128]:
    return 1.0 / _turns(n)

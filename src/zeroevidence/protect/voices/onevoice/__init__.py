"""One voice for all: what is said, in few codes, spoken by one synthetic voice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.json_values import load_json
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.voices import ProtectorPart, Spelling, register_voice
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, check_wave, fit_length, limit_peak, resampled
from zeroevidence.protect.voices.speech_models import one_thread_session
from zeroevidence.protect.voices.speech_models.recognisers import WHEEL, moonshine_file

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


WEIGHTS = Path(__file__).parent / "weights"


def weights_digests() -> dict[str, str]:
    """Return the digest of each file of the weights, as their card has it."""
    digests: dict[str, str] = load_json(WEIGHTS / "card.json")["sha256"]
    return digests


def read_weights(name: str) -> bytes:
    """Return a file of the weights, checked by its digest."""
    data = (WEIGHTS / name).read_bytes()
    if hashlib.sha256(data).hexdigest() != weights_digests()[name]:
        raise InputError("is not the file that its card names", path=WEIGHTS / name)
    return data


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
        return _load(read_weights("content.onnx"))

    @cached_property
    def _decoder(self) -> Any:
        return _load(read_weights("decoder.onnx"))

    @cached_property
    def _books(self) -> dict[str, FloatArray]:
        with np.load(BytesIO(read_weights("codebooks.npz")), allow_pickle=False) as data:
            return dict(data)

    def usual_frames(self, size: int) -> FloatArray:
        """Return for how many frames each code lasts on average where the voice reads a text."""
        return self._books[f"frames_{size}"]

    def decode(self, codes: IntArray, pitch: FloatArray, size: int) -> FloatArray:
        """Return the waveform of codes, with a pitch in hertz for each of three frames of a code."""
        vectors, excitation = self._books[f"codes_{size}"][codes], _spectrum(_pulses(pitch))
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
        book = self._books[f"codes_{size}"]
        return np.asarray(((book**2).sum(axis=1) - 2.0 * self.vectors(wave) @ book.T).argmin(axis=1))

    def vectors(self, wave: Wave) -> FloatArray:
        """Return what is said at each code of speech at 16 kHz, as 64 numbers."""
        parts, total = [], max(1, -(-len(wave) // HOP))
        for first in range(0, total, _PIECE):
            start, stop = max(0, first - _BESIDE), min(total, first + _PIECE + _BESIDE)
            vectors = self._vectors(wave[start * HOP : stop * HOP], stop - start)
            parts.append(vectors[first - start : first - start + _PIECE])
        return np.concatenate(parts)

    def _vectors(self, wave: Wave, number: int) -> FloatArray:
        before = _FIRST_CENTRE - HOP // 2
        size = HOP * (number - 1) + 2 * _FIRST_CENTRE + 1
        padded = np.zeros((1, size), np.float32)
        padded[0, before : before + len(wave)] = wave[: size - before]
        (features,) = self._encoder.run(None, {"input_values": padded, "attention_mask": np.ones((1, size), np.int64)})
        (vectors,) = self._content.run(None, {"features": features[:, :number]})
        return np.asarray(vectors[0])


def _pulses(pitch: FloatArray) -> FloatArray:
    """Return a train of band-limited pulses of a pitch that is given every 128 samples."""
    hertz = np.interp(np.arange(len(pitch) * _STEP), (np.arange(len(pitch)) + 0.5) * _STEP - 0.5, pitch)
    angle = 2.0 * np.pi * (np.cumsum(hertz / RATE) % 1.0)
    harmonics = np.floor(0.5 * RATE / hertz) - 1.0
    half = np.sin(angle / 2.0)
    on_pulse = np.abs(half) < 1e-4
    kernel = np.sin((2.0 * harmonics + 1.0) * angle / 2.0) / np.where(on_pulse, 1.0, half)
    kernel = np.where(on_pulse, 2.0 * harmonics + 1.0, kernel)
    return (kernel - 1.0) / np.sqrt(2.0 * harmonics) * _EXCITATION


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
    return (total / np.maximum(weight, 1e-3))[beside : beside + length]


Rate: TypeAlias = Literal["keep", "even"]

_VERSION = 2  # of what is computed between the networks: enters cache keys
_PITCH = 180.0  # hertz, of the voice where nothing is kept
_PEAK = 0.5  # peak to which recordings and the output are scaled


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Speech by one voice, from codes of what is said.

    The encoder of a speech recogniser hears a recording; a small network reduces each of its frames to one code of a
    short list; a decoder that has learned from a synthetic voice alone turns codes into speech. Words and timing stay.

    Parameters
    ----------
    codes
        Size of the codebook, the main dial: fewer codes keep less of the speaker, and fewer words.
    rate
        Keep the timing, or let each code last as long as it usually does: recordings have other lengths, then.

    Examples
    --------
    >>> OneVoice(64, rate="even").name
    'onevoice:64,rate=even'
    """

    codes: int = 128
    rate: Rate = "keep"

    def __post_init__(self) -> None:
        """Refuse unknown settings, before any audio is read."""
        if self.codes not in SIZES:
            raise UsageError(f"onevoice: expected one of {', '.join(map(str, SIZES))} codes, got {self.codes}")
        if self.rate not in get_args(Rate):
            raise UsageError(f"onevoice: rate: expected {' or '.join(get_args(Rate))}, got {self.rate!r}")

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        return f"onevoice:{self.codes}" + (f",rate={self.rate}" if self.rate != "keep" else "")

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        weights = hashlib.sha256(json.dumps(weights_digests(), sort_keys=True).encode()).hexdigest()
        return f"{self.name}/{_VERSION}({weights[:16]}, {WHEEL.version})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return what is said, by the one voice."""
        speech = check_wave(wave, rate, utterance)
        heard = resampled(speech, Fraction(RATE, rate)).astype(np.float32)
        peak = float(np.abs(heard).max(initial=0.0))
        if peak == 0.0:
            return np.zeros(len(speech), np.float32)
        heard = heard / peak * _PEAK
        networks = load_networks()
        codes = networks.encode(heard, self.codes)
        place = np.arange(len(codes))
        if self.rate == "even":
            place = even_places(codes, networks.usual_frames(self.codes))
        spoken = networks.decode(codes[place], np.full(STEPS_PER_CODE * len(place), _PITCH), self.codes)
        spoken = resampled(spoken * (_PEAK / max(float(np.abs(spoken).max(initial=0.0)), 1e-9)), Fraction(rate, RATE))
        return limit_peak(fit_length(spoken, len(speech)) if self.rate == "keep" else spoken)


_PARTS = (
    ProtectorPart("encoder", "moonshine", "encoder of Moonshine tiny, English", "MIT"),
    ProtectorPart("voice", "slt", "a small decoder that learned from Flite's voice slt", "MIT; Flite: BSD-like"),
)


@register_voice(
    "onevoice",
    "Reduces speech to codes of what is said, and lets one synthetic voice speak them.",
    Spelling("onevoice", "128 codes"),
    Spelling("onevoice:64"),
    Spelling("onevoice:512,rate=even"),
    keeps="Timing, and words as far as few codes can tell them apart; the voice is that of a synthesiser.",
    needs="The encoder of a speech recogniser, trained on speech of others.",
    parts=lambda _: _PARTS,
    leaves="timing",
)
def onevoice(text: str, _: int) -> OneVoice:
    """Return the protector of a number of codes and a rate, separated by a comma."""
    number, *settings = text.split(",")
    dials = dict(setting.split("=") for setting in settings)
    if not dials.keys() <= {"rate"}:
        raise ValueError(f"expected rate, got {', '.join(dials)}")
    return OneVoice(int(number or 128), **dials)  # type: ignore[arg-type]  # checked there


def even_places(codes: IntArray, frames: FloatArray) -> IntArray:
    """Return which code to speak at each frame, so that each code lasts as long as it usually does.

    Parameters
    ----------
    codes
        The codes of a recording; equal ones behind one another are one that lasts.
    frames
        For how many frames each code of the codebook usually lasts, fractions included.

    Examples
    --------
    >>> even_places(np.array([1, 1, 1, 1, 1, 0, 1]), np.array([1.0, 2.5])).tolist()
    [0, 0, 5, 5, 6, 6]
    """
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.maximum(np.rint(np.cumsum(frames[codes[starts]])).astype(np.int64), 1)
    return np.repeat(starts, np.diff(ends, prepend=0))

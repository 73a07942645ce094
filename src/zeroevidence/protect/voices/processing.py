"""What all voice protectors have in common: parameters, checks, frames cut and put together again, loudness kept."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError, UsageError

Wave: TypeAlias = NDArray[np.float32]
Per: TypeAlias = Literal["speaker", "utterance"]
Transform: TypeAlias = Callable[..., FloatArray]

LOWEST_RATE, HIGHEST_RATE = 8_000, 48_000
RANGE_HELP = "a range may end in :utterance (one draw per utterance)"  # for help and messages
_BLOCK = 1024  # frames at a time: bounds the memory that an hour of speech takes


class UtteranceInfo(Protocol):
    """What a protector may know about the speech it is given."""

    @property
    def id(self) -> str:
        """Identifies the utterance within its corpus."""

    @property
    def speaker(self) -> str:
        """Whose voice it is."""


@dataclass(frozen=True, slots=True)
class VoiceParameter:
    """A parameter of a protector: one number, or a range from which each speaker or utterance gets its own."""

    protector: str
    value: float | tuple[float, float]
    per: Per | None
    seed: int
    lowest: float
    highest: float

    def __post_init__(self) -> None:
        """Refuse numbers that the protector cannot use."""
        ends = self.value if isinstance(self.value, tuple) else (self.value, self.value)
        if len(ends) != 2 or not all(self.lowest <= end <= self.highest for end in ends) or ends[0] > ends[1]:
            raise UsageError(
                f"{self.protector}: {self.value} is neither a number from {self.lowest:g} to {self.highest:g} "
                "nor a range (low, high) of such numbers"
            )
        if self.per not in (None, *get_args(Per)):
            raise UsageError(f"{self.protector}: a value is drawn per speaker or utterance, not per {self.per!r}")
        if self.per is not None and not isinstance(self.value, tuple):
            raise UsageError(f"{self.protector}: nothing to draw per {self.per} from one number; give a range")

    def of(self, utterance: UtteranceInfo) -> float:
        """The value for one utterance, the same in every run.

        It is drawn uniformly, by a hash of the protector's name, the seed and the identifier. So it depends neither on
        the order of utterances nor on who else is in the corpus.
        """
        if not isinstance(self.value, tuple):
            return float(self.value)
        low, high = self.value
        whose = utterance.id if self.per == "utterance" else utterance.speaker
        digest = hashlib.sha256(f"{self.protector}\0{self.seed}\0{whose}".encode()).digest()
        return low + (high - low) * (int.from_bytes(digest[:7], "big") / 2**56)

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        if not isinstance(self.value, tuple):
            return f"{self.value:g}"
        per = ":utterance" if self.per == "utterance" else ""
        return f"{self.value[0]:g}..{self.value[1]:g}{per}"

    @property
    def record(self) -> str:
        """Everything that decides the value, to the last digit."""
        if not isinstance(self.value, tuple):
            return repr(float(self.value))
        return f"{float(self.value[0])!r}..{float(self.value[1])!r} per {self.per or 'speaker'} seed {self.seed}"


def number_or_range(text: str) -> tuple[float | tuple[float, float], Per | None]:
    """Value and `per` from a text such as ``4``, ``-4..4`` or ``-4..4:utterance``; a ValueError if it is none."""
    numbers, _, per = text.partition(":")
    parts = [float(part) for part in numbers.split("..")]
    if len(parts) == 1 and not per:
        return parts[0], None
    if len(parts) != 2 or per not in ("", *get_args(Per)):
        raise ValueError(f"{text!r} is neither a number nor a range")
    return (parts[0], parts[1]), "utterance" if per == "utterance" else "speaker"


def checked(wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> FloatArray:
    """The waveform in double precision, or why it cannot be protected."""
    wave = np.asarray(wave)
    if wave.ndim != 1 or not np.issubdtype(wave.dtype, np.floating):
        raise InputError(f"utterance {utterance.id}: expected one channel of floats, not {wave.dtype} {wave.shape}")
    if not np.isfinite(wave).all():
        raise InputError(f"utterance {utterance.id}: the waveform holds NaN or infinite samples")
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise InputError(f"utterance {utterance.id}: {rate} Hz is not between {LOWEST_RATE} and {HIGHEST_RATE} Hz")
    return wave.astype(np.float32).astype(np.float64)


def protected(wave: FloatArray, change: Callable[[FloatArray], FloatArray]) -> Wave:
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
        return limited(wave)
    result = change(centred)
    result = result - result.mean()
    left = float(result @ result)
    if left > 0.0:
        result *= math.sqrt(energy / left)
    return limited(result + offset)


def limited(wave: FloatArray) -> Wave:
    """In single precision and within [-1, 1]; scaled down as a whole if need be, since clipping adds harmonics."""
    peak = float(np.abs(wave).max(initial=0.0))
    return (wave / peak if peak > 1.0 else wave).astype(np.float32)


def fitted(wave: FloatArray, length: int) -> FloatArray:
    """Cut to the length asked for, or followed by silence up to it."""
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
        parts = [
            np.lib.stride_tricks.sliding_window_view(wave, size)[start * hop : (start + count) * hop : hop] * window
            for wave in padded
        ]
        frames = (transform(*parts) * window).reshape(count, overlap, hop)
        for k in range(overlap):
            total[start + k : start + k + count] += frames[:, k]
    weight = (window**2).reshape(overlap, hop).sum(axis=0)
    result: FloatArray = (total / weight).ravel()[before : before + length]
    return result

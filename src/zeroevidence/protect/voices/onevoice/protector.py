"""The protector: its dials, how the command line spells them, and the contours that may be kept beside the codes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues.speech_signal import SpeechSignal
from zeroevidence.errors import UsageError
from zeroevidence.protect.voices import ProtectorPart, Spelling, register_voice
from zeroevidence.protect.voices.onevoice.runtime import RATE, SIZES, STEPS_PER_CODE, WEIGHTS, load_networks
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, check_wave, fit_length, limit_peak
from zeroevidence.protect.voices.recognisers.moonshine_tiny import WHEEL
from zeroevidence.protect.voices.stretching import resampled

Rate: TypeAlias = Literal["keep", "even"]
Pitch: TypeAlias = Literal["none", "coarse"]
Loudness: TypeAlias = Literal["flat", "contour"]

_VERSION = 1  # of what is computed between the networks: enters cache keys
_PITCH = 180.0  # hertz, of the voice where nothing is kept
_PEAK = 0.5  # peak to which recordings and the output are scaled
_SMOOTHED = 13  # codes, a third of a second, over which contours are averaged
_LEVELS = 2  # of pitch to either side of the middle
_STEP = 2 ** (2 / 12)  # ratio of two levels of pitch: two semitones
_DECIBELS, _DEEPEST = 3.0, 9.0  # of a step of loudness, and to either side of the middle
_CHANGES = 0.42  # changes of the code per frame that an even rate has
_FASTEST = 2.0  # the rate is changed by no more than that factor


@dataclass(frozen=True, slots=True)
class OneVoice:
    """Speech by one voice, from codes of what is said.

    Parameters
    ----------
    codes
        Size of the codebook, the main dial: fewer codes keep less of the speaker, and fewer words.
    rate
        Keep the timing, or speak all recordings at one rate: of another length, then.
    pitch
        No contour, or a coarse one that is normalised over the recording.
    loudness
        As the voice speaks, or with the coarse contour of the recording.

    Examples
    --------
    >>> OneVoice(64, pitch="coarse").name
    'onevoice:64,pitch=coarse'
    """

    codes: int = 128
    rate: Rate = "keep"
    pitch: Pitch = "none"
    loudness: Loudness = "flat"

    def __post_init__(self) -> None:
        """Refuse unknown settings, before any audio is read."""
        if self.codes not in SIZES:
            raise UsageError(f"onevoice: expected one of {', '.join(map(str, SIZES))} codes, got {self.codes}")
        for name, (_, kinds) in _DIALS.items():
            if getattr(self, name) not in kinds:
                raise UsageError(f"onevoice: {name}: expected {' or '.join(kinds)}, got {getattr(self, name)!r}")

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        changed = [
            f"{name}={getattr(self, name)}" for name, (usual, _) in _DIALS.items() if getattr(self, name) != usual
        ]
        return "onevoice:" + ",".join([str(self.codes), *changed])

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"{self.name}/{_VERSION}({WEIGHTS.digest[:16]}, {WHEEL.version})"

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
        place = np.arange(len(codes)) if self.rate == "keep" else even_places(codes)
        fine = np.repeat(place, STEPS_PER_CODE)
        pitch = np.full(len(fine), _PITCH)
        if self.pitch == "coarse":
            pitch = pitch * coarse_pitch(heard, len(codes))[fine]
        spoken = networks.decode(codes[place], pitch, self.codes)
        if self.loudness == "contour":
            level = coarse_loudness(heard, len(codes))[place]
            spoken = spoken * np.interp(np.linspace(0, len(level) - 1, len(spoken)), np.arange(len(level)), level)
        spoken = resampled(spoken * (_PEAK / max(float(np.abs(spoken).max(initial=0.0)), 1e-9)), Fraction(rate, RATE))
        return limit_peak(fit_length(spoken, len(speech)) if self.rate == "keep" else spoken)


_DIALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rate": ("keep", get_args(Rate)),
    "pitch": ("none", get_args(Pitch)),
    "loudness": ("flat", get_args(Loudness)),
}


def _parts(_: str) -> tuple[ProtectorPart, ...]:
    return (
        ProtectorPart("encoder", "moonshine", "encoder of Moonshine tiny, English", "MIT"),
        ProtectorPart("voice", "slt", "a small decoder that learned from Flite's voice slt", "MIT; Flite: BSD-like"),
    )


@register_voice(
    "onevoice",
    "Reduces speech to codes of what is said, and lets one synthetic voice speak them.",
    Spelling("onevoice", "128 codes"),
    Spelling("onevoice:64"),
    Spelling("onevoice:512,pitch=coarse"),
    keeps="Timing, and words as far as few codes can tell them apart; the voice is that of a synthesiser.",
    needs="The encoder of a speech recogniser, trained on speech of others.",
    parts=_parts,
)
def onevoice(text: str, _: int) -> OneVoice:
    """Return the protector of a number of codes and of dials, separated by commas."""
    number, *settings = text.split(",") if text else ["128"]
    dials = dict(setting.split("=") for setting in settings)
    if not set(dials) <= set(_DIALS):
        raise ValueError(f"expected {', '.join(_DIALS)}, got {', '.join(dials)}")
    return OneVoice(int(number), **dials)  # type: ignore[arg-type]  # checked there


def _smooth(values: FloatArray) -> FloatArray:
    padded = np.pad(values, _SMOOTHED // 2, mode="edge")
    return np.convolve(padded, np.full(_SMOOTHED, 1.0 / _SMOOTHED), mode="valid")


def _at_codes(values: FloatArray, number: int) -> FloatArray:
    """Return values of frames at the middle of as many codes."""
    return np.interp((np.arange(number) + 0.5) / number, (np.arange(len(values)) + 0.5) / len(values), values)


def coarse_pitch(wave: Wave, number: int) -> FloatArray:
    """Return the ratio of the pitch to that of the voice, for each of a number of codes.

    It has five levels; middle and spread of the recording are taken out, so that neither says whose pitch it was.
    """
    pitch = SpeechSignal(wave).pitch
    voiced = np.flatnonzero(np.isfinite(pitch))
    if len(voiced) < 2:
        return np.ones(number)
    logs = np.log(pitch[voiced])
    spread = float(np.subtract(*np.percentile(logs, [75, 25]))) or 1.0
    normalised = np.interp(np.arange(len(pitch)), voiced, (logs - np.median(logs)) / spread)
    level = np.rint(_smooth(_at_codes(normalised, number)) * _LEVELS).clip(-_LEVELS, _LEVELS)
    return _smooth(_STEP**level)


def coarse_loudness(wave: Wave, number: int) -> FloatArray:
    """Return a factor for each of a number of codes: the level of the recording in steps, against its middle."""
    signal = SpeechSignal(wave)
    if not signal.speech.any():
        return np.ones(number)
    decibels = signal.levels - float(np.median(signal.levels[signal.speech]))
    steps = np.rint(_smooth(_at_codes(decibels, number)) / _DECIBELS) * _DECIBELS
    return _smooth(10.0 ** (steps.clip(-_DEEPEST, _DEEPEST) / 20.0))


def even_places(codes: IntArray) -> IntArray:
    """Return which code to speak at each frame, so that codes change equally often in all recordings.

    Examples
    --------
    >>> len(even_places(np.repeat(np.arange(50), 5))), len(even_places(np.arange(100)))
    (125, 200)
    """
    if len(codes) < 2:
        return np.arange(len(codes))
    changes = float(np.mean(codes[1:] != codes[:-1]))
    factor = min(max(changes / _CHANGES, 1.0 / _FASTEST), _FASTEST)
    length = max(1, round(len(codes) * factor))
    return ((np.arange(length) + 0.5) * len(codes) / length).astype(np.int64)

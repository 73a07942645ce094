"""The protector: its dials, and how the command line spells them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from zeroevidence.errors import UsageError
from zeroevidence.protect.voices import ProtectorPart, Spelling, register_voice
from zeroevidence.protect.voices.moonshine import WHEEL
from zeroevidence.protect.voices.onevoice.contours import coarse_loudness, coarse_pitch, even_places
from zeroevidence.protect.voices.onevoice.runtime import RATE, SIZES, STEPS_PER_CODE, WEIGHTS, load_networks
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, check_wave, fit_length, limit_peak
from zeroevidence.protect.voices.stretching import resampled

Rate: TypeAlias = Literal["keep", "even"]
Pitch: TypeAlias = Literal["none", "coarse"]
Loudness: TypeAlias = Literal["flat", "contour"]

_VERSION = 1  # of what is computed between the networks: enters cache keys
_PITCH = 180.0  # hertz, of the voice where nothing is kept
_PEAK = 0.5  # that recordings are brought to, and speech is given


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
        return f"{self.name}/{_VERSION}({WEIGHTS.digest[:16]}, {WHEEL})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return what is said, by the one voice."""
        speech = check_wave(wave, rate, utterance)
        heard = resampled(speech, Fraction(RATE, rate)).astype(np.float32)
        peak = float(np.abs(heard).max(initial=0.0))
        if peak == 0.0:
            return np.zeros(len(speech), np.float32)
        heard = heard / peak * _PEAK
        networks = load_networks()
        codes = networks.hear(heard, self.codes)
        place = np.arange(len(codes)) if self.rate == "keep" else even_places(codes)
        fine = np.repeat(place, STEPS_PER_CODE)
        pitch = np.full(len(fine), _PITCH)
        if self.pitch == "coarse":
            pitch = pitch * coarse_pitch(heard, len(codes))[fine]
        spoken = networks.speak(codes[place], pitch, self.codes)
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

"""Chain of voice protectors, written with a plus between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from zeroevidence.errors import UsageError
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave
from zeroevidence.protect.voices.voice_protector import VoiceProtector


@dataclass(frozen=True, slots=True)
class Chain:
    """Protectors that are applied one after the other.

    Examples
    --------
    >>> from zeroevidence.protect import load_protector
    >>> load_protector("mcadams:0.8+pitch:2").name
    'mcadams:0.8+pitch:2'
    """

    parts: tuple[VoiceProtector, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise UsageError("a chain needs at least two protectors")

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        return "+".join(part.name for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return " then ".join(part.fingerprint for part in self.parts)

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the waveform after all of them."""
        for part in self.parts:
            wave = part(wave, rate, utterance)
        return wave
